"""The training itself: steps, evaluations, samples, saves, and what is printed about them."""

from __future__ import annotations

import math
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType

import numpy as np
from tokenizers import Tokenizer

from checker.max_adapter.runtime import tensor
from play.tokens import encode, end_of_text
from play.training.checkpoint import CannotSave, Folder, Saved
from play.training.graphs import Trainer
from play.training.plan import History, Plan, in_words
from play.training.windows import Blend, Windows, count_bytes
from solutions.solution_12 import stream_tokens
from solutions.solution_16 import bits_per_byte
from solutions.solution_20 import Batch, Progress, learning_rate, train

SAVE_EVERY = 30.0  # seconds, in addition to after each evaluation
SAMPLE_TOKENS = 60
TRIED_STEPS = 4  # to learn how long a step takes; the first does not count

HEADER = f"{'step':>7}  {'loss':>7}  {'validation':>10}  {'bits per byte':>13}  {'tokens/s':>8}  left"


class Diverged(ValueError):
    """The loss is no longer a number; the message says what to try."""


class Interrupt:
    """Whether Ctrl-C, or a request to end, has come. The first lets a step and a save finish; the second does not."""

    def __init__(self) -> None:
        self.came = False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Note that it came."""
        if self.came and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.came = True

    @contextmanager
    def listening(self) -> Iterator[None]:
        """While this is open, listen for it."""
        before = {number: signal.signal(number, self) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


class Lines:
    """Lines on standard output, and on a terminal a moving one below them."""

    def __init__(self) -> None:
        self.moves = sys.stderr.isatty()

    def line(self, text: str = "") -> None:
        """Print a line that stays."""
        self.clear()
        print(text, flush=True)

    def moving(self, text: str) -> None:
        """Show a line that the next one replaces; show nothing without a terminal."""
        if self.moves:
            print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Remove the moving line."""
        self.moving("")


def resuming(folder: Folder, history: History) -> str:
    """Return the command that continues the training in a folder, with the code that it was begun with."""
    return f"./run train --resume {folder.path}" + (" --mine" if history.facts.get("code") == "steps" else "")


