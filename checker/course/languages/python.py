"""Read a file in Python by its syntax tree."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator

from checker.course.languages.language import Function, Language
from checker.course.reading import Location, Unreadable
from checker.course.source import FunctionNode, Source

#: Syntax that an older Python cannot read, as a pattern in its line, and the first Python that can.
NEWER_SYNTAX = (
    (r"^\s*type \w+ *[=\[]|^\s*(?:def|class) \w+\[", (3, 12)),
    (r"(?<!['\"\w])f(['\"]).*\{[^}]*\1", (3, 12)),
    (r"^\s*except \w[\w.]*,", (3, 14)),
    (r"(?<!['\"\w])t['\"]", (3, 14)),
)


class Python(Language):
    """Reads Python."""

    name = "Python"
    is_run = True
    suffix = ".py"
    stop_statement = "raise NotImplementedError"  # without one, a blank could not be told from a wrong answer
    claim_that_it_loads = "The file can be imported."
    look_for_loop = "Look for a loop that never ends."
    look_for_wait = "Look for sleep, a lock, or another call that waits."  # input() is refused: nobody could answer
    look_for_exit = "Look for os._exit, or an exit in C code."
    look_for_abort = "Look for os.abort, or an index outside of its table, at which MAX may crash."
    look_for_crash = "Look for ctypes, or an index outside of its table, at which MAX may crash."

    def refuse(self, source: Source, path: str) -> None:
        """Raise Unreadable if the text is not Python."""
        try:
            source.compiled(path)
            self.meaning(source)  # this nests deeper than the compiler does
        except SyntaxError as error:
            where = f"Line {error.lineno}: {error.msg}." if error.lineno else f"{error.msg}."
            words = f"{where} {_newer_than_this(error.text or '')}".strip()
            raise Unreadable(words, "not Python", location=_location_of(error), refuted="The file is Python.") from None
        except ValueError as error:  # a null byte
            raise Unreadable(f"The file is not Python: {error}.", "not Python") from None
        except (RecursionError, MemoryError):
            raise Unreadable(
                "The file nests too deeply for Python to read. Break it into shorter expressions.", "not Python"
            ) from None

    def functions(self, source: Source) -> dict[str, Function]:
        """Return every function by qualified name, outermost first."""
        functions, stop = {}, ast.dump(ast.parse(self.stop_statement).body[0])
        for name, node in source.function_nodes.items():
            functions[name] = Function(
                first=min(part.lineno for part in (node, *node.decorator_list)),
                def_line=node.lineno,
                last=node.end_lineno or node.lineno,
                size=sum(map(_may_be_of_an_answer, node.body)),
                stop_line=_stop_line_of(node, stop),
                meaning=ast.dump(node),
            )
        return functions

    def docstring(self, source: Source) -> str:
        """Return the docstring of the file, or nothing."""
        return ast.get_docstring(source.tree) or ""

    def read_crash(self, line: str) -> tuple[int, str] | None:
        """Return the line and the reason of a crash that a printed line tells of; Python prints none such."""
        return None

    def meaning(self, source: Source) -> str:
        """Return the syntax tree as a text, equal for two files that differ in comments and layout alone."""
        return ast.dump(source.tree)


def _stop_line_of(node: FunctionNode, stop: str) -> int | None:
    """Return the line of the stop statement, if there is one; behind a ``return`` it is a guard, and does not count."""
    for statement in node.body:
        if ast.dump(statement) == stop:
            return statement.lineno
        if any(isinstance(part, ast.Return) for part in _of_this_function(statement)):
            return None
    return None


def _may_be_of_an_answer(statement: ast.stmt) -> bool:
    """Return whether a statement may be part of what a blank asks for: text, ``pass`` and a look by print are not."""
    match statement:
        case ast.Pass() | ast.Expr(value=ast.Constant()) | ast.Expr(value=ast.Call(func=ast.Name(id="print"))):
            return False
        case _:
            return True


def _of_this_function(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and all nodes below it, but for those inside of an inner function."""
    yield node
    if not isinstance(node, FunctionNode | ast.Lambda):
        for child in ast.iter_child_nodes(node):
            yield from _of_this_function(child)


def _newer_than_this(code: str) -> str:
    """Return a sentence if a line seems to be written for a newer Python than the one that runs; else nothing."""
    needed_version = max((version for pattern, version in NEWER_SYNTAX if re.search(pattern, code)), default=(3, 0))
    if needed_version <= sys.version_info[:2]:
        return ""
    here, there = (".".join(map(str, version)) for version in (sys.version_info[:2], needed_version))
    return f"Python {here} runs here, and this is syntax of Python {there}."


def _location_of(error: SyntaxError) -> Location | None:
    """Return the place that a syntax error names, if it names one."""
    if not error.lineno:
        return None
    text = error.text or ""
    column = max(0, (error.offset or 1) - 1 - (len(text) - len(text.lstrip()))) if text else None
    return Location(error.lineno, text.strip(), column)


PYTHON = Python()
