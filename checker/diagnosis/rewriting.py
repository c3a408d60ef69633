"""Rewrite a line that failed as the library wants it: ``x.view(2, 3)`` becomes ``x.reshape([2, 3])``.

A rule is two pieces of Python, ``x.view(*a) => x.reshape([*a])``. In them, a name of one lowercase letter stands for
any expression, ``*a`` for all remaining arguments, and ``**k`` for all remaining keywords; everything else stands for
itself. If a piece is a statement, it stands for a whole one.
"""

from __future__ import annotations

import ast
import builtins
import copy
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeGuard

Bound = dict[str, Any]  # a letter -> the expression that it stands for, or several
Place = tuple[int, int, int, int]  # of a piece of source: its first and last line, its first and last column


@dataclass(frozen=True)
class Rule:
    """A rewrite: ``before`` with any expressions for its letters becomes ``after`` with the same."""

    before: ast.AST
    after: ast.AST
    anywhere: bool = False  # in the file, not only where it failed

    @property
    def names(self) -> set[str]:
        """The names that the second piece brings along."""
        names = {node.id for node in ast.walk(self.after) if isinstance(node, ast.Name) and not _is_letter(node)}
        return names - {node.id for node in ast.walk(self.before) if isinstance(node, ast.Name)}


@cache
def rule(text: str) -> Rule:
    """Return the rule that ``before => after`` stands for; ``~before => after`` may fit anywhere in a file."""
    before, _, after = text.removeprefix("~").partition(" => ")
    return Rule(_piece(before), _piece(after), text.startswith("~"))


def _piece(text: str) -> ast.AST:
    (statement,) = ast.parse(text).body
    return statement.value if isinstance(statement, ast.Expr) else statement


def rewritten(source: str, place: Place | None, rules: Iterable[str]) -> tuple[int, str]:
    """Return the statement that failed as the first rule that fits rewrites it.

    Args:
        source: the file.
        place: of the expression that failed, if it is known. A rule must fit that expression, or one that contains it;
        the rule is then applied to the whole statement.
        rules: see :func:`rule`. One that uses a name which the file does not have is left out.

    Returns:
        The line of a statement, and the statement in one line, without the body if it is a loop or the like;
        0 and nothing if no rule fits.
    """
    tree = ast.parse(source)
    known = {*_bound(tree), *dir(builtins)}
    statements = [node for node in ast.walk(tree) if isinstance(node, ast.stmt)]
    failed = [node for node in statements if place and _holds(node, place)]
    innermost = sorted(failed, key=lambda node: ((node.end_lineno or 0) - node.lineno, -node.lineno))[:1]
    for made in (made for made in map(rule, rules) if made.names <= known):
        for statement in statements if made.anywhere else innermost:
            if instead := _rewritten(_header(statement), None if made.anywhere else place, made):
                return statement.lineno, instead
    return 0, ""


def _rewritten(statement: ast.stmt, place: Place | None, made: Rule) -> str:
    """Return a statement as a rule rewrites it, if the rule fits it or a part of it that holds ``place``."""
    if isinstance(made.after, ast.stmt) and isinstance(made.before, ast.expr):  # the statement is that expression
        bound = match(made.before, statement.value) if isinstance(statement, ast.Expr) else None
        return _unparsed(_Filling(bound).visit(copy.deepcopy(made.after))) if bound is not None else ""
    parts = [node for node in ast.walk(statement) if isinstance(node, ast.expr) and (not place or _holds(node, place))]
    fits = [node for node in [*parts, statement] if match(made.before, node) is not None]
    if not fits:
        return ""
    everywhere = isinstance(made.before, ast.Call | ast.Attribute)
    return _unparsed(_Rewriting(made, None if everywhere else fits[-1]).visit(statement))


