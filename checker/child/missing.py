"""Which functions with a blank a module lacks once its file has run, and which of its own may be meant instead.

Whatever a module or class has counts, however it came by it: an alias, a lambda, an inherited or a decorated method.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable
from types import ModuleType

from checker.course.compatibility import NEW_NAMES
from checker.course.source import Source
from checker.spelling import closest_name

CALLED_INSTEAD = "__call__"  # what people write for ``forward``, since it is what Python calls


def missing_from(module: ModuleType, source: Source, blanks: Collection[str]) -> dict[str, str]:
    """Return the functions with a blank that a module lacks, and for each the name that may be meant, or nothing.

    Of a class that is not there, only the class itself is said to be missing.

    Args:
        module: what the file has made.
        source: the text of the file.
        blanks: the qualified names of the functions, such as ``GPT2Block.forward``.
    """
    nodes = list(ast.walk(source.tree))
    names_it_sets = {node.attr for node in nodes if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)}
    names_it_sets |= {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    functions = [name for name in source.function_nodes if name not in blanks]  # another blank's is meant as itself
    missing = {}
    for blank in blanks:
        owner, _, name = blank.rpartition(".")
        if owner and owner not in names_it_sets and not hasattr(module, owner):
            missing[owner] = closest_name(owner, _other_classes(source, blanks))
        elif name not in names_it_sets and not _has(module, blank):
            missing[blank] = _likely_name(blank, functions)
    return missing


def _has(module: ModuleType, blank: str) -> bool:
    """Return whether a module has a function, or its class a method; MAX's own, which only raises an error, is none."""
    *path, name = blank.split(".")
    owner: object = module
    for part in path:
        if not hasattr(owner, part):
            return False
        owner = getattr(owner, part)
    if not isinstance(owner, type):
        return hasattr(owner, name) or owner is not module  # what was put in the place of a class may do without
    if name.startswith("__"):
        return True  # a decorator has made it, or it is inherited; what it lacks, the claims will tell
    return any(name in vars(kind) for kind in owner.__mro__ if not kind.__module__.startswith("max."))


def _other_classes(source: Source, blanks: Collection[str]) -> list[str]:
    """Return the classes of a file in which no function has a blank."""
    owners = {blank.rpartition(".")[0] for blank in blanks}
    return [node.name for node in source.tree.body if isinstance(node, ast.ClassDef) and node.name not in owners]


def _likely_name(blank: str, functions: Iterable[str]) -> str:
    """Return the function of a file that is or was called like a missing one, in the same class or outside of any."""
    owner, _, name = blank.rpartition(".")
    beside = [other.rpartition(".")[2] for other in functions if other.rpartition(".")[0] == owner]
    if name == "forward" and CALLED_INSTEAD in beside:
        return CALLED_INSTEAD
    if former := [other for other in beside if NEW_NAMES.get(other) == name]:
        return former[0]
    return closest_name(name, beside)
