"""The blanks of a step: where a solution hides them, and which a learner has yet to write.

A blank is the rest of a function, from a comment that says what to write and how long it is::

    # Cut the last axis into (head, head_dim), then bring head in front of seq. (2 lines)

The skeleton has ``# TODO:`` and the same words there, then ``raise NotImplementedError``. Everything
else in the two files is identical, so a skeleton cannot drift from its solution.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

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
    line: int | None  # of the ``raise`` in the learner's file; None if the function is gone
    started: bool = False  # there is code besides the ``raise``


Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions(tree: ast.Module) -> dict[str, Function]:
    """Return every function of a module by qualified name, outermost first."""
    found: dict[str, Function] = {}

    def visit(node: ast.AST, prefix: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, Function | ast.ClassDef):
                if isinstance(child, Function):
                    found[prefix + child.name] = child
                visit(child, f"{prefix}{child.name}.")

    visit(tree, "")
    return found


def find_blanks(solution: str) -> list[Blank]:
    """Return the blanks of a solution's source, from top to bottom.

    Raises:
        ValueError: a blank is outside a function, does not end it, or is not as long as it says.
    """
    lines = solution.splitlines()
    tree = functions(ast.parse(solution))
    blanks: list[Blank] = []
    for number, line in enumerate(lines, start=1):
        match = COMMENT.match(line)
        if not match:
            continue
        around = [name for name, node in tree.items() if node.lineno < number <= (node.end_lineno or 0)]
        if not around:
            raise ValueError(f"line {number}: the blank {match['words']!r} is not inside a function")
        last = tree[around[-1]].end_lineno or number
        blank = Blank(around[-1], match["words"], int(match["length"]), number, last)
        body = [text for text in lines[number:last] if text.strip() and not text.lstrip().startswith("#")]
        if len(body) != blank.length:
            raise ValueError(f"line {number}: the blank says {blank.length} lines, its body has {len(body)}")
        if any(other.function == blank.function for other in blanks):
            raise ValueError(f"line {number}: {blank.function} has two blanks; a function has one")
        blanks.append(blank)
    return blanks


def skeleton(solution: str) -> str:
    """Return the learner's file: the solution with every blank still to write."""
    lines = solution.splitlines()
    for blank in reversed(find_blanks(solution)):
        indent = lines[blank.first - 1][: -len(lines[blank.first - 1].lstrip())]
        todo = [f"{indent}# TODO: {blank.words}", f"{indent}raise NotImplementedError"]
        lines[blank.first - 1 : blank.last] = todo
    return "\n".join(lines) + "\n"


def unwritten(learner: ast.Module, solution: str) -> list[Unwritten]:
    """Return the blanks that a learner's file has yet to fill, judged without running it.

    A ``raise NotImplementedError`` that can be reached counts, so one left behind below a
    ``return`` does not. A function that is gone altogether is missing.
    """
    present = functions(learner)
    untouched = functions(ast.parse(skeleton(solution)))
    missing = []
    for blank in find_blanks(solution):
        function = present.get(blank.function)
        if function is None:
            missing.append(Unwritten(blank, None))
        elif line := _reachable_raise(function):
            started = len(function.body) > len(untouched[blank.function].body)
            missing.append(Unwritten(blank, line, started))
    return missing


def _reachable_raise(function: Function) -> int | None:
    """Return the line of a ``raise NotImplementedError`` among the function's own statements."""
    for statement in function.body:
        if isinstance(statement, ast.Return):
            return None
        if isinstance(statement, ast.Raise) and "NotImplementedError" in ast.dump(statement):
            return statement.lineno
    return None
