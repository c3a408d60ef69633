"""Show the next hint of a step.

Hints are in the step's chapter of the book, each telling more than the one before. The last gives away most or all of
the lines, so the learner is asked first. The number of hints seen is kept (``checker/course/progress.py``).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from rich.markdown import Markdown
from rich.theme import Theme

from checker.course import progress
from checker.course.paths import relative_path
from checker.course.steps import Step
from checker.session.printer import Printer, asked

TIER = re.compile(r'<details class="hint">\s*<summary>(?P<title>.*?)</summary>(?P<body>.*?)</details>', re.DOTALL)
CODE = re.compile(r"(?<!`)`([^`]+)`(?!`)")
PLAIN = Theme({"markdown.code": "bold"})


class NoHints(Exception):
    """There are no hints that may be shown; the message says why, or what to do."""


@dataclass(frozen=True)
class Tier:
    """A hint among those of its step: ``number`` of ``count``, from 1; what it is about, and its Markdown."""

    number: int
    count: int
    title: str
    body: str

    @property
    def warning(self) -> str:
        """What to say before it is shown, if it is the last one; else nothing."""
        words = f'The last hint, {self.number} of {self.count}, "{self.title}", gives away what to write.'
        return words if self.number == self.count else ""


def hints_of(step: Step) -> list[Tier]:
    """Return the hints of a step, the vaguest first.

    Raises:
        NoHints: there is no chapter.
    """
    try:
        text = step.chapter.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise NoHints(f"{relative_path(step.chapter)}, where the hints are, is missing") from error
    tiers = list(TIER.finditer(text))
    return [
        Tier(number, len(tiers), re.sub(r"^Hint \d+ of \d+: *", "", " ".join(tier["title"].split())), tier["body"])
        for number, tier in enumerate(tiers, start=1)
    ]


def next_tier(step: Step) -> Tier | None:
    """Return the hint that follows those that were seen; None if all were.

    Raises:
        NoHints: as ``hints_of``.
    """
    seen = progress.read()["hints"].get(step.name, 0)
    return next((tier for tier in hints_of(step) if tier.number > seen), None)


def note_seen(step: Step, number: int) -> None:
    """Keep that hint ``number`` was seen, and those before it.

    Raises:
        OSError: it cannot be kept.
    """
    progress.note_hints(step, number)


def ask_before_the_last(what: str) -> bool:
    """Ask a person at a terminal whether to show the last hint; without a terminal, refuse.

    Raises:
        NoHints: there is nobody to ask.
    """
    answer = asked(f"{what} Show it?")
    if answer is None:
        raise NoHints(f"{what} Add --yes to see it.")
    return answer


def tell(step: Step, printer: Printer, may_tell_all: Callable[[str], bool], *, every: bool = False) -> None:
    """Print the next hint, or ``every`` hint from the first.

    Args:
        step: whose hints.
        printer: where to.
        may_tell_all: called before the last hint unless it was seen, with a sentence that says what it gives away.
        every: print them all.

    Raises:
        NoHints: raised by ``hints_of`` or by ``may_tell_all``.
    """
    following = next_tier(step)
    if not following and not every:
        printer.line(
            f"You have seen all {len(hints_of(step))} hints of {step.task}: `./run hint {step.task} --all` shows them "
            f"again, `./run compare {step.task} --anyway` the solution."
        )
    for tier in hints_of(step) if every else filter(None, [following]):
        if following and tier.warning and not may_tell_all(tier.warning):
            return
        printer.line(f"Hint {tier.number} of {tier.count}: {tier.title}")
        with printer.console.use_theme(PLAIN):  # and backticks stay, since they tell code from prose without color
            printer.draw(Markdown(CODE.sub(r"`` `\1` ``", tier.body), code_theme="ansi_dark"))
        printer.line()
        try:
            note_seen(step, tier.number)
        except OSError as error:
            file = relative_path(progress.FILE)
            printer.line(f"(The next call shows this one again: {file} cannot be written, {error.strerror}.)")
