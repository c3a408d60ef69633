"""Values of a recorded training: what ``./run train`` wrote to ``training.json``, as the book's page shows it."""

import json
import math
import re
from dataclasses import fields
from typing import Any

from checker.course.steps import ROOT
from play.training.plan import History, Plan
from solutions.solution_01 import GPT2Config
from tools.book_maker.values.arithmetic import parameters

FILE = ROOT / "tools" / "benchmarks" / "figures" / "training.json"
RECORDED: dict[str, Any] = json.loads(FILE.read_text())

plan = Plan(**RECORDED["plan"])
facts: dict[str, Any] = RECORDED["facts"]
history = History(**{name: RECORDED[name] for name in ("losses", "evaluations", "samples", "seconds", "facts")})

#: What a training does by default, and how many weights its model has.
default = Plan()
default_parameters = parameters(
    GPT2Config(default.vocab, default.positions, default.width, default.layers, default.heads)
)["total"]

#: The command that started the recorded training.
command = " ".join(
    ["./run train"]
    + [
        f"--{option.name} {value}"
        for option in fields(Plan)
        if (value := getattr(plan, option.name)) != option.default and option.name != "texts"
    ]
)

#: What guessing all tokens with equal probability costs, in nats per token.
guessing = math.log(facts["vocab"])

#: Tokens that a step predicts, and that the training predicted per second.
tokens_per_step = plan.accumulate * plan.batch * (plan.positions - 1)
tokens_per_second = plan.steps * tokens_per_step / history.seconds


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
