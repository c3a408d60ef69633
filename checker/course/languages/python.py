"""Python, in which all steps but one are written."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from itertools import takewhile

from checker.course.languages import Function, Location, Unreadable

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


def functions(tree: ast.Module) -> dict[str, FunctionNode]:
    """Return every function of a module by qualified name, outermost first."""
    nodes: dict[str, FunctionNode] = {}

    def visit(node: ast.AST, prefix: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, FunctionNode | ast.ClassDef):
                if isinstance(child, FunctionNode):
                    nodes[prefix + child.name] = child
                visit(child, f"{prefix}{child.name}.")

    visit(tree, "")
    return nodes


def calls(tree: ast.Module) -> dict[str, set[str]]:
    """Return which functions of a module each of them may call, itself or through others, by qualified name.

    Names decide: who mentions a class may call all of its methods, and a method needs the object that was made first.
    """
    nodes = functions(tree)
    called = {name: _mentioned(name, node, nodes) for name, node in nodes.items()}
    for through in nodes:
        for name in nodes:
            if through in called[name]:
                called[name] |= called[through]
    return called


def _mentioned(caller: str, node: FunctionNode, nodes: Iterable[str]) -> set[str]:
    """Return the functions among ``nodes`` that one function calls itself."""
    own_class = caller.rpartition(".")[0]
    names = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
    attributes = {each.attr for each in ast.walk(node) if isinstance(each, ast.Attribute)}
    mentioned = set()
    for name in nodes:
        owner, _, last = name.rpartition(".")
        makes = owner == own_class and last in ("__init__", "__post_init__")
        if (owner in names or last in attributes or makes) if owner else last in names:
            mentioned.add(name)
    return mentioned - {caller}


class Python:
    """Reads Python.

    Attributes:
        name: as it is written.
        suffix: of its files.
        stop: the statement that marks a blank.
        loads: the claim that the file can be loaded, which a verdict refutes where it cannot.
        look_for: what to look for in a file that hangs, and in one that ends its process.
    """

    name = "Python"
    suffix = ".py"
    stop = "raise NotImplementedError"
    loads = "The file can be imported."
    look_for = ("Look for a loop that never ends.", "Look for os._exit, a kill, or a crash.")

    def refuse(self, source: str, path: str) -> None:
        """Raise Unreadable if the text is not Python."""
        try:
            ast.parse(source, path)
        except SyntaxError as error:
            where = f"Line {error.lineno}: {error.msg}." if error.lineno else f"{error.msg}."
            raise Unreadable(where, "not Python", location=_location_of(error), refuted="The file is Python.") from None
        except ValueError as error:  # a null byte
            raise Unreadable(f"The file is not Python: {error}.", "not Python") from None
        except (RecursionError, MemoryError):
            raise Unreadable(
                "The file nests too deeply for Python to read. Break it into shorter expressions.", "not Python"
            ) from None

    def functions(self, source: str) -> dict[str, Function]:
        """Return every function by qualified name, outermost first; one stops if it raises NotImplementedError."""
        read = {}
        for name, node in functions(ast.parse(source)).items():
            first = min(each.lineno for each in (node, *node.decorator_list))
            reached = takewhile(lambda statement: not isinstance(statement, ast.Return), node.body)
            raised = (statement for statement in reached if isinstance(statement, ast.Raise))
            stop = next((each.lineno for each in raised if "NotImplementedError" in ast.dump(each)), None)
            last = node.end_lineno or node.lineno
            read[name] = Function(first, node.lineno, last, len(node.body), stop, ast.dump(node))
        return read

    def docstring(self, source: str) -> str:
        """Return what the file says of itself."""
        return ast.get_docstring(ast.parse(source)) or ""

    def crash(self, printed: str) -> tuple[int, str] | None:
        """Return the line of the file and the reason, if a printed line tells why the process is about to end.

        None does in Python: an exception is told otherwise.
        """
        return None

    def meaning(self, source: str) -> str:
        """Return a text that is equal for two files that differ in comments and layout alone: the syntax tree."""
        return ast.dump(ast.parse(source))


def _location_of(error: SyntaxError) -> Location | None:
    if not error.lineno:
        return None
    text = error.text or ""
    indent = len(text) - len(text.lstrip())
    column = max(0, (error.offset or 1) - 1 - indent) if text else None
    return Location(error.lineno, text.strip(), column)


PYTHON = Python()
