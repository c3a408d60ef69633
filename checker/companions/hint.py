"""The next hint of a step: ``python -m checker.hint 07 [--all] [--yes]``.

Hints stand in the step's chapter of the book, each telling more than the one before; the last gives the
lines almost or entirely, so it is asked for. How many were seen is kept (``checker/course/progress.py``).
"""

from __future__ import annotations

import argparse
import re
import sys
import textwrap
from collections.abc import Callable
from dataclasses import dataclass

from checker.course import progress
from checker.course.paths import relative_path
from checker.course.steps import Step, find_step
from checker.session.printer import Printer, asked

UNUSABLE = 2

TIER = re.compile(r'<details class="hint">\s*<summary>(?P<title>.*?)</summary>(?P<body>.*?)</details>', re.DOTALL)
ITEM = re.compile(r"^(?P<mark> *(?:[-*+]|\d+\.) +)(?P<text>.*)$")
SPACE = "\N{NO-BREAK SPACE}"  # stands in for the spaces that a line may not be broken at


class NoHints(Exception):
    """The chapter has no hints that could be shown."""


@dataclass(frozen=True)
class Hint:
    """One tier: what it is about, and its Markdown."""

    title: str
    body: str


def hints_of(step: Step) -> list[Hint]:
    """The hints of a step, the vaguest first.

    Raises:
        NoHints: there is no chapter, or none in it; the message says what to do.
    """
    try:
        chapter = step.chapter.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise NoHints(f"{relative_path(step.chapter)}, where the hints are, is missing") from error
    tiers = TIER.finditer(_section(chapter, "## Hints"))
    found = [Hint(_title(tier["title"]), tier["body"]) for tier in tiers]
    if not found:
        raise NoHints(f"{relative_path(step.chapter)} has no hints")
    return found


def _section(chapter: str, heading: str) -> str:
    """What stands between a heading and the next of its level; a fence's ``## comment`` is no heading."""
    lines, inside, fenced = [], False, False
    for line in chapter.splitlines():
        fenced ^= line.lstrip().startswith("```")
        if line.startswith("## ") and not fenced:
            inside = line.rstrip() == heading
        elif inside:
            lines.append(line)
    return "\n".join(lines)


def _title(summary: str) -> str:
    """``the idea`` of ``Hint 1 of 3: the idea``."""
    return re.sub(r"^Hint \d+ of \d+: *", "", " ".join(summary.split()))


def tell_next(step: Step, printer: Printer, may_tell_all: Callable[[str], bool]) -> None:
    """Print one hint more than before.

    Args:
        step: whose hints.
        printer: where to.
        may_tell_all: asked, with what it is about to give away, before the last hint.

    Raises:
        NoHints: as ``hints_of``.
    """
    hints = hints_of(step)
    number = progress.hints_seen(step) + 1
    if number > len(hints):
        printer.line(
            f"You have seen all {len(hints)} hints of {step.task}: `./run hint {step.task} --all` shows them again, "
            f"`./run compare {step.task} --anyway` the solution."
        )
    elif number < len(hints) or may_tell_all(what_the_last_tells(hints)):
        tell(hints, number, printer)
        note(step, number, printer)


def tell_all(step: Step, printer: Printer, may_tell_all: Callable[[str], bool]) -> None:
    """Print every hint; before the last, unless it was seen, ask as ``tell_next`` does."""
    hints = hints_of(step)
    for number in range(1, len(hints) + 1):
        if number == len(hints) > progress.hints_seen(step) and not may_tell_all(what_the_last_tells(hints)):
            return
        if number > 1:
            printer.line()
        tell(hints, number, printer)
        note(step, max(number, progress.hints_seen(step)), printer)


def what_the_last_tells(hints: list[Hint]) -> str:
    """A sentence to ask with."""
    return f"Hint {len(hints)} of {len(hints)} is the last: {hints[-1].title}. It gives away what to write."


def tell(hints: list[Hint], number: int, printer: Printer) -> None:
    """Print hint ``number``, from 1."""
    hint = hints[number - 1]
    printer.line(f"Hint {number} of {len(hints)}: {hint.title}\n")
    for line in in_terminal(hint.body, printer.console.width):
        printer.styled(line)


def note(step: Step, seen: int, printer: Printer) -> None:
    """Keep how many hints were seen."""
    try:
        progress.note_hints(step, seen)
    except OSError as error:
        printer.line(
            f"\n(The next call shows this one again: {relative_path(progress.FILE)} cannot be written, {error.strerror}.)"
        )


def in_terminal(markdown: str, width: int) -> list[str]:
    """Markdown as lines of a terminal: wrapped, list items indented, code left as it is.

    Backticks stay, since they tell code from prose without colour; emphasis and the targets of links go.
    """
    wrapper = textwrap.TextWrapper(width, break_long_words=False, break_on_hyphens=False)
    lines: list[str] = []
    first, rest, words = "", "", ""  # of the paragraph that is being gathered: indents, and text

    def end_paragraph() -> None:
        nonlocal words
        if words:
            wrapper.initial_indent, wrapper.subsequent_indent = first, rest
            lines.extend(line.replace(SPACE, " ") for line in wrapper.wrap(_plain(words)))
        words = ""

    fence = ""
    for line in textwrap.dedent(markdown).strip("\n").splitlines():
        stripped = line.strip()
        item = ITEM.match(line)
        if fence:
            fence = "" if stripped == fence else fence
            if fence:
                lines.append(line)
        elif stripped.startswith("```"):
            end_paragraph()
            fence = "```"
        elif not stripped:
            end_paragraph()
            if lines and lines[-1]:
                lines.append("")
        elif item:
            end_paragraph()
            first, rest, words = item["mark"], " " * len(item["mark"]), item["text"]
        elif words:
            words += f" {stripped}"
        else:
            first = rest = line[: len(line) - len(line.lstrip())]
            words = stripped
    end_paragraph()
    while lines and not lines[-1]:
        lines.pop()
    return lines


def _plain(text: str) -> str:
    """Prose without Markdown's marks; code in backticks as it is, and never broken."""
    parts = re.split(r"(`[^`]+`)", text)
    for at, part in enumerate(parts):
        if part.startswith("`"):
            parts[at] = part.replace(" ", SPACE)
        else:
            without_links = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", part)
            parts[at] = without_links.replace("**", "")
    return "".join(parts)


def main(arguments: list[str] | None = None) -> int:
    """Print the next hint, or all. Exit status 2 when there is none that may be shown."""
    parser = argparse.ArgumentParser(prog="hint", description="Give one hint more for a step.")
    parser.add_argument("step", help="07, s07 or w01")
    parser.add_argument("--all", action="store_true", help="every hint, from the first")
    parser.add_argument("--yes", action="store_true", help="do not ask before the last hint, which tells most")
    options = parser.parse_args(arguments)

    def may_tell_all(what: str) -> bool:
        if options.yes:
            return True
        answer = asked(f"{what} Show it?")
        if answer is None:
            raise NoHints(f"{what} Add --yes to see it.")
        return answer

    printer = Printer()
    try:
        step = find_step(options.step)
        if options.all:
            tell_all(step, printer, may_tell_all)
        else:
            tell_next(step, printer, may_tell_all)
    except (ValueError, NoHints) as error:
        print(f"hint: {error}", file=sys.stderr)
        return UNUSABLE
    return 0


if __name__ == "__main__":
    sys.exit(main())
