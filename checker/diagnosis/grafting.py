"""Graft the solution's code into a learner's file, so that a traceback still shows the lines of each file.

A trick, ``line numbers``: the solution's are shifted by a million (:data:`FAR`), and back once all is compiled.
"""

from __future__ import annotations
import __future__

import ast
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from types import CodeType
from typing import Protocol

from checker.course.source import FunctionNode, Source
from checker.diagnosis.outside_blanks import has_other_order, name_of, statements_of
from checker.outcomes import Outcomes

FAR = 1_000_000  # added to the line numbers of the solution, to tell its code from the learner's


class Trials(Protocol):
    """Runs claims on code that was put together: in a check, ``checker.child.stage_runner.ClaimTrials``."""

    def run(
        self, codes: Mapping[str, CodeType], claims: Mapping[str, Collection[str]], *, notes_inputs: bool = False
    ) -> Mapping[str, Outcomes]:
        """Run claims on the module of each code; return the outcomes, by the same names.

        If it ``notes_inputs``, the outcomes have the inputs of the functions.
        """


@dataclass(frozen=True)
class Graft:
    """A definition of the solution's to put into a learner's file.

    Attributes:
        name: its qualified name, such as ``GPT2MultiHeadAttention._attn`` or ``IGNORE_INDEX``.
        statements: how many statements of a function are put there, from its docstring on, with the order of its
            parameters; None is the whole definition.
    """

    name: str
    statements: int | None = None


def graft(learner: Source, solution: Source, grafts: Iterable[Graft]) -> ast.Module:
    """Return the learner's file with some definitions of the solution's in place of its own.

    Methods that only the solution has are added; the rest of the learner's file stays.
    """
    by_name = dict[str, Graft]()
    for new in grafts:
        if new.statements is None or new.name not in by_name:  # the whole of a function has its beginning in it
            by_name[new.name] = new
    tree = learner.new_tree()
    _exchange(tree.body, _tree_with_far_lines(solution).body, "", by_name)
    return tree


def compile_grafted(tree: ast.Module, solution: Source, path: str, solution_path: str) -> CodeType:
    """Compile what :func:`graft` returned, for a traceback that shows the lines of each file as its own.

    The solution runs first, in the same module, so that names which the learner's file lacks are there: imports, say.
    """
    both = [*_tree_with_far_lines(solution).body, *tree.body]
    # What is imported from __future__ has to come first. The solutions import one thing, which is said here instead.
    body = [node for node in both if not (isinstance(node, ast.ImportFrom) and node.module == "__future__")]
    flags = __future__.annotations.compiler_flag
    return _with_own_files(compile(ast.Module(body, []), path, "exec", flags, dont_inherit=True), solution_path)


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
        """Return the code of the file with some definitions of the solution's in place of its own."""
        tree = graft(self.source, self.solution, grafts)
        return compile_grafted(tree, self.solution, self.path, self.solution_path)


def _tree_with_far_lines(solution: Source) -> ast.Module:
    """Return the tree of a solution with shifted line numbers, which tell its code from the learner's."""
    tree = solution.new_tree()
    ast.increment_lineno(tree, FAR)
    return tree


def _exchange(mine: list[ast.stmt], theirs: list[ast.stmt], prefix: str, grafts: Mapping[str, Graft]) -> None:
    """Put some definitions of another module or class in place of one's own; add to a class the methods it lacks.

    Args:
        mine: one's own statements, which are changed.
        theirs: the statements of the other module or class.
        prefix: begins the qualified names in a class; empty for a module.
        grafts: the definitions to put there, by qualified name.
    """
    definitions = {name_of(node): node for node in theirs if name_of(node)}
    own_names = {name_of(node) for node in mine}
    for at, node in enumerate(mine):
        name = name_of(node)
        other = definitions.get(name, node)
        if isinstance(node, ast.ClassDef) and isinstance(other, ast.ClassDef):
            _exchange(node.body, other.body, f"{prefix}{name}.", grafts)
        elif wanted := grafts.get(prefix + name):
            if wanted.statements is None:
                mine[at] = other
            elif isinstance(node, FunctionNode) and isinstance(other, FunctionNode):
                _begin_alike(node, other, wanted.statements)
    if prefix:
        for name, node in definitions.items():
            if isinstance(node, FunctionNode | ast.ClassDef) and name not in own_names:
                mine.append(node)


def _begin_alike(mine: FunctionNode, theirs: FunctionNode, count: int) -> None:
    """Give one function the first ``count`` statements and the parameters' order of another; docstrings stay."""
    first = len(mine.body) - len(statements_of(mine))
    mine.body[first : first + count] = statements_of(theirs)[:count]
    if has_other_order(mine, theirs):
        mine.args = theirs.args


def _with_own_files(code: CodeType, solution_path: str) -> CodeType:
    """Return code in which the solution's functions and classes have the solution's file and line numbers.

    The code of a function or class is a constant of the code around it.
    """
    constants = []
    for constant in code.co_consts:
        constants.append(_with_own_files(constant, solution_path) if isinstance(constant, CodeType) else constant)
    code = code.replace(co_consts=tuple(constants))
    if code.co_firstlineno > FAR:
        return code.replace(co_filename=solution_path, co_firstlineno=code.co_firstlineno - FAR)
    return code
