"""The blanks of a step: where a solution hides them, and which a learner has yet to write.

A blank is the rest of a function, from a comment that says what to write and how long it is::

    # Cut the last axis into (head, head_dim), then bring head in front of seq. (2 lines)

The skeleton has ``# TODO:`` and the same words there, then the statement at which it stops: in Python
``raise NotImplementedError``. Everything else in the two files is identical, so a skeleton cannot drift from its
solution.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from checker.course.languages import Language
from checker.course.languages.python import PYTHON
from checker.course.steps import Step

TODO = "# TODO: "  # how a skeleton's comment begins, which in the solution begins with "# "
COMMENT = re.compile(r"^(?P<indent> +)# (?P<words>.*\((?P<length>\d+) lines?\))$")


@dataclass(frozen=True)
class Blank:
    """One thing to write: lines ``first`` (the comment) to ``last`` of the solution, from 1."""

    function: str  # qualified: "GPT2MultiHeadAttention._attn"
    words: str
    length: int
    first: int
    last: int

    @property
    def label(self) -> str:
        """The function's own name, as the verdict shows it."""
        return self.function.rpartition(".")[2]


@dataclass(frozen=True)
class Unwritten:
    """A blank that the learner's file still has, and why we think so."""

    blank: Blank
    line: int | None  # at which the learner's file stops; None if the function is gone
    started: bool = False  # there is code besides that statement


def blanks_of(step: Step) -> list[Blank]:
    """Return the blanks of a step, from top to bottom."""
    return find_blanks(step.solution_file.read_text(), step.language)


def find_blanks(solution: str, language: Language = PYTHON) -> list[Blank]:
    """Return the blanks of a solution's source, from top to bottom.

    Raises:
        ValueError: a blank is outside a function, does not end it, or is not as long as it says.
    """
    lines = solution.splitlines()
    functions = language.functions(solution)
    blanks: list[Blank] = []
    for number, line in enumerate(lines, start=1):
        match = COMMENT.match(line)
        if not match:
            continue
        around = [name for name, function in functions.items() if function.defined < number <= function.last]
        if not around:
            raise ValueError(f"line {number}: the blank {match['words']!r} is not inside a function")
        last = functions[around[-1]].last
        blank = Blank(around[-1], match["words"], int(match["length"]), number, last)
        body = [text for text in lines[number:last] if text.strip() and not text.lstrip().startswith("#")]
        if len(body) != blank.length:
            raise ValueError(f"line {number}: the blank says {blank.length} lines, its body has {len(body)}")
        if any(other.function == blank.function for other in blanks):
            raise ValueError(f"line {number}: {blank.function} has two blanks; a function has one")
        blanks.append(blank)
    return blanks


def skeleton(solution: str, language: Language = PYTHON, written: Collection[str] = ()) -> str:
    """Return the learner's file: the solution with every blank still to write, but for those ``written``, by label."""
    lines = solution.splitlines()
    for blank in reversed([each for each in find_blanks(solution, language) if each.label not in written]):
        indent = lines[blank.first - 1][: -len(lines[blank.first - 1].lstrip())]
        todo = [f"{indent}{TODO}{blank.words}", f"{indent}{language.stop}"]
        lines[blank.first - 1 : blank.last] = todo
    return "\n".join(lines) + "\n"


def unwritten(learner: str, solution: str, language: Language = PYTHON) -> list[Unwritten]:
    """Return the blanks that a learner's file has yet to fill, judged without running it.

    A statement at which the skeleton stops counts if it can be reached, so one left behind below a
    ``return`` does not. A function that is gone altogether is missing.

    Raises:
        Unreadable: the learner's file is none of the language.
    """
    language.refuse(learner, "")
    present, untouched = language.functions(learner), language.functions(skeleton(solution, language))
    missing = []
    for blank in find_blanks(solution, language):
        function = present.get(blank.function)
        if function is None:
            missing.append(Unwritten(blank, None))
        elif function.stop:
            missing.append(Unwritten(blank, function.stop, function.size > untouched[blank.function].size))
    return missing
