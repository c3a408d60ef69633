"""Show the next hint of a step.

Hints are in the step's chapter of the book, each telling more than the one before. The last gives away most or all of
the lines, so the learner is asked first. The number of hints seen is saved (``checker/course/progress.py``).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from rich.markdown import Markdown
from rich.theme import Theme

from checker.course import progress
from checker.course.steps import Step, relative_path
from checker.errors import UserError
from checker.terminal import Terminal
from cli.shared.command_line import confirm

HINT = re.compile(r'<details class="hint">\s*<summary>(?P<title>.*?)</summary>(?P<body>.*?)</details>', re.DOTALL)
CODE = re.compile(r"(?<!`)`([^`]+)`(?!`)")
PLAIN = Theme({"markdown.code": "bold"})


@dataclass(frozen=True)
class Hint:
    """A hint of a step: its number, counted from 1, of how many; its title, and its text in Markdown."""

    number: int
    count: int
    title: str
    body: str

    @property
    def warning(self) -> str:
        """The warning to give before the hint is shown, if it is the last one; else nothing."""
        words = f'The last hint, {self.number} of {self.count}, "{self.title}", gives away what to write.'
        return words if self.number == self.count else ""


def hints_of(step: Step) -> list[Hint]:
    """Return the hints of a step, the vaguest first.

    Raises:
        UserError: there is no chapter, or no hint in it.
    """
    try:
        text = step.chapter.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise UserError(f"{relative_path(step.chapter)}, where the hints are, is missing") from error
    found = list(HINT.finditer(text))
    if not found:
        raise UserError(f"{relative_path(step.chapter)} has no hints")
    return [
        Hint(number, len(found), re.sub(r"^Hint \d+ of \d+: *", "", " ".join(each["title"].split())), each["body"])
        for number, each in enumerate(found, start=1)
    ]


def next_hint(step: Step) -> Hint | None:
    """Return the hint after those that were seen; None if all were.

    Raises:
        UserError: as ``hints_of``.
    """
    last_seen = progress.read_progress().hints.get(step.name, 0)
    return next((hint for hint in hints_of(step) if hint.number > last_seen), None)


def show_hint(step: Step, *, every: bool = False, sure: bool = False) -> None:
    """Print the next hint, or ``every`` hint from the first; before the last, ask a person who is not ``sure``.

    Raises:
        UserError: there is no hint, or nobody to ask before the last one.
    """
    terminal, following = Terminal(), next_hint(step)
    only_next = [following] if following else []
    hints = hints_of(step) if every else only_next
    if not hints:
        terminal.line(f"You have seen all {len(hints_of(step))} hints of {step.task}; --all shows them again.")
        terminal.line(f"`./run compare {step.task} --anyway` shows the solution.")
    for hint in hints:
        if following and hint.warning and not sure:  # without a following hint, all were seen before
            answer = confirm(f"{hint.warning} Show it?")
            if answer is None:
                raise UserError(f"{hint.warning} Add --yes to see it.")
            if not answer:
                return
        terminal.line(f"Hint {hint.number} of {hint.count}: {hint.title}")
        with terminal.console.use_theme(PLAIN):  # backticks stay, since they tell code from prose without color
            terminal.draw(Markdown(CODE.sub(r"`` `\1` ``", hint.body), code_theme="ansi_dark"))
        terminal.line()
        if why := note_hint(step, hint):
            terminal.line(f"(The next call shows this one again: {why}.)")


def note_hint(step: Step, hint: Hint) -> str:
    """Note that a hint was seen; return why that is not saved, or nothing."""
    try:
        progress.note_hints(step, hint.number)
    except OSError as error:
        return f"{relative_path(progress.FILE)} cannot be written, {error.strerror}"
    return ""
