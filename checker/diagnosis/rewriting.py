"""Rewrite a line that failed in the library's own way: ``x.view(2, 3)`` becomes ``x.reshape([2, 3])``.

A rule is two pieces of Python, ``x.view(*a) => x.reshape([*a])``. In them, a name of one lowercase letter stands for
any expression, ``*a`` for all remaining arguments, and ``**k`` for all remaining keywords; everything else stands for
itself. Only calls fit however they are spelled: ``F.softmax(x, axis=n)`` also fits ``x.softmax(n)``,
``torch.softmax(x, dim=n)`` and ``softmax(x, n)``. A piece that is a statement stands for a whole statement.
"""

from __future__ import annotations

import ast
import builtins
import copy
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeGuard

Bound = dict[str, Any]  # a letter -> the expression, or the expressions, that it stands for
Span = tuple[int, int, int, int]  # of a piece of source: its first and last line, its first and last column

LIBRARY = re.compile(r"(F|np|torch|nn)(\.[a-z]\w*)*")


@dataclass(frozen=True)
class Rewrite:
    """What to write instead at a line: a statement in one line, without the body if it is a loop or the like."""

    line: int
    statement: str


@cache
def parse_rule(text: str) -> tuple[ast.AST, ast.AST]:
    """Return the two pieces of a rule."""
    before, after = text.split(" => ", 1)
    return _piece(before), _piece(after)


def _piece(code: str) -> ast.AST:
    """Return the tree of a piece of Python: an expression, or a statement that is more than an expression."""
    (statement,) = ast.parse(code).body
    return statement.value if isinstance(statement, ast.Expr) else statement


def rewrite_by_first_rule(source: str, span: Span | None, rules: Iterable[str]) -> Rewrite | None:
    """Return the statement that failed as the first rule that fits rewrites it; None if no rule fits.

    Args:
        source: the file.
        span: of the expression that failed. A rule must fit that expression, or one that contains it; the rule is then
        applied to the whole statement. Without a span, it may fit anywhere in the file.
        rules: those to try. One that uses a name which neither the file nor the statement has is left out.
    """
    tree = ast.parse(source)
    names_in_file = {*_names_defined(tree), *dir(builtins)}
    statements = [node for node in ast.walk(tree) if isinstance(node, ast.stmt)]
    if span:
        statements = _innermost_statement(statements, span)
    for text in rules:
        before, after = parse_rule(text)
        for statement in statements:
            header = _header(statement)
            if _names_in(after) - names_in_file - _names_in(header):
                continue
            instead = _rewrite_statement(header, span, before, after)
            if instead is None:
                continue
            line = _in_one_line(instead)
            if line != _in_one_line(header) and _is_python(line):
                return Rewrite(header.lineno, line)
    return None


def rewrite_what_is_left(statement: str, rules: Iterable[str]) -> str:
    """Return a rewritten statement in which further rules are applied as well, wherever they fit."""
    if statement.endswith(":"):  # a head without its body is no Python
        return statement
    for text in rules:
        if rewrite := rewrite_by_first_rule(statement, None, [text]):
            statement = rewrite.statement
    return statement


def statement_at(source: str, span: Span) -> str:
    """Return the innermost statement that holds a span, in one line, without its body; or nothing."""
    statements = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.stmt)]
    innermost = _innermost_statement(statements, span)
    return _in_one_line(_header(innermost[0])) if innermost else ""


def _innermost_statement(statements: Iterable[ast.stmt], span: Span) -> list[ast.stmt]:
    """Return the innermost statement that holds a span, as a list; none if there is none."""
    holding = [node for node in statements if _holds(node, span)]
    holding.sort(key=lambda node: ((node.end_lineno or 0) - node.lineno, -node.lineno))
    return holding[:1]


def _rewrite_statement(statement: ast.stmt, span: Span | None, before: ast.AST, after: ast.AST) -> ast.stmt | None:
    """Return a statement as a rule rewrites it; None if the rule fits neither it nor a part that holds ``span``."""
    if isinstance(after, ast.stmt) and isinstance(before, ast.expr):  # the statement is that expression
        bound = match_pattern(before, statement.value) if isinstance(statement, ast.Expr) else None
        return None if bound is None else _fill_in(after, bound)
    parts = [node for node in ast.walk(statement) if isinstance(node, ast.expr) and (not span or _holds(node, span))]
    fits = [node for node in [*parts, statement] if match_pattern(before, node) is not None]
    everywhere = isinstance(before, ast.Call | ast.Attribute)
    return _rewrite_parts(statement, before, after, None if everywhere else fits[-1]) if fits else None


