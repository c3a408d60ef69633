"""Which parts of a learner's file later steps cannot use in place of the solution's, though the file may pass.

The file may be older than the present solutions, or have the source tutorial's form. ``--mine`` and ``status`` name the
parts, and so does a check if such a file imports in vain. The calls that an older file may still make are in
``checker.child.former_calls``.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator

from checker.course.blanks import label_of
from checker.course.languages import PYTHON
from checker.course.source import FunctionNode, Source
from checker.course.steps import Step


def incompatible_parts(step: Step, source: Source) -> dict[str, str]:
    """Return the types and functions that a file lacks or has otherwise, each with the solution's signature.

    A signature has the parameters, and for ``__init__`` also the attributes that it sets: ``(config) with self.c_fc``.
    """
    if step.language is not PYTHON:
        return {}
    solution, names = step.read_solution(), _names_in(source)
    mine, theirs = source.function_nodes, solution.function_nodes
    labels = {name: label_of(name) for name in theirs}
    missing = {name for name, label in labels.items() if not label.startswith("__") and label not in names}
    differing = {name for name in mine.keys() & theirs.keys() if not takes_calls_of(mine[name], theirs[name])}
    lacks_attributes = {name for name, node in theirs.items() if not names.issuperset(_attributes_set_by(node))}
    inner = {name for name in theirs if name.rpartition(".")[0] in theirs}
    types = {name: f" = {ast.unparse(node.value)}" for name, node in _types(solution) if name not in names}
    incompatible = (missing | differing | lacks_attributes) - inner
    return types | {name: _signature(node) for name, node in theirs.items() if name in incompatible}


def takes_calls_of(function: FunctionNode, other: FunctionNode) -> bool:
    """Return whether a function can be called wherever the other one can: with the same arguments, and no others."""
    own, given = _positional_parameters(function), _positional_parameters(other)
    own_by_name, given_by_name = _keyword_parameters(function), _keyword_parameters(other)
    needed = {*own[: len(own) - len(function.args.defaults)]} - {*given_by_name}
    always_given = len(given) - len(other.args.defaults)
    defaults = zip(own_by_name, function.args.kw_defaults, strict=True)
    needed_by_name = {name for name, default in defaults if default is None}
    gets_all = len(needed) <= always_given and needed_by_name <= {*given_by_name}
    takes_all_by_position = len(own) >= len(given) or function.args.vararg is not None
    takes_all_by_name = {*given_by_name} <= {*own, *own_by_name} or function.args.kwarg is not None
    has_same_order = [name for name in own if name in given] == [name for name in given if name in own]
    return gets_all and takes_all_by_position and takes_all_by_name and has_same_order


def _positional_parameters(function: FunctionNode) -> list[str]:
    return [parameter.arg for parameter in (*function.args.posonlyargs, *function.args.args)]


def _keyword_parameters(function: FunctionNode) -> list[str]:
    return [parameter.arg for parameter in function.args.kwonlyargs]


def _names_in(source: Source) -> set[str]:
    """Return the names that a file uses or defines, also in strings; attributes also with their object: ``self.x``."""
    names = set[str]()
    for node in ast.walk(source.tree):
        match node:
            case ast.Name(id=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                names.add(name)
            case ast.ClassDef(name=name) | ast.Constant(value=str(name)):
                names.add(name)
            case ast.Attribute(attr=name):
                names |= {name, ast.unparse(node)}
            case ast.alias():
                names.add(node.asname or node.name)
    return names


def _types(solution: Source) -> Iterator[tuple[str, ast.Assign]]:
    """Yield the names of types that a solution makes, such as ``Pair = tuple[int, int]``."""
    for node in solution.tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)]) if not name.isupper():
                yield name, node


def _attributes_set_by(node: FunctionNode) -> list[str]:
    """Return the attributes that an ``__init__`` sets, such as ``self.weight``; none for another function."""
    if node.name != "__init__":
        return []
    attributes = (part for part in ast.walk(node) if isinstance(part, ast.Attribute))
    return [ast.unparse(attribute) for attribute in attributes if isinstance(attribute.ctx, ast.Store)]


def _signature(node: FunctionNode) -> str:
    """Return a function's parameters, without their types, and the attributes that an ``__init__`` sets."""
    arguments = copy.deepcopy(node.args)
    for parameter in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        parameter.annotation = None
    parameters = ast.unparse(arguments).removeprefix("self").removeprefix(", ")
    attributes = " and ".join(_attributes_set_by(node))
    return f"({parameters}) with {attributes}" if attributes else f"({parameters})"
