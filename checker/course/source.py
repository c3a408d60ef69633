"""The text of a file, with its lines, syntax tree, functions and code, none of which needs to run it."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from types import CodeType

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Source:
    """The text of a file, with plain line ends. A file in Mojo has only lines.

    A property is worked out once, and shared by all who ask: nobody may change its value.
    """

    text: str

    @cached_property
    def lines(self) -> list[str]:
        """The lines as Python counts them: a form feed, say, at which ``str.splitlines`` cuts, ends no line."""
        return self.text.split("\n")

    @cached_property
    def tree(self) -> ast.Module:
        """The syntax tree."""
        return self.new_tree()

    @cached_property
    def function_nodes(self) -> dict[str, FunctionNode]:
        """Every function by qualified name, outermost first."""
        return function_nodes(self.tree)

    def new_tree(self) -> ast.Module:
        """Return a syntax tree that may be changed, without Python's warnings, which come when the file runs."""
        with warnings.catch_warnings(action="ignore"):
            return ast.parse(self.text)

    def compiled(self, path: str) -> CodeType:
        """Return the code as Python compiles the file alone, without the caller's imports from ``__future__``."""
        with warnings.catch_warnings(action="ignore"):
            return compile(self.text, path, "exec", dont_inherit=True)

    def imports(self) -> Iterator[tuple[str, int]]:
        """Yield every module that is imported, and every name from a module, dotted, with the line of the import."""
        for node in ast.walk(self.tree):
            match node:
                case ast.Import():
                    yield from ((alias.name, node.lineno) for alias in node.names)
                case ast.ImportFrom(module=str(module)):
                    yield module, node.lineno
                    yield from ((f"{module}.{alias.name}", node.lineno) for alias in node.names)


def function_nodes(tree: ast.Module) -> dict[str, FunctionNode]:
    """Return every function of a module by qualified name, outermost first, also those under an ``if``, say."""
    nodes: dict[str, FunctionNode] = {}
    _add_functions(nodes, tree, "")
    return nodes


def _add_functions(nodes: dict[str, FunctionNode], node: ast.AST, prefix: str) -> None:
    """Add the functions inside of ``node`` to ``nodes``, under names that begin with ``prefix``."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, FunctionNode):
            nodes[prefix + child.name] = child
        if isinstance(child, FunctionNode | ast.ClassDef):
            _add_functions(nodes, child, f"{prefix}{child.name}.")
        elif isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):
            _add_functions(nodes, child, prefix)