def match_pattern(pattern: Any, node: Any) -> Bound | None:
    """Return what the letters of a pattern stand for if it fits a node, else None."""
    bound: Bound = {}
    return bound if _fits(pattern, node, bound) else None


def _fits(pattern: Any, node: Any, bound: Bound) -> bool:
    """Return whether a pattern fits a node with the letters in ``bound``, to which new letters are added."""
    if _is_letter(pattern):
        return _letter_fits(pattern, node, bound)
    if isinstance(pattern, list) and isinstance(node, list):
        return _all_fit(pattern, node, bound)
    if type(pattern) is not type(node) or not isinstance(pattern, ast.AST):
        return bool(pattern == node)
    if isinstance(pattern, ast.Call):
        return _call_fits(pattern, node, bound)
    fields = [name for name, _ in ast.iter_fields(pattern) if name not in ("ctx", "type_comment", "kind")]
    return all(_fits(getattr(pattern, name), getattr(node, name), bound) for name in fields)


def _letter_fits(letter: ast.Name, node: Any, bound: Bound) -> bool:
    """Return whether a letter can stand for an expression: a new letter, or one that stands for an equal expression."""
    if not isinstance(node, ast.expr) or isinstance(node, ast.Starred | ast.Slice):
        return False
    if isinstance(node, ast.Name) and node.id == "self":
        return False  # it is no array: self.softmax(x) does not mean softmax(self)
    if isinstance(letter.ctx, ast.Store) and not isinstance(node, ast.Name):
        return False  # x += y rebinds x, which x[0] += y cannot
    if letter.id not in bound:
        bound[letter.id] = node
    return ast.dump(bound[letter.id]) == ast.dump(node)


def _call_fits(pattern: ast.Call, node: ast.Call, bound: Bound) -> bool:
    """Return whether a call fits, however it is spelled; its last argument may stand for a keyword."""
    any_function = _is_letter(pattern.func)
    function, arguments, keywords = _parts_of_call(pattern, any_function)
    its_function, its_arguments, its_keywords = _parts_of_call(node, any_function)
    rest = keywords.pop(None, None)  # **k
    missing_keywords = keywords.keys() - its_keywords.keys()
    if not any_function and len(missing_keywords) == 1 and len(its_arguments) == len(arguments) + 1:
        its_keywords[missing_keywords.pop()] = its_arguments.pop()
    keyword_values = [its_keywords.pop(name, None) for name in keywords]
    if isinstance(rest, ast.Name):
        bound[rest.id] = [ast.keyword(name, value) for name, value in its_keywords.items()]
    if its_keywords and rest is None:
        return False
    return (
        _fits(function, its_function, bound)
        and _fits(arguments, its_arguments, bound)
        and _fits([*keywords.values()], keyword_values, bound)
    )


def _parts_of_call(call: ast.Call, as_it_is: bool) -> tuple[ast.expr | str, list[ast.expr], dict[str | None, ast.expr]]:
    """Return the function, arguments and keywords of a call as it is, or as ``F.name(x, …, axis=…)`` has them."""
    keywords, function = {keyword.arg: keyword.value for keyword in call.keywords}, call.func
    if as_it_is or not isinstance(function, ast.Name | ast.Attribute):
        return function, [*call.args], keywords
    owner = function.value if isinstance(function, ast.Attribute) else ast.Name("F")
    name = function.attr if isinstance(function, ast.Attribute) else function.id
    dotted = ast.unparse(owner)
    if not name[0].isupper():  # a class has arguments of its own
        keywords = {"axis" if key in ("dim", "dims") else key: value for key, value in keywords.items()}
        keywords.pop("keepdim", None)
    if LIBRARY.fullmatch(dotted):
        return name, [*call.args], keywords
    if isinstance(owner, ast.Name) and owner.id[0].isupper():
        return f"{dotted}.{name}", [*call.args], keywords
    return name, [owner, *call.args], keywords


