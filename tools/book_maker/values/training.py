"""Values of a recorded training: what ``./run train`` wrote to ``training.json``, as the book's page shows it."""

import json
import math
import re
from collections.abc import Callable
from dataclasses import fields
from typing import Any

from checker.course.paths import ROOT, SMALL_MODEL, relative_path
from play.training.plan import History, Plan, in_words
from solutions.solution_01 import GPT2Config
from tools.book_maker.values.arithmetic import parameters

FILE = ROOT / "tools" / "benchmarks" / "figures" / "training.json"
RECORDED: dict[str, Any] = json.loads(FILE.read_text())

plan = Plan.of(RECORDED["plan"])
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
        f"--{one.name} {getattr(plan, one.name)}"
        for one in fields(Plan)
        if one.name != "texts" and getattr(plan, one.name) != one.default
    ]
)

#: What guessing all tokens with equal probability costs, in nats per token.
guessing = math.log(facts["vocab"])

#: Tokens that a step predicts, and that the training predicted per second.
tokens_per_step = plan.accumulate * plan.batch * (plan.positions - 1)
tokens_per_second = plan.steps * tokens_per_step / history.seconds

#: How long the steps took.
took = in_words(history.seconds)


def at(step: int) -> dict[str, Any]:
    """Return the evaluation after a step.

    Raises:
        ValueError: there was none.
    """
    for evaluation in history.evaluations:
        if evaluation["step"] == step:
            return evaluation
    raise ValueError(f"{relative_path(FILE)} has no evaluation after step {step}; ./run train makes {plan}")


def largest_jump() -> int:
    """Return the step whose loss rose most from the one before."""
    losses = history.losses
    return max(range(1, len(losses)), key=lambda at: losses[at] - losses[at - 1]) + 1


def recent_loss(step: int) -> float:
    """Return the mean training loss since the evaluation before the one after a step."""
    steps = [evaluation["step"] for evaluation in history.evaluations]
    before = steps[steps.index(step) - 1]
    return sum(history.losses[before:step]) / (step - before)


def table(rows: int = 8) -> str:
    """Return some evaluations, the first and the last among them, as the rows of a table."""
    places = sorted({round(part * (len(history.evaluations) - 1) / (rows - 1)) for part in range(rows)})
    lines = ["| step | loss | validation | bits per byte |", "|--:|--:|--:|--:|"]
    for place in places:
        step, loss, bits = (history.evaluations[place][name] for name in ("step", "loss", "bits_per_byte"))
        recent = f"{recent_loss(step):.3f}" if step else ""
        lines.append(f"| {step:,} | {recent} | {loss:.3f} | {bits:.3f} |")
    return "\n".join(lines)


def samples() -> str:
    """Return what the model wrote at several moments."""
    return "\n\n".join(f"After step {sample['step']:,}:\n\n{_quoted(sample['text'])}" for sample in history.samples)


def _quoted(text: str) -> str:
    """Return a text as a quotation that contains no markup."""
    lines = re.sub(r"([\\`*_<>#|\[\]{}$~])", r"\\\1", text).splitlines()
    return "\n".join(f"> {line}".rstrip() for line in lines)


# ---------------------------------------------------------------- the model in the box

#: What it wrote after a few beginnings, and where that, and its figures, are from.
writing_origin = {"date": "2026-11-23", "tag": "weight-before"}
writing: list[dict[str, Any]] = json.loads((SMALL_MODEL / "writing.json").read_text())

#: The same of the model that was in the box before, and how well that predicted.
before: dict[str, Any] = json.loads((SMALL_MODEL / "before.json").read_text())
bits_before: float = before["test bits per byte"]

#: The figures of a text, and how they are shown.
FIGURES: dict[str, Callable[[Any], object]] = {
    "words": str,
    "invented": len,
    "repeated": "{:.0%}".format,
    "longest copy": len,
}


def written() -> str:
    """Return what the model in the box wrote after each beginning."""
    return "\n\n".join(_quoted(f"{text['beginning']}{text['text']} …") for text in writing)


def writing_table() -> str:
    """Return the figures of these texts, each after that of the model before, as the rows of a table."""
    lines = ["| after | words | invented | repeated runs | longest copy |", "|---|--:|--:|--:|--:|"]
    for old, new in zip(before["writing"], writing, strict=True):
        cells = [new["beginning"], *(f"{show(old[name])} → {show(new[name])}" for name, show in FIGURES.items())]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)
