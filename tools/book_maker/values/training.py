"""Values of a recorded training: what ``./run train`` wrote to ``training.json``, as the book's page shows it."""

import json
import math
import re
from collections.abc import Callable, Iterable
from typing import Any

from checker.files import ROOT
from play.training.plan import HEADER, History, Plan, duration
from solutions.solution_01 import GPT2Config
from tools.book_maker.values.arithmetic import parameters

FIGURES = ROOT / "tools" / "benchmarks" / "figures"
NAMES = ("training", "train", "writing", "bytes")
RECORDED, STEPS, WRITING, BYTES = (json.loads((FIGURES / f"{name}.json").read_text()) for name in NAMES)

plan = Plan(**RECORDED["plan"])
facts: dict[str, Any] = RECORDED["facts"]
history = History(**{name: RECORDED[name] for name in ("losses", "evaluations", "samples", "seconds", "facts")})

#: What a training does by default, and how many weights its model has.
default = Plan()
default_parameters = parameters(
    GPT2Config(default.vocab, default.positions, default.width, default.layers, default.heads)
)["total"]

#: What guessing all tokens with equal probability costs, in nats per token.
guessing = math.log(facts["vocab"])

#: How long a token of the recorded run's validation text is.
bytes_per_token = facts["bytes"]["validation"] / facts["tokens"]["validation"]

#: Tokens that a step predicts, and that the training predicted per second.
tokens_per_step = plan.accumulate * plan.batch * (plan.positions - 1)
tokens_per_second = plan.steps * tokens_per_step / history.seconds
took = duration(history.seconds)

#: The same training with a vocabulary of bytes: what it came to, and how often it read the text.
bytes_came_to = BYTES["evaluations"][-1]
bytes_readings = plan.steps * tokens_per_step / BYTES["facts"]["tokens"]["train"]

#: A step beside PyTorch's, on the one processor where it was measured: of the small model, and of GPT-2 small.
((processor, measured),) = STEPS.items()
SMALL, _ = STEP_ROWS = [row for rows in measured["parts"].values() for row in rows]
SMALL_STEPS = 6_000  # as models/moby-dick/README.md says
small_took = duration(60 * round(SMALL_STEPS * SMALL["MAX, ms"] / 60_000))  # in whole minutes


def printed(*steps: int) -> str:
    """Return the lines that the recorded training printed after some steps, without speed; 0 stands for others."""
    lines = {each["step"]: history.line(at) if at else f"{'…':>7}" for at, each in enumerate(history.evaluations)}
    return "\n".join(("```text", HEADER, *(lines[step] for step in steps), "```"))


def least_to_most(figure: Callable[[dict[str, float]], float]) -> str:
    """Return a figure of a step, of both models."""
    return " to ".join(dict.fromkeys(f"{each:.1f}" for each in sorted(map(figure, STEP_ROWS))))


def as_fast(one: str, other: str) -> str:
    """Return how many times as fast one's step is as the other's, by the speeds that the page shows."""
    return least_to_most(lambda row: round(row[f"{one}, tokens/s"]) / round(row[f"{other}, tokens/s"]))


#: How many times as fast a step is as that of torch.compile; PyTorch's in bfloat16, as this; and how much memory.
as_compiled, in_bfloat16 = as_fast("MAX", "torch.compile"), as_fast("bfloat16", "MAX")
memory = least_to_most(lambda row: row["MAX, GB"] / row["Hugging Face, GB"])


def now(column: str, together: Callable[[Iterable[int]], int] = sum) -> int:
    """Return a figure of what the small model wrote (after each arrow): by default, the sum over its texts."""
    made = WRITING["tables"]["measurements"]
    return together(int(row[made["head"].index(column)].split(" → ")[1]) for row in made["rows"])


def largest_jump() -> int:
    """Return the step whose loss rose most from the one before."""
    losses = history.losses
    return max(range(1, len(losses)), key=lambda at: losses[at] - losses[at - 1]) + 1


def samples() -> str:
    """Return what the model wrote at several moments."""
    return "\n\n".join(f"After step {sample['step']:,}:\n\n{_quoted(sample['text'])}" for sample in history.samples)


def _quoted(text: str) -> str:
    """Return a text as a quotation that contains no markup."""
    lines = re.sub(r"([\\`*_<>#|\[\]{}$~])", r"\\\1", text).splitlines()
    return "\n".join(f"> {line}".rstrip() for line in lines)
