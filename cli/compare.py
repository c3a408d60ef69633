"""Show the learner's file beside the solution: the blanks written differently, which after a pass is no worse.

They stand side by side where the terminal is wide enough, else one above the other. The mark at a line says how
it differs: ``|`` the two lines differ, ``<`` only you have it, ``>`` only the solution has it.
"""

from __future__ import annotations

import difflib
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass

from rich.table import Table
from rich.text import Text

from checker.course import progress
from checker.course.blanks import TODO, blanks_of
from checker.course.languages import Function, Unreadable
from checker.course.paths import relative_path
from checker.course.standing import standing
from checker.course.static import read_text
from checker.course.steps import Step
from checker.session.printer import Printer

NO, UNUSABLE = 1, 2
WARNING = "This step has not passed yet, and comparing shows the solution."
WIDEST = 240  # columns of a terminal that are used
ROOMY = 60  # columns that are enough for one side, even if some lines wrap

#: A line of your file and the line of the solution beside it, with the mark between them; None if there is none.
Row = tuple[str | None, str, str | None]


@dataclass(frozen=True)
class Pair:
    """One taught function in both files: its lines, and where the learner's begin."""

    name: str
    line: int | None  # in the learner's file; None if the function is not there
    yours: list[str]
    theirs: list[str]


def pairs(step: Step, source: str, *, whole: bool) -> Iterator[Pair]:
    """Yield the taught functions that are not written alike, as they stand in both files.

    Comments, blank lines and formatting do not count as a difference. Unless the ``whole`` functions are
    asked for, the lines that both begin with, signature and given parts, are left out.
    """
    solution = step.solution_file.read_text()
    mine, answers = step.language.functions(source), step.language.functions(solution)
    for blank in blanks_of(step):
        theirs = _lines(solution, answers[blank.function])
        function = mine.get(blank.function)
        if function is None:
            yield Pair(blank.function, None, [], theirs)
        elif function.means != answers[blank.function].means:
            yours, skipped = _lines(source, function), 0
            while not whole and skipped < min(len(yours), len(theirs)) and _key(yours[skipped]) == theirs[skipped]:
                skipped += 1
            yield Pair(blank.function, function.first + skipped, yours[skipped:], theirs[skipped:])


def _lines(source: str, function: Function) -> list[str]:
    """Return a function's source, from its decorators to its end, moved to the left margin."""
    lines = source.splitlines()[function.first - 1 : function.last]
    return textwrap.dedent("\n".join(line.rstrip() for line in lines)).splitlines()


def _key(line: str) -> str:
    """Return the part of a line to compare: whether a comment says TODO makes no difference."""
    return line.replace(TODO, "# ", 1)


def additions(step: Step, source: str) -> list[str]:
    """Return the functions that only the learner's file has, with their lines."""
    known = step.language.functions(step.solution_file.read_text())
    return [
        f"{name} (line {function.defined})"
        for name, function in step.language.functions(source).items()
        if name not in known
    ]


def aligned(yours: list[str], theirs: list[str]) -> list[Row]:
    """Return both sides line by line, equal lines beside each other, as ``diff -y`` shows them."""
    rows: list[Row] = []
    keys = [_key(line) for line in yours]
    for kind, a, b, c, d in difflib.SequenceMatcher(None, keys, theirs, autojunk=False).get_opcodes():
        for at in range(max(b - a, d - c)):
            left = yours[a + at] if a + at < b else None
            right = theirs[c + at] if c + at < d else None
            mark = " " if kind == "equal" else "<" if right is None else ">" if left is None else "|"
            rows.append((left, mark, right))
    return rows


def show(pair: Pair, step: Step, printer: Printer) -> None:
    """Print one function of both files, side by side or one above the other."""
    left = relative_path(step.learner_file) + (f", line {pair.line}" if pair.line else "")
    right = relative_path(step.solution_file)
    printer.line(f"\n{pair.name}\n")
    rows = aligned(pair.yours, pair.theirs)
    half = (printer.drawing_width - 3) // 2
    if half >= min(ROOMY, max(map(len, [left, right, *pair.yours, *pair.theirs]))):
        _side_by_side(rows, (left, right), printer)
    else:
        _one_above_the_other(rows, (left, right), printer)


def _side_by_side(rows: list[Row], names: tuple[str, str], printer: Printer) -> None:
    table = Table(box=None, padding=0, expand=True, show_edge=False, header_style="dim")
    table.add_column(names[0], ratio=1, overflow="fold")
    table.add_column("", width=3)
    table.add_column(names[1], ratio=1, overflow="fold")
    for left, mark, right in rows:
        is_equal = mark == " "
        table.add_row(
            Text(left or "", "" if is_equal else "yellow"), f" {mark} ", Text(right or "", "" if is_equal else "green")
        )
    printer.draw(table)


def _one_above_the_other(rows: list[Row], names: tuple[str, str], printer: Printer) -> None:
    for name, lines, style in (
        (names[0], [(left, mark) for left, mark, _ in rows], "yellow"),
        (names[1], [(right, mark) for _, mark, right in rows], "green"),
    ):
        printer.styled((f"{name}:", "dim"))
        for line, mark in lines:
            if line is not None:
                printer.styled(f"  {mark} ", (line, "" if mark == " " else style))


def compare(step: Step, *, whole: bool, anyway: bool) -> int:
    """Print the blanks that are written differently from the solution.

    Args:
        step: the step.
        whole: show whole functions, including the given parts.
        anyway: show it even if the file as it is has not passed.

    Returns:
        The exit status: 1 if the file has not passed, 2 if it cannot be compared.
    """
    printer = Printer(widest=WIDEST)
    if not anyway and standing(step).state != "done":
        again = " as it is now" if progress.last_pass(step) else ""
        printer.line(f"{relative_path(step.learner_file)} has not passed{again}: `./run {step.task}` checks it.")
        printer.line(f"`./run compare {step.task} --anyway` shows the solution all the same.")
        return NO
    try:
        source = read_text(step.learner_file)
        step.language.refuse(source, str(step.learner_file))
    except Unreadable as error:
        printer.line(str(error))
        return UNUSABLE
    count = len(blanks_of(step))
    different = list(pairs(step, source, whole=whole))
    for pair in different:
        show(pair, step, printer)
    same = f"{count - len(different)} of {count} blanks are written as in the solution."
    printer.line(f"\n{same}" if different else same)
    if more := additions(step, source):
        printer.line(f"Your file also has {', '.join(more)}.")
    return 0
