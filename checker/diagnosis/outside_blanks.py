"""Changes outside the blanks: how a learner's constants, fields and helpers differ from those that the step gives."""

from __future__ import annotations

import ast
import copy
from dataclasses import dataclass

from checker.course.blanks import find_blanks
from checker.course.reading import Location
from checker.course.source import FunctionNode, Source
from checker.diagnosis.frames import code_in

LONGEST = 40  # characters of a value that a sentence repeats

Definitions = dict[str, ast.stmt]  # a qualified name -> the statement that gives it a meaning
Lines = tuple[list[str], list[str]]  # the lines of the learner's file, and those of the solution

NOT_IMPORTED = "The file does not import it: write `{}` at the top."
ABOVE = "Above the blank, a line is not as the step gives it."


@dataclass(frozen=True)
class Change:
    """A given definition that a learner's file has otherwise.

    Attributes:
        name: its qualified name, such as ``IGNORE_INDEX``.
        sentence: how it differs.
        line: the first line of the file that differs.
        instead: the given code of that line; empty if it is not one line.
        statements: how many statements are given in a function with a blank, behind its docstring; else None.
    """

    name: str
    sentence: str
    line: int
    instead: str
    statements: int | None = None

    def location(self, path: str) -> Location:
        """Return the place in the file ``path``, with the line that is given."""
        return Location(self.line, code_in(path, self.line), instead=self.instead, instead_line=self.line)


def changes_outside_blanks(learner: Source, solution: Source) -> list[Change]:
    """Return how the learner's constants, fields and helpers differ from the solution's of the same names.

    In a function with a blank, the order of the parameters and the statements before the blank are compared.
    """
    mine, theirs = _definitions(learner.tree), _definitions(solution.tree)
    blanks = {blank.function: blank.first for blank in find_blanks(solution)}
    lines = learner.lines, solution.lines
    changes: list[Change | None] = []
    for name, node in mine.items():
        other = theirs.get(name, node)
        if name not in blanks:
            changes.append(_changed_definition(name, node, other, lines) if _differ(node, other) else None)
        elif isinstance(node, FunctionNode) and isinstance(other, FunctionNode):
            changes.append(_changed_beginning(name, node, other, blanks[name], lines))
    return [change for change in changes if change]


def functions_in_other_order(learner: Source, solution: Source) -> set[str]:
    """Return the functions that have the solution's parameters in another order, by qualified names."""
    mine, theirs = learner.function_nodes, solution.function_nodes
    return {name for name in mine.keys() & theirs.keys() if has_other_order(mine[name], theirs[name])}


def has_other_order(mine: FunctionNode, theirs: FunctionNode) -> bool:
    """Return whether two functions have the same parameters, but in two orders."""
    own_names, given_names = _parameters(mine), _parameters(theirs)
    return own_names != given_names and sorted(own_names) == sorted(given_names)


def changed_lines(learner: Source, solution: Source) -> set[tuple[str, str]]:
    """Return the given definitions that were changed: the name of each, and its first line that differs."""
    changes = changes_outside_blanks(learner, solution)
    return {(change.name, learner.lines[change.line - 1].strip()) for change in changes}


def statements_of(node: ast.stmt) -> list[ast.stmt]:
    """Return the statements inside of another one, without a docstring, which may be changed, deleted or added."""
    body: list[ast.stmt] = getattr(node, "body", [])
    has_docstring = isinstance(node, FunctionNode | ast.ClassDef) and ast.get_docstring(node, clean=False) is not None
    return body[1:] if has_docstring else body


def name_of(node: ast.stmt) -> str:
    """Return the name that a statement defines, of a constant, field, function or class; or nothing."""
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return name
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return name
    return ""


def imports_of(source: Source) -> dict[str, str]:
    """Return the statement that imports each imported name of a file, and that name alone."""
    import_of = {}
    for node in source.tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                alone = ast.ImportFrom(node.module, [alias], node.level) if isinstance(node, ast.ImportFrom) else node
                import_of[(alias.asname or alias.name).partition(".")[0]] = ast.unparse(alone)
    return import_of


