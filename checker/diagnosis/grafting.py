"""Put the solution's code in the place of some of a learner's, for a traceback that shows the lines of each file.

A trick, ``line numbers``: those of the solution are shifted by a million (:data:`FAR`), and back once all is compiled.
"""

from __future__ import annotations
import __future__

import ast
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from types import CodeType
from typing import Protocol

from checker.course.source import FunctionNode, Source
from checker.diagnosis.outside_blanks import in_other_order, name_of, statements
from checker.outcomes import Outcomes

FAR = 1_000_000  # added to the line numbers of the solution, to tell its code from the learner's


class Trials(Protocol):
    """Tries code that was put together: in a check, ``checker.child.grader.ClaimTrials``."""

    def run(
        self, codes: Mapping[str, CodeType], claims: Mapping[str, Collection[str]], *, show: bool = False
    ) -> Mapping[str, Outcomes]:
        """Run each code as a module, and the claims that are asked for on it; return the outcomes, by the same names.

        With ``show``, they say what the functions were given.
        """


@dataclass(frozen=True)
class Graft:
    """What is the solution's in a learner's file.

    Attributes:
        name: qualified, such as ``GPT2MultiHeadAttention._attn`` or, of what is no function, ``IGNORE_INDEX``.
        statements: how many of a function's, behind its docstring, with the order of its parameters; None: all of it.
    """

    name: str
    statements: int | None = None


def graft(learner: Source, solution: Source, grafts: Iterable[Graft]) -> ast.Module:
    """Return the learner's file with some of the solution's code in place of its own.

    Methods that only the solution has are added; whatever else the learner wrote stays.
    """
    by_name = dict[str, Graft]()
    for new in grafts:
        if new.statements is None or new.name not in by_name:  # the whole of a function has its beginning in it
            by_name[new.name] = new
    tree = learner.new_tree()
    _exchange(tree.body, _far(solution).body, "", by_name)
    return tree


def compile_grafted(tree: ast.Module, solution: Source, path: str, solution_path: str) -> CodeType:
    """Compile what :func:`graft` returned, for a traceback that shows the lines of each file as its own.

    The solution is run first, in the same module: what the learner's file lacks, such as an import, it has from there.
    """
    both = [*_far(solution).body, *tree.body]
    # What is imported from __future__ has to come first. The solutions import one thing, which is said here instead.
    body = [node for node in both if not (isinstance(node, ast.ImportFrom) and node.module == "__future__")]
    annotations = __future__.annotations.compiler_flag
    return _filed(compile(ast.Module(body, []), path, "exec", annotations, dont_inherit=True), solution_path)


@dataclass(frozen=True)
class LearnersFile:
    """A learner's file beside the solution: the texts of both and where they are, and what a learner writes.

    ``step_path`` is where the file of this step belongs: what the code there is given can be noted.
    ``functions`` are those with a blank, by label, from the top of the solution to its end, and ``to_write`` the labels
    of those that are still to write.
    """

    source: Source
    path: str
    solution: Source
    solution_path: str
    step_path: str
    functions: Mapping[str, str]
    to_write: Collection[str]

    @property
    def last_label(self) -> str:
        """The label of the last function with a blank; a solution builds up to it, so it uses the others."""
        return list(self.functions)[-1]

    def grafted(self, grafts: Iterable[Graft]) -> CodeType:
        """Return the file with some of the solution's code in place of its own."""
        tree = graft(self.source, self.solution, grafts)
        return compile_grafted(tree, self.solution, self.path, self.solution_path)


def _far(solution: Source) -> ast.Module:
    """Return the tree of a solution with the line numbers by which its code is told from the learner's."""
    tree = solution.new_tree()
    ast.increment_lineno(tree, FAR)
    return tree


def _exchange(mine: list[ast.stmt], theirs: list[ast.stmt], prefix: str, grafts: Mapping[str, Graft]) -> None:
    """Put some definitions of another module or class in place of one's own; add to a class the methods it lacks.

    Args:
        mine: the statements of one's own, which are changed.
        theirs: those of the other module or class.
        prefix: of the names in a class; empty for a module.
        grafts: what is put there, by qualified name.
    """
    definitions = {name_of(node): node for node in theirs if name_of(node)}
    own_names = {name_of(node) for node in mine}
    for at, node in enumerate(mine):
        name = name_of(node)
        other = definitions.get(name, node)
        if isinstance(node, ast.ClassDef) and isinstance(other, ast.ClassDef):
            _exchange(node.body, other.body, f"{prefix}{name}.", grafts)
        elif graft := grafts.get(prefix + name):
            if graft.statements is None:
                mine[at] = other
            elif isinstance(node, FunctionNode) and isinstance(other, FunctionNode):
                _begin_alike(node, other, graft.statements)
    if prefix:
        for name, node in definitions.items():
            if isinstance(node, FunctionNode | ast.ClassDef) and name not in own_names:
                mine.append(node)


def _begin_alike(mine: FunctionNode, theirs: FunctionNode, count: int) -> None:
    """Give one function the first ``count`` statements of another, and its order of the parameters; docstrings stay."""
    first = len(mine.body) - len(statements(mine))
    mine.body[first : first + count] = statements(theirs)[:count]
    if in_other_order(mine, theirs):
        mine.args = theirs.args


def _filed(code: CodeType, solution_path: str) -> CodeType:
    """Return code in which what came from the solution says so: its file, and its own line numbers.

    A function's code, or a class's, is a constant of the code that it stands in.
    """
    constants = []
    for constant in code.co_consts:
        constants.append(_filed(constant, solution_path) if isinstance(constant, CodeType) else constant)
    code = code.replace(co_consts=tuple(constants))
    if code.co_firstlineno > FAR:
        return code.replace(co_filename=solution_path, co_firstlineno=code.co_firstlineno - FAR)
    return code