def _all_fit(patterns: Sequence[Any], nodes: Sequence[Any], bound: Bound) -> bool:
    """Return whether all patterns fit the nodes in order; a last ``*a`` fits all nodes that are left."""
    if patterns and isinstance(patterns[-1], ast.Starred) and _is_letter(patterns[-1].value):
        bound[patterns[-1].value.id] = list(nodes[len(patterns) - 1 :])
        patterns = patterns[:-1]
        nodes = nodes[: len(patterns)]
    if len(patterns) != len(nodes):
        return False
    return all(_fits(pattern, node, bound) for pattern, node in zip(patterns, nodes, strict=True))


def _rewrite_parts(node: Any, before: ast.AST, after: ast.AST, only: ast.AST | None) -> Any:
    """Return a copy of a node in which all parts that a rule fits are rewritten, or ``only`` one, from within."""
    if isinstance(node, list):
        return [_rewrite_parts(item, before, after, only) for item in node]
    if not isinstance(node, ast.AST):
        return node
    new_node = type(node)(**{name: _rewrite_parts(value, before, after, only) for name, value in ast.iter_fields(node)})
    if only is not None and node is not only:
        return new_node
    bound = match_pattern(before, new_node)
    return new_node if bound is None else _fill_in(after, bound)


def _fill_in(piece: Any, bound: Bound) -> Any:
    """Return a copy of a piece with the expressions in place of its letters."""
    if _is_letter(piece):
        return bound.get(piece.id, piece)
    if isinstance(piece, list):
        items: list[Any] = []
        for item in piece:
            is_several = isinstance(item, ast.Starred | ast.keyword) and _is_letter(item.value)
            several = bound.get(item.value.id) if is_several else None  # what *a or **k stands for
            items += several if isinstance(several, list) else [_fill_in(item, bound)]
        return items
    if isinstance(piece, ast.AST):
        return type(piece)(**{name: _fill_in(value, bound) for name, value in ast.iter_fields(piece)})
    return piece


def _is_letter(node: object) -> TypeGuard[ast.Name]:
    """Return whether a node is a letter, which stands for any expression."""
    return isinstance(node, ast.Name) and len(node.id) == 1 and node.id.islower()


def _names_in(tree: ast.AST) -> set[str]:
    """Return the names in a piece of source, except for letters."""
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and not _is_letter(node)}


def _names_defined(tree: ast.Module) -> Iterator[str]:
    """Yield the names that a file imports and defines."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from ((alias.asname or alias.name).partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name


def _holds(node: ast.stmt | ast.expr, span: Span) -> bool:
    """Return whether a span lies in a piece of source."""
    first, last = (node.lineno, node.col_offset), (node.end_lineno or 0, node.end_col_offset or 0)
    line, end_line, column, end_column = span
    return first <= (line, column) and (end_line, end_column) <= last


def _header(statement: ast.stmt) -> ast.stmt:
    """Return a statement without those inside it."""
    header = copy.copy(statement)
    for name in ("body", "orelse", "finalbody", "handlers"):
        if isinstance(getattr(header, name, None), list):
            setattr(header, name, [ast.Pass()] if name == "body" else [])
    return header


def _is_python(line: str) -> bool:
    """Return whether a statement can be compiled: a call, say, cannot be assigned to."""
    try:
        ast.parse(f"{line} pass" if line.endswith(":") else line)
    except SyntaxError:
        return False
    return True


def _in_one_line(statement: ast.stmt) -> str:
    """Return a statement as people write it: a short ``if`` in one line, several values without parentheses."""
    text = ast.unparse(ast.fix_missing_locations(statement)).removesuffix("\n    pass")
    if isinstance(statement, ast.If) and text.count("\n") == 1:
        text = text.replace("\n    ", " ")
    if isinstance(statement, ast.Assign | ast.Return) and isinstance(statement.value, ast.Tuple):
        several = ast.unparse(statement.value)
        text = text.removesuffix(several) + several.removeprefix("(").removesuffix(")")
    return text if '"' in text else text.replace("'", '"')
