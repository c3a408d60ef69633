"""Put the solution's code into some functions of a learner's file, so that each function can be judged alone."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from types import CodeType

from checker.course.languages.python import FunctionNode as Function

FAR = 1_000_000  # added to the line numbers of the solution, to tell its code from the learner's


def graft(learner: str, solution: str, theirs: Collection[str]) -> ast.Module:
    """Return the learner's file with the solution's code in the functions ``theirs``.

    Imports, helpers, classes and methods that only the solution has are added; whatever else the learner wrote
    stays.

    Args:
        learner: the source of the learner's file.
        solution: the source of the solution.
        theirs: qualified names of functions, such as ``GPT2MultiHeadAttention._attn``.
    """
    tree, donor = ast.parse(learner), ast.parse(solution)
    ast.increment_lineno(donor, FAR)
    tree.body = _grafted(tree.body, donor.body, "", theirs)
    return tree


def compile_grafted(tree: ast.Module, path: str, solution_path: str) -> CodeType:
    """Compile what :func:`graft` returned, for a traceback that shows the lines of each file as its own."""
    return _filed(compile(tree, path, "exec"), solution_path)


def same_code(mine: ast.AST | None, theirs: ast.AST | None) -> bool:
    """Return whether two files or functions are the same apart from comments and line numbers."""
    return mine is not None and theirs is not None and ast.dump(mine) == ast.dump(theirs)


def _grafted(mine: list[ast.stmt], theirs: list[ast.stmt], prefix: str, wanted: Collection[str]) -> list[ast.stmt]:
    """Return the statements of a module or class, with some functions of another one and everything it lacks."""
    donated = {name: node for node in theirs for name in _bound(node)}
    body, bound = [], set[str]()
    for node in mine:
        bound |= set(_bound(node))
        other = donated.get(node.name) if isinstance(node, Function | ast.ClassDef) else None
        if isinstance(node, Function) and prefix + node.name in wanted:
            node = other or node
        elif isinstance(node, ast.ClassDef) and isinstance(other, ast.ClassDef):
            node.body = _grafted(node.body, other.body, f"{prefix}{node.name}.", wanted)
        body.append(node)
    missing = [rest for node in theirs if (rest := _without(node, bound))]
    imports = [node for node in missing if isinstance(node, ast.Import | ast.ImportFrom)]
    at = 1 + max((number for number, node in enumerate(body[:2]) if _comes_first(node)), default=-1)
    return [*body[:at], *imports, *body[at:], *(node for node in missing if node not in imports)]


def _comes_first(node: ast.stmt) -> bool:
    """Return whether a statement must stay at the top: a docstring, or an import from ``__future__``."""
    docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return docstring or (isinstance(node, ast.ImportFrom) and node.module == "__future__")


def _without(node: ast.stmt, bound: Collection[str]) -> ast.stmt | None:
    """Return a statement without the names ``bound``: all of it, the rest of an import, or nothing."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        node.names = [alias for alias in node.names if (alias.asname or alias.name.partition(".")[0]) not in bound]
        return node if node.names else None
    names = set(_bound(node))
    return node if names and not names & set(bound) else None


def _bound(node: ast.stmt) -> Iterator[str]:
    """Yield the names that a statement binds."""
    if isinstance(node, Function | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.Import | ast.ImportFrom):
        for alias in node.names:
            yield alias.asname or alias.name.partition(".")[0]
    elif isinstance(node, ast.Assign | ast.AnnAssign):
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            yield from (name.id for name in ast.walk(target) if isinstance(name, ast.Name))


def _filed(code: CodeType, solution_path: str) -> CodeType:
    """Return code in which what came from the solution says so: its file, and its own line numbers."""
    inner = (_filed(each, solution_path) if isinstance(each, CodeType) else each for each in code.co_consts)
    code = code.replace(co_consts=tuple(inner))
    if code.co_firstlineno > FAR:
        return code.replace(co_filename=solution_path, co_firstlineno=code.co_firstlineno - FAR)
    return code
