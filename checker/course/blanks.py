"""The blanks of a step: where they are in a solution, and which of them a learner's file has yet to write.

A blank is the rest of a function, from a comment that says what to write and how long it is::

    # Cut the last axis into (head, head_dim), then bring head in front of seq. (2 lines)

In its place, the skeleton has ``# TODO:`` and the same words, then the stop statement, which in Python is
``raise NotImplementedError``. Everything else in the two files is identical, so a skeleton cannot drift from its
solution. A ``return`` that the comment does not count is given: the skeleton has it, too, behind the stop statement.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache

from checker.course.languages import PYTHON, Language
from checker.course.source import Source
from checker.course.steps import Step

TODO = "# TODO: "  # begins the comment of a blank in the skeleton, which begins with "# " in the solution
COMMENT = re.compile(r"^(?P<indent> +)# (?P<instruction>.*\((?P<length>\d+) lines?\))$")


@dataclass(frozen=True)
class Blank:
    """One thing to write: lines ``first`` (the comment) to ``last`` of the solution, counted from 1."""

    function: str  # qualified: "GPT2MultiHeadAttention._attn"
    instruction: str
    length: int
    first: int
    last: int

    @property
    def label(self) -> str:
        """The label of the function, as the verdict shows it."""
        return label_of(self.function)


@dataclass(frozen=True)
class Unwritten:
    """A blank that the learner's file still has to write."""

    blank: Blank
    line: int | None  # of the stop statement; None if the file, in a language that is not run, lacks the function
    started: bool = False  # there is code besides the stop statement


def label_of(function: str) -> str:
    """Return the label of a function that is named with its class, such as ``GPT2Block.forward``: ``forward``."""
    return function.rpartition(".")[2]


def blanks_of(step: Step) -> tuple[Blank, ...]:
    """Return the blanks of a step, from top to bottom."""
    return find_blanks(step.read_solution(), step.language)


@lru_cache(maxsize=64)  # a check asks six times for one step; some commands ask for every step
def find_blanks(solution: Source, language: Language = PYTHON) -> tuple[Blank, ...]:
    """Return the blanks of a solution's source, from top to bottom.

    Raises:
        ValueError: a blank is outside a function, is not as long as it says, or has the label of another blank.
    """
    lines = solution.lines
    functions = language.functions(solution)
    blanks: list[Blank] = []
    for number, line in enumerate(lines, start=1):
        match = COMMENT.match(line)
        if not match:
            continue
        around = [name for name, function in functions.items() if function.def_line < number <= function.last]
        if not around:
            raise ValueError(f"line {number}: the blank {match['instruction']!r} is not inside a function")
        body = _code_lines(lines, number, functions[around[-1]].last)
        length = int(match["length"])
        rest = body[length:]
        if len(body) < length or (rest and not lines[rest[0] - 1].startswith(f"{match['indent']}return ")):
            raise ValueError(f"line {number}: the blank says {length} lines, its body has {len(body)}")
        blank = Blank(around[-1], match["instruction"], length, number, body[length - 1])
        if any(other.function == blank.function for other in blanks):
            raise ValueError(f"line {number}: {blank.function} has two blanks; a function has one")
        if any(other.label == blank.label for other in blanks):
            raise ValueError(f"line {number}: two blanks are called {blank.label}; a check tells them apart by it")
        blanks.append(blank)
    return tuple(blanks)


def _code_lines(lines: Sequence[str], after: int, last: int) -> list[int]:
    """Return the numbers of the lines with code behind line ``after`` and up to line ``last``, counted from 1."""
    code = enumerate(lines[after:last], start=after + 1)
    return [number for number, text in code if text.strip() and not text.lstrip().startswith("#")]


def skeleton(solution: Source, language: Language = PYTHON, written: Collection[str] = ()) -> str:
    """Return a solution's skeleton, in which every blank is still to write, but for those ``written``, by label."""
    lines = list(solution.lines)
    for blank in reversed([blank for blank in find_blanks(solution, language) if blank.label not in written]):
        indent = lines[blank.first - 1][: -len(lines[blank.first - 1].lstrip())]
        todo = [f"{indent}{TODO}{blank.instruction}", f"{indent}{language.stop_statement}"]
        lines[blank.first - 1 : blank.last] = todo
    return "\n".join(lines)


def unwritten_blanks(learner: Source, solution: Source, language: Language = PYTHON) -> list[Unwritten]:
    """Return the blanks that a learner's file has yet to write, judged without running it.

    A blank is unwritten if the stop statement is still in its function, and nothing before it returns. Whether a
    function is missing altogether, only running the file can tell, if it is in Python. A file that is not of the
    language must have been refused before.
    """
    present, untouched = language.functions(learner), language.functions(Source(skeleton(solution, language)))
    unwritten = []
    for blank in find_blanks(solution, language):
        function = present.get(blank.function)
        if function is None:
            if not language.is_run:
                unwritten.append(Unwritten(blank, None))
        elif function.stop_line:
            unwritten.append(Unwritten(blank, function.stop_line, function.size > untouched[blank.function].size))
    return unwritten


def what_to_do(unwritten: Unwritten, stop: str) -> str:
    """Return what to do about a blank that is still to write; ``stop`` is the stop statement of its language."""
    if unwritten.line is None:
        return what_to_do_about_missing(unwritten.blank.function)
    if unwritten.started:
        return f"line {unwritten.line} still says {stop}: delete that line"
    return f"line {unwritten.line}: {unwritten.blank.instruction}"


def what_to_do_about_missing(function: str, likely_name: str = "") -> str:
    """Return what to do about a function that the file lacks, and has perhaps under a ``likely_name``."""
    gone = f"there is no {function} in the file any more"
    if likely_name:
        return f"{gone}; it has {likely_name}: call it {label_of(function)}"
    return f"{gone}; write it, under this name"