def match(pattern: Any, node: Any, bound: Bound | None = None) -> Bound | None:
    """Return what the letters of ``pattern`` stand for if it fits ``node``, else None."""
    bound = {} if bound is None else bound
    if _is_letter(pattern):
        if not isinstance(node, ast.expr) or isinstance(node, ast.Starred | ast.Slice):
            return None
        if isinstance(pattern.ctx, ast.Store) and not isinstance(node, ast.Name):
            return None  # x += y rebinds x, which x[0] += y cannot
        known = bound.setdefault(pattern.id, node)
        return bound if ast.dump(known) == ast.dump(node) else None
    if isinstance(pattern, ast.Call) and isinstance(node, ast.Call):
        fits = match(pattern.func, node.func, bound) is not None and _match_all(pattern.args, node.args, bound)
        return bound if fits and _match_keywords(pattern.keywords, node.keywords, bound) else None
    if isinstance(pattern, list) and isinstance(node, list):
        return bound if _match_all(pattern, node, bound) else None
    if isinstance(pattern, ast.AST):
        if type(pattern) is not type(node):
            return None
        for name, value in ast.iter_fields(pattern):
            if name not in ("ctx", "type_comment", "kind") and match(value, getattr(node, name), bound) is None:
                return None
        return bound
    return bound if pattern == node else None


def _match_all(patterns: Sequence[Any], nodes: Sequence[ast.AST], bound: Bound) -> bool:
    if patterns and isinstance(patterns[-1], ast.Starred) and _is_letter(patterns[-1].value):
        bound[patterns[-1].value.id] = list(nodes[len(patterns) - 1 :])
        patterns = patterns[:-1]
        nodes = nodes[: len(patterns)]
    return len(patterns) == len(nodes) and all(
        match(pattern, node, bound) is not None for pattern, node in zip(patterns, nodes, strict=True)
    )


def _match_keywords(patterns: Sequence[ast.keyword], nodes: Sequence[ast.keyword], bound: Bound) -> bool:
    left = {node.arg: node for node in nodes}
    for pattern in patterns:
        if pattern.arg is None:
            assert isinstance(pattern.value, ast.Name)
            bound[pattern.value.id], left = list(left.values()), {}
        elif pattern.arg not in left or match(pattern.value, left.pop(pattern.arg).value, bound) is None:
            return False
    return not left


def _is_letter(node: object) -> TypeGuard[ast.Name]:
    return isinstance(node, ast.Name) and len(node.id) == 1 and node.id.islower()


class _Rewriting(ast.NodeTransformer):
    """Rewrites every part of a statement that a rule fits, the innermost first, or ``only`` one."""

    def __init__(self, made: Rule, only: ast.AST | None) -> None:
        self.rule, self.only = made, only

    def visit(self, node: ast.AST) -> Any:
        found = node if self.only in (None, node) else None
        node = super().generic_visit(node)
        bound = match(self.rule.before, node) if found else None
        return node if bound is None else _Filling(bound).visit(copy.deepcopy(self.rule.after))


class _Filling(ast.NodeTransformer):
    """Puts in what the letters of a piece stand for."""

    def __init__(self, bound: Mapping[str, Any]) -> None:
        self.bound = bound

    def visit_Name(self, node: ast.Name) -> Any:
        return self.bound.get(node.id, node) if _is_letter(node) else node

    def visit_Starred(self, node: ast.Starred) -> Any:
        several = self._several(node.value)
        return self.generic_visit(node) if several is None else several

    def visit_keyword(self, node: ast.keyword) -> Any:
        several = self._several(node.value) if node.arg is None else None
        return self.generic_visit(node) if several is None else several

    def _several(self, node: ast.expr) -> list[Any] | None:
        """Return what a letter stands for if that is any number of arguments."""
        found = self.bound.get(node.id) if _is_letter(node) else None
        return found if isinstance(found, list) else None


def _bound(tree: ast.Module) -> Iterator[str]:
    """Yield the names that a file has: those it imports and those it defines."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from ((alias.asname or alias.name).partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name


def _holds(node: ast.stmt | ast.expr, place: Place) -> bool:
    first, last = (node.lineno, node.col_offset), (node.end_lineno or 0, node.end_col_offset or 0)
    line, end_line, column, end_column = place
    return first <= (line, column) and (end_line, end_column) <= last


def _header(statement: ast.stmt) -> ast.stmt:
    """Return a statement without those inside it."""
    header = copy.deepcopy(statement)
    for name in ("body", "orelse", "finalbody", "handlers"):
        if isinstance(getattr(header, name, None), list):
            setattr(header, name, [ast.Pass()] if name == "body" else [])
    return header


def _unparsed(statement: ast.stmt) -> str:
    text = ast.unparse(ast.fix_missing_locations(statement)).removesuffix("\n    pass")
    if isinstance(statement, ast.If) and text.count("\n") == 1:
        text = text.replace("\n    ", " ")
    return text if '"' in text else text.replace("'", '"')