def _definitions(tree: ast.Module | ast.ClassDef, prefix: str = "") -> Definitions:
    """Return what a module or a class defines, methods and fields too, by qualified name."""
    definitions: Definitions = {}
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            definitions |= _definitions(node, f"{prefix}{node.name}.")
        elif name := name_of(node):
            definitions[prefix + name] = node
    return definitions


def _differ(mine: ast.stmt, theirs: ast.stmt) -> bool:
    """Return whether two statements differ in more than docstrings."""
    return ast.dump(mine) != ast.dump(theirs) and _meaning(mine) != _meaning(theirs)


def _meaning(node: ast.stmt) -> str:
    """Return a text of a statement without docstrings, equal for equal code."""
    bare = copy.deepcopy(node)
    for part in ast.walk(bare):
        if isinstance(part, FunctionNode | ast.ClassDef):
            part.body = statements_of(part)
    return ast.dump(bare)


def _changed_definition(name: str, mine: ast.stmt, theirs: ast.stmt, lines: Lines) -> Change:
    """Return how two definitions differ."""
    values = [ast.unparse(value) for node in (mine, theirs) if (value := getattr(node, "value", None))]
    if len(values) == 2 and max(map(len, values)) <= LONGEST:
        sentence = f"Outside the blanks, {name} is {values[0]}; the step gives {values[1]}."
    else:
        sentence = f"Outside the blanks, {name} is not as the step gives it."
    line, instead = _line_and_given_code(*_innermost_difference(mine, theirs), lines)
    return Change(name, sentence, line, instead)


def _changed_beginning(name: str, mine: FunctionNode, theirs: FunctionNode, blank: int, lines: Lines) -> Change | None:
    """Return how two functions differ before a blank; ``blank`` is the line at which it begins in the solution."""
    count = sum((node.end_lineno or 0) < blank for node in statements_of(theirs))
    if has_other_order(mine, theirs):
        order, given_order = ", ".join(_parameters(mine)), ", ".join(_parameters(theirs))
        sentence = (
            f"The parameters are ({order}); the step gives them as ({given_order}), and callers rely on that order."
        )
        line, instead = _line_and_given_code(mine, theirs, lines)
        return Change(name, sentence, line, instead, count)
    for node, other in zip(statements_of(mine)[:count], statements_of(theirs)[:count], strict=False):
        if _differ(node, other):
            line, instead = _line_and_given_code(*_innermost_difference(node, other), lines)
            return Change(name, ABOVE, line, instead, count)
    return None


def _line_and_given_code(mine: ast.stmt, theirs: ast.stmt, lines: Lines) -> tuple[int, str]:
    """Return the first line at which two statements differ, apart from the statements in them, and the given code.

    If only the given statement has others in it, its head alone would not do: the code is the whole statement, if that
    fits on a line, or else empty.
    """
    own_lines, given_lines = lines
    own_code, given_code = _code_of(mine, own_lines), _code_of(theirs, given_lines)
    if hasattr(theirs, "body") and not hasattr(mine, "body"):
        is_short = theirs.end_lineno == theirs.lineno + 1
        given_code = [f"{given_code[0]} {given_lines[theirs.lineno].strip()}" if is_short else ""]
    for at, (own_line, given_line) in enumerate(zip(own_code, given_code, strict=False)):
        if own_line != given_line:
            return mine.lineno + at, given_line
    return mine.lineno, ""


def _code_of(node: ast.stmt, lines: list[str]) -> list[str]:
    """Return the lines of a statement without comments; if it has others in it, the lines of its head."""
    body = getattr(node, "body", None)
    last: int = max(body[0].lineno - 1, node.lineno) if body else node.end_lineno or node.lineno
    return [line.partition("  # ")[0].strip() for line in lines[node.lineno - 1 : last]]


def _parameters(node: FunctionNode) -> list[str]:
    return [parameter.arg for parameter in node.args.args]


def _innermost_difference(mine: ast.stmt, theirs: ast.stmt) -> tuple[ast.stmt, ast.stmt]:
    """Return the first pair of statements inside of two that differs, or the two if they are not built alike."""
    inside, inside_theirs = statements_of(mine), statements_of(theirs)
    if type(mine) is type(theirs) and len(inside) == len(inside_theirs):
        for pair in zip(inside, inside_theirs, strict=True):
            if _differ(*pair):
                return _innermost_difference(*pair)
    return mine, theirs
