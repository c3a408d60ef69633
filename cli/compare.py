"""Show where the learner's file and the solution differ: blanks written in another way, which may be just as right.

Lines of the learner's file alone are marked ``-``, and lines of the solution alone ``+``, as ``diff`` does. The page
and the end of a hunt show two texts in the same form.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass

from checker.course.blanks import TODO, blanks_of
from checker.course.languages import Function
from checker.course.reading import Unreadable, read_text
from checker.course.source import Source
from checker.course.standings import standing_of
from checker.course.steps import Step, relative_path
from checker.errors import UserError
from checker.terminal import Terminal

WARNING = "This step has not passed yet, and comparing shows the solution."
STYLES = {"-": "yellow", "+": "green", "…": "dim"}


@dataclass(frozen=True)
class Difference:
    """A function with a blank that is written differently: its line in the learner's file, if any, and the rows."""

    name: str
    line: int | None
    rows: list[str]


def differences(step: Step) -> list[Difference]:
    """Return the functions with a blank that are not written alike.

    Comments, blank lines and formatting do not count as a difference.

    Raises:
        Unreadable: the learner's file cannot be read.
    """
    source = Source(read_text(step.learner_file))
    step.language.refuse(source, str(step.learner_file))
    solution = step.read_solution()
    mine, theirs = step.language.functions(source), step.language.functions(solution)
    different = []
    for name in (blank.function for blank in blanks_of(step)):
        if name not in mine:
            different.append(Difference(name, None, rows_of([], _lines_of(solution, theirs[name]))))
        elif mine[name].meaning != theirs[name].meaning:
            rows = rows_of(_lines_of(source, mine[name]), _lines_of(solution, theirs[name]))
            different.append(Difference(name, mine[name].def_line, rows))
    return different


def _lines_of(source: Source, function: Function) -> list[str]:
    """Return a function's source, from its decorators to its end, moved to the left margin."""
    lines = source.lines[function.first - 1 : function.last]
    margin = lines[0][: -len(lines[0].lstrip())]
    return [line.rstrip().replace(TODO, "# ", 1).removeprefix(margin) for line in lines]


def rows_of(left: Sequence[str], right: Sequence[str]) -> list[str]:
    """Return rows for the places where two texts differ, with an equal line around each; none if they are equal."""
    lines = list(difflib.unified_diff(left, right, n=1, lineterm=""))[3:]  # after the names, and the first place
    return ["…" if line.startswith("@@") else f"{line[0]} {line[1:]}".rstrip() for line in lines]


def warning_before(step: Step) -> str:
    """Return a warning to give before the solution is shown; nothing once the file has passed as it is."""
    return "" if standing_of(step).is_done else WARNING


def rows_of_texts(left: str, right: str) -> list[str]:
    """Return rows for the places where two texts differ; a line end at the end of one of them is a difference, too."""
    rows = rows_of(Source(left).lines, Source(right).lines)
    return rows[:-1] if rows[-1:] == [""] else rows  # the empty line behind an end of line that both have


def show_differences(step: Step, *, anyway: bool) -> int:
    """Print the blanks that are written differently from the solution.

    Args:
        step: the step.
        anyway: print them even if the file as it is has not passed.

    Returns:
        The exit status: 1 if nothing is printed, since the file has not passed.

    Raises:
        UserError: the file cannot be read.
    """
    terminal, file = Terminal(), relative_path(step.learner_file)
    has_passed = standing_of(step).is_done
    if not anyway and not has_passed:
        terminal.line(f"{file} has not passed as it is now: `./run {step.task}` checks it.")
        terminal.line(f"`./run compare {step.task} --anyway` shows the solution all the same.")
        return 1
    try:
        different = differences(step)
    except Unreadable as error:
        raise UserError(str(error)) from error
    if different:
        terminal.line(f"- {file}\n+ {relative_path(step.solution_file)}\n")
    for difference in different:
        place = f"line {difference.line}" if difference.line else "not in your file"
        terminal.line(f"{difference.name}, {place}\n")
        for row in difference.rows:
            terminal.styled((f"  {row}", STYLES.get(row[:1], "")))
        terminal.line()
    terminal.line(summary_of(len(different), len(blanks_of(step)), has_passed=has_passed))
    return 0


def summary_of(different: int, count: int, *, has_passed: bool) -> str:
    """Return a sentence that says how many of ``count`` blanks are written differently, which is no grade."""
    if not different:
        return (
            f"All {count} blanks are written as in the solution." if count > 1 else "It is written as in the solution."
        )
    sentence = f"{different} of {count} blanks {'is' if different == 1 else 'are'} written differently"
    return f"{sentence}; the check has found no difference." if has_passed else f"{sentence}."
