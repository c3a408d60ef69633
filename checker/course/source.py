"""The text of a file, and what Python makes of it before it runs: its lines, syntax tree, functions and code."""

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
    """The text of a file, with plain line ends. Of one in Mojo, only the lines can be asked for.

    What a property returns is worked out once, and shared by all who ask: nobody changes it.
    """

    text: str

    @cached_property
    def lines(self) -> list[str]:
        """The lines that Python counts: a form feed, say, at which ``str.splitlines`` also cuts, ends none."""
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
        """Return a syntax tree that may be changed; what Python warns of, it says where the file runs."""
        with warnings.catch_warnings(action="ignore"):
            return ast.parse(self.text)

    def compiled(self, path: str) -> CodeType:
        """Return the code as Python alone compiles it: under none of the ``__future__`` of who calls this."""
        with warnings.catch_warnings(action="ignore"):
            return compile(self.text, path, "exec", dont_inherit=True)

    def imports(self) -> Iterator[tuple[str, int]]:
        """Yield every module that is imported, and what is imported from it, by its dotted name, and the line."""
        for node in ast.walk(self.tree):
            match node:
                case ast.Import():
                    yield from ((alias.name, node.lineno) for alias in node.names)
                case ast.ImportFrom(module=str(module)):
                    yield module, node.lineno
                    yield from ((f"{module}.{alias.name}", node.lineno) for alias in node.names)


def function_nodes(tree: ast.Module) -> dict[str, FunctionNode]:
    """Return every function of a module by qualified name, outermost first; one under an ``if``, say, is among them."""
    nodes: dict[str, FunctionNode] = {}
    _add_functions(nodes, tree, "")
    return nodes


def _add_functions(nodes: dict[str, FunctionNode], node: ast.AST, prefix: str) -> None:
    """Add the functions inside of a node to others, under names that begin with a prefix."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, FunctionNode):
            nodes[prefix + child.name] = child
        if isinstance(child, FunctionNode | ast.ClassDef):
            _add_functions(nodes, child, f"{prefix}{child.name}.")
        elif isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):
            _add_functions(nodes, child, prefix)
