"""Show the next hint of a step.

Hints are in the step's chapter of the book, each telling more than the one before. The last gives away most or all of
the lines, so the learner is asked first. The number of hints seen is kept (``checker/course/progress.py``).
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from markdown_it import MarkdownIt
from markdown_it.token import Token

from checker.course import progress
from checker.course.paths import relative_path
from checker.course.steps import Step
from checker.session.printer import Printer, asked

TIER = re.compile(r'<details class="hint">\s*<summary>(?P<title>.*?)</summary>(?P<body>.*?)</details>', re.DOTALL)
SPACE = "\N{NO-BREAK SPACE}"  # stands in for a space at which a line may not break
MARKDOWN = MarkdownIt("commonmark")


class NoHints(Exception):
    """There are no hints that may be shown; the message says why, or what to do."""


@dataclass(frozen=True)
class Hint:
    """One tier: what it is about, and its Markdown."""

    title: str
    body: str


def hints_of(step: Step) -> list[Hint]:
    """Return the hints of a step, the vaguest first.

    Raises:
        NoHints: there is no chapter, or it has no hints.
    """
    try:
        chapter = step.chapter.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise NoHints(f"{relative_path(step.chapter)}, where the hints are, is missing") from error
    found = [Hint(_title(tier["title"]), tier["body"]) for tier in TIER.finditer(_section(chapter, "Hints"))]
    if not found:
        raise NoHints(f"{relative_path(step.chapter)} has no hints")
    return found


def _section(chapter: str, heading: str) -> str:
    """Return the lines between a heading and the next of its level."""
    lines, tokens = chapter.split("\n"), MARKDOWN.parse(chapter)
    starts = [(mark.map[0], text.content) for mark, text in pairwise(tokens) if mark.tag == "h2" and mark.map]
    sections = pairwise([*starts, (len(lines), "")])
    return next(("\n".join(lines[start + 1 : end]) for (start, text), (end, _) in sections if text == heading), "")


def _title(summary: str) -> str:
    """Return ``the idea`` of ``Hint 1 of 3: the idea``."""
    return re.sub(r"^Hint \d+ of \d+: *", "", " ".join(summary.split()))


def ask_before_the_last(what: str) -> bool:
    """Ask a person at a terminal whether to show the last hint; without a terminal, refuse.

    Raises:
        NoHints: there is nobody to ask.
    """
    answer = asked(f"{what} Show it?")
    if answer is None:
        raise NoHints(f"{what} Add --yes to see it.")
    return answer


@dataclass(frozen=True)
class Tier:
    """A hint among those of its step: ``number`` of ``count``, from 1."""

    number: int
    count: int
    hint: Hint

    @property
    def warning(self) -> str:
        """What to say before it is shown, if it is the last one; else nothing."""
        return _what_the_last_tells(self.count, self.hint) if self.number == self.count else ""


def next_tier(step: Step) -> Tier | None:
    """Return the hint that follows those that were seen; None if all were.

    Raises:
        NoHints: as ``hints_of``.
    """
    hints, number = hints_of(step), progress.hints_seen(step) + 1
    return Tier(number, len(hints), hints[number - 1]) if number <= len(hints) else None


def note_seen(step: Step, number: int) -> None:
    """Keep that hint ``number`` was seen, and those before it.

    Raises:
        OSError: it cannot be kept.
    """
    progress.note_hints(step, max(number, progress.hints_seen(step)))


def tell_next(step: Step, printer: Printer, may_tell_all: Callable[[str], bool]) -> None:
    """Print the next hint.

    Args:
        step: whose hints.
        printer: where to.
        may_tell_all: called before the last hint, with a sentence that says what the hint gives away.

    Raises:
        NoHints: raised by ``hints_of`` or by ``may_tell_all``.
    """
    tier = next_tier(step)
    if tier is None:
        printer.line(
            f"You have seen all {len(hints_of(step))} hints of {step.task}: `./run hint {step.task} --all` shows them "
            f"again, `./run compare {step.task} --anyway` the solution."
        )
    elif not tier.warning or may_tell_all(tier.warning):
        _tell(step, tier, printer)


def tell_all(step: Step, printer: Printer, may_tell_all: Callable[[str], bool]) -> None:
    """Print every hint; before the last, unless it was seen, ask as ``tell_next`` does."""
    hints = hints_of(step)
    for number, hint in enumerate(hints, start=1):
        tier = Tier(number, len(hints), hint)
        if tier.warning and number > progress.hints_seen(step) and not may_tell_all(tier.warning):
            return
        if number > 1:
            printer.line()
        _tell(step, tier, printer)


def _what_the_last_tells(count: int, last: Hint) -> str:
    return f'The last hint, {count} of {count}, "{last.title}", gives away what to write.'


def _tell(step: Step, tier: Tier, printer: Printer) -> None:
    """Print a hint, and record that it was seen."""
    printer.line(f"Hint {tier.number} of {tier.count}: {tier.hint.title}\n")
    for line in in_terminal(tier.hint.body, printer.console.width):
        printer.styled(line)
    try:
        note_seen(step, tier.number)
    except OSError as error:
        file = relative_path(progress.FILE)
        printer.line(f"\n(The next call shows this one again: {file} cannot be written, {error.strerror}.)")


def in_terminal(markdown: str, width: int) -> list[str]:
    """Return Markdown as lines of a terminal: wrapped, list items indented, code left as it is.

    Backticks stay, since they tell code from prose without color; emphasis and the targets of links go.
    """
    source = textwrap.dedent(markdown).strip("\n").split("\n")
    lines: list[str] = []
    indents = [""]  # of the lists that are open, the innermost last
    mark = ""  # of a list item that has no text yet, with its indent
    for token in MARKDOWN.parse("\n".join(source)):
        if token.type == "list_item_open":
            mark = f"{indents[-1]}{token.info}{token.markup} "
            indents.append(" " * len(mark))
        elif token.type == "list_item_close":
            indents.pop()
        elif token.type in ("inline", "fence") and token.map:
            if lines and not source[token.map[0] - 1].strip():
                lines.append("")
            if token.type == "fence":
                lines += [f"{indents[-1]}{line}".rstrip() for line in token.content.splitlines()]
            else:
                wrapper = textwrap.TextWrapper(width, mark or indents[-1], indents[-1])
                wrapper.break_long_words = wrapper.break_on_hyphens = False
                lines += [line.replace(SPACE, " ") for line in wrapper.wrap(_plain(token.children or []))]
                mark = ""
    return lines


def _plain(prose: Sequence[Token]) -> str:
    """Return prose without Markdown's marks; code keeps its backticks, and is never broken."""
    text = ""
    for part in prose:
        match part.type:
            case "text":
                text += part.content
            case "code_inline":
                text += f"`{part.content}`".replace(" ", SPACE)
            case "softbreak" | "hardbreak":
                text += " "
    return text