@dataclass
class Session:
    """One training, from its beginning or from wherever it was saved."""

    plan: Plan
    trainer: Trainer
    tokenizer: Tokenizer
    windows: Windows | Blend
    validation: list[tuple[np.ndarray, np.ndarray]]
    folder: Folder
    history: History
    lines: Lines = field(default_factory=Lines)
    interrupt: Interrupt = field(default_factory=Interrupt)

    def __post_init__(self) -> None:
        self.bytes = count_bytes(self.tokenizer, self.validation)
        self.tokens_per_step = self.plan.accumulate * self.plan.batch * (self.plan.positions - 1)
        self.saved_step, self.saved_at = self.trainer.state.step, time.monotonic()

    def go_on(self, saved: Saved) -> None:
        """Continue from what was saved.

        Raises:
            ValueError: it is not from this model.
        """
        self.trainer.go_on(saved.step, saved.weights, saved.means, saved.squares)
        self.saved_step = saved.step

    # ------------------------------------------------------------ what a step learns

    def batches_of(self, step: int) -> Iterator[Batch]:
        """Yield the batches of a step; their labels are their tokens, which the loss of step 16 shifts."""
        for input_ids in self.windows.batches(step):
            yield tensor(input_ids), tensor(input_ids)

    def rate_of(self, step: int) -> float:
        """Return the learning rate of a step."""
        plan = self.plan
        return learning_rate(step, peak=plan.rate, warmup_steps=plan.warmup_steps, total_steps=plan.steps)

    def steps(self, until: int) -> Iterator[Progress]:
        """Train until a step.

        Raises:
            Diverged: the loss is not a finite number.
        """
        state = self.trainer.state
        try:
            for progress in train(
                state, self.batches_of, self.rate_of, until, self.trainer.accumulate, self.trainer.update
            ):
                if not (math.isfinite(progress.loss) and math.isfinite(progress.norm)):
                    raise FloatingPointError(f"the loss of step {progress.step} is {progress.loss}")
                yield progress
        except FloatingPointError as error:
            raise self.diverged(str(error)) from error

    def diverged(self, why: str) -> Diverged:
        """Return what to raise, with what the folder holds and what to do."""
        there, another = "", ""
        if self.folder.path.exists():
            there, another = f"{self.folder.path} holds step {self.saved_step}. ", " in another --out"
        return Diverged(
            f"{why}, so the weights have left what float32 can hold. {there}Begin again{another} with a lower --rate "
            f"than {self.plan.rate}"
        )

    @property
    def resuming(self) -> str:
        """The command that continues this training."""
        return resuming(self.folder, self.history)

    def seconds_per_step(self) -> float:
        """Return how long a step takes, from timing a few whose effect is discarded."""
        times = [time.perf_counter()]
        times += [time.perf_counter() for _ in self.steps(TRIED_STEPS)]
        self.trainer.begin(self.plan.seed)
        return float(np.median(np.diff(times)[1:]))

    # ------------------------------------------------------------ from the first step to the last

    def run(self) -> bool:
        """Train until the last step or an interrupt; return whether it was the last step.

        Raises:
            Diverged: the loss is not a finite number.
            CannotSave: a save failed.
        """
        with self.interrupt.listening():
            if not self.history.evaluations:
                self.evaluate(best_is_saved=True)
                vocab = self.trainer.config.vocab_size
                self.lines.line(
                    f"Before the first step the loss is {self.history.evaluations[0]['loss']:.2f}; guessing among "
                    f"{vocab:,} tokens costs ln {vocab} = {math.log(vocab):.2f}."
                )
            self.lines.line(HEADER)
            started = time.perf_counter()
            for progress in self.steps(self.plan.steps):
                self.history.losses.append(progress.loss)
                self.history.seconds += time.perf_counter() - started
                self.after(progress)
                if self.interrupt.came:
                    break
                started = time.perf_counter()
            if self.saved_step < self.trainer.state.step:
                self.save()
            self.lines.clear()
        return self.trainer.state.step == self.plan.steps

    def after(self, progress: Progress) -> None:
        """Evaluate, write a sample, save, and print, each if it is due."""
        step = progress.step
        speed = step * self.tokens_per_step / self.history.seconds
        left = in_words((self.plan.steps - step) * self.history.seconds / step)
        evaluated = self.plan.evaluates_after(step)
        if self.plan.samples_after(step):
            self.history.samples.append({"step": step, "text": self.sample(step)})
        if evaluated:
            found = self.evaluate()
            self.lines.line(
                f"{step:7,}  {self.recent_loss():7.3f}  {found['loss']:10.3f}  {found['bits_per_byte']:13.3f}  "
                f"{speed:8,.0f}  {left}"
            )
        elif time.monotonic() - self.saved_at > SAVE_EVERY:
            self.save()
        if self.plan.samples_after(step):
            self.lines.line("\n" + self.history.samples[-1]["text"] + "\n")
        self.lines.moving(
            f"step {step:,} of {self.plan.steps:,}, loss {progress.loss:.3f}, {speed:,.0f} tokens/s, {left} left"
        )

    def recent_loss(self) -> float:
        """Return the mean loss of the steps since the evaluation before the last."""
        before = self.history.evaluations[-2]["step"]
        return float(np.mean(self.history.losses[before:]))

    def evaluate(self, *, best_is_saved: bool = False) -> dict[str, float]:
        """Measure the loss of the held-out text, and save; return what was found.

        Raises:
            Diverged: the loss is not a finite number; nothing is saved.
            CannotSave: the save failed.
        """
        loss, count = self.trainer.loss(self.validation)
        if not math.isfinite(loss):
            raise self.diverged(f"after step {self.trainer.state.step} the validation loss is {loss}")
        found = {
            "step": self.trainer.state.step,
            "loss": loss,
            "bits_per_byte": bits_per_byte(loss, count, self.bytes),
        }
        self.history.evaluations.append(found)
        self.save(best=self.history.best is found and not best_is_saved)
        return found

    def save(self, *, best: bool = False) -> None:
        """Save.

        Raises:
            Diverged: a weight is not a finite number; the last save stays.
            CannotSave: the disk is full, say.
        """
        self.refuse_weights_that_are_not_finite()
        trainer = self.trainer
        arrays = trainer.weights.arrays, trainer.means.arrays, trainer.squares.arrays
        try:
            self.folder.save(Saved(self.plan, self.history, trainer.state.step, *arrays), best=best)
        except OSError as error:
            raise CannotSave(
                f"step {trainer.state.step} could not be saved ({error.strerror}), and {self.folder.path} holds step "
                f"{self.saved_step}. Make room, then continue with `{self.resuming}`"
            ) from error
        self.saved_step, self.saved_at = trainer.state.step, time.monotonic()

    def refuse_weights_that_are_not_finite(self) -> None:
        """Raise :class:`Diverged` if the last update spoiled a weight, although the loss before it was finite."""
        if not all(np.isfinite(array).all() for array in self.trainer.weights.arrays.values()):
            raise self.diverged(f"after step {self.trainer.state.step} some weights are not numbers")

    def sample(self, seed: int) -> str:
        """Return what the model writes now: the prompt and what follows it.

        Raises:
            Diverged: a weight is not a finite number.
        """
        self.refuse_weights_that_are_not_finite()
        input_ids = encode(self.tokenizer, self.plan.prompt, self.trainer.config)
        stream = stream_tokens(
            self.trainer.logits,
            input_ids,
            SAMPLE_TOKENS,
            0.8,
            top_k=40,
            rng=np.random.default_rng(seed),
            n_positions=self.plan.positions,
        )
        ids = input_ids[0].tolist()
        for next_ids in stream:
            if next_ids[0] == end_of_text(self.tokenizer):
                break
            ids.append(int(next_ids[0]))
        return str(self.tokenizer.decode(ids))
