"""The plan of a training, and what it has reported.

The plan is everything that its numbers depend on; ``cli.model_commands`` has an option for each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

from checker.errors import UserError

OUT = Path("my-gpt2")  # where the model goes by default
FIGURES = "training.json"  # the file in the folder of a training that has all figures
CURVE = "loss.html"  # and the one that shows its losses
LARGEST_RATE = 1e38  # which float32 still holds
WARMUP = 0.05  # share of all steps in which the learning rate rises
EVALUATIONS = 20  # in a whole training, in addition to the one before the first step
SAMPLES = 4  # in a whole training

HEADER = f"{'step':>7}  {'loss':>7}  {'validation':>10}  {'bits per byte':>13}"  # above the lines of evaluations


@dataclass(frozen=True)
class Plan:
    """What a training does.

    Raises:
        UserError: a number is impossible, or does not fit another.
    """

    layers: int = 3
    heads: int = 4
    width: int = 128  # of a hidden state
    positions: int = 128  # tokens that the model sees at most
    vocab: int = 1024  # tokens that the tokenizer learns
    batch: int = 16  # windows that run at once
    accumulate: int = 1  # batches per step
    rate: float = 2e-3  # the highest learning rate
    seed: int = 0
    share: float = 0.25  # of ``texts`` in all that is learned, if there are ``also`` others
    half: bool = False  # save the model in 16 bits per weight
    prompt: str = "The"  # of the samples
    steps: int = 1000
    texts: Sequence[str] = ()  # absolute paths; none is Moby Dick
    also: Sequence[str] = ()  # absolute paths of what is learned beside them

    def __post_init__(self) -> None:
        least = dict(layers=1, heads=1, width=1, positions=2, vocab=257, batch=1, accumulate=1, seed=0, steps=2)
        for name, smallest in least.items():
            if (number := getattr(self, name)) < smallest:
                note = " (256 bytes and the end of a text)" if name == "vocab" else ""
                raise UserError(f"--{name} {number} is too small; give {smallest}{note} or more")
        if self.width % self.heads:
            raise UserError(f"--width {self.width} is not a multiple of --heads {self.heads}; give one that is")
        if not 0 < self.rate < LARGEST_RATE:
            raise UserError(f"--rate {self.rate} is not a learning rate; give a number above 0, such as {Plan.rate}")
        if not 0 < self.share <= 0.5:
            raise UserError(f"--share {self.share} must be above 0 and at most 0.5: twice that is the share at last")

    @property
    def warmup_steps(self) -> int:
        """The number of steps in which the learning rate rises."""
        return max(1, round(WARMUP * self.steps))

    @property
    def dtype(self) -> str:
        """The type of the saved model's numbers."""
        return "float16" if self.half else "float32"

    @property
    def windows(self) -> int:
        """How many windows the whole training learns from; one that comes again counts again."""
        return self.steps * self.accumulate * self.batch

    def windows_of(self, step: int) -> list[range]:
        """Return the numbers of the windows in each batch of a step; the first step is 1, and the first window 0."""
        first = (step - 1) * self.accumulate * self.batch
        return [range(at, at + self.batch) for at in range(first, first + self.accumulate * self.batch, self.batch)]

    def is_one_of(self, times: int, step: int) -> bool:
        """Return whether a step is one of ``times`` evenly spread ones, of which the last is the last step."""
        return step * times // self.steps > (step - 1) * times // self.steps


@dataclass
class History:
    """What a training has reported."""

    losses: list[float] = field(default_factory=list)  # of every step, in nats per token, before the step
    evaluations: list[dict[str, Any]] = field(default_factory=list)  # step, loss, bits_per_byte
    samples: list[dict[str, Any]] = field(default_factory=list)  # step, text
    seconds: float = 0.0  # that the steps took in all sessions, not counting evaluations
    facts: dict[str, Any] = field(default_factory=dict)  # of the model, the text, the machine

    @property
    def best(self) -> dict[str, Any]:
        """Return the evaluation with the lowest loss, the first one if there are several."""
        return min(self.evaluations, key=lambda evaluation: evaluation["loss"])

    def line(self, number: int) -> str:
        """Return what is printed about an evaluation, below :data:`HEADER`; the first one has no line."""
        before, this = self.evaluations[number - 1], self.evaluations[number]
        recent = fmean(self.losses[before["step"] : this["step"]])
        return f"{this['step']:7,}  {recent:7.3f}  {this['loss']:10.3f}  {this['bits_per_byte']:13.3f}"


def duration(seconds: float) -> str:
    """Return ``12 s``, ``3 min 05 s`` or ``2 h 07 min``."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    return f"{minutes} min {rest:02} s" if whole < 3600 else f"{minutes // 60} h {minutes % 60:02} min"
