"""Find the functions with a blank that a module lacks once its file has run, and the names that may be meant.

Every attribute of a module or class counts, however it came there: an alias, a lambda, an inherited method.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable
from types import ModuleType

from checker.course.blanks import blanks_of, label_of
from checker.course.check_file import optional_in
from checker.course.source import Source
from checker.course.steps import Step
from checker.spelling import closest_name

WRITTEN_FOR_FORWARD = "__call__"  # people write it since Python calls it


def missing_functions(step: Step, source: Source, module: ModuleType) -> dict[str, str]:
    """Return the functions with a blank that a module lacks, and for each the name that may be meant, or nothing.

    If a class is not there, the class itself is among them, in place of its methods.

    Args:
        step: the step whose blanks these are.
        source: the text of the file.
        module: the module that running the file has made.
    """
    if not step.language.is_run:
        return {}
    blanks = [blank.function for blank in blanks_of(step) if blank.label not in optional_in(step)]
    if set(blanks) <= step.language.functions(source).keys():
        return {}  # as in most files
    return _missing_of(blanks, source, module)


def labels_of_missing(step: Step, missing: Collection[str]) -> list[str]:
    """Return the labels of functions that are missing, and of the blanks in classes that are."""
    in_missing_classes = [blank.label for blank in blanks_of(step) if blank.function.rpartition(".")[0] in missing]
    return [*map(label_of, missing), *in_missing_classes]


def _missing_of(blanks: Collection[str], source: Source, module: ModuleType) -> dict[str, str]:
    """Return which of some functions, by their qualified names, a module lacks."""
    nodes = list(ast.walk(source.tree))
    names_set = {node.attr for node in nodes if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)}
    names_set |= {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    functions = [name for name in source.function_nodes if name not in blanks]  # that of another blank is itself
    missing = {}
    for blank in blanks:
        owner, _, name = blank.rpartition(".")
        if owner and owner not in names_set and not hasattr(module, owner):
            missing[owner] = closest_name(owner, _other_classes(source, blanks))
        elif name not in names_set and not _has_function(module, blank):
            missing[blank] = _likely_name(blank, functions)
    return missing


def _has_function(module: ModuleType, blank: str) -> bool:
    """Return whether a module has a function, or its class a method other than those of MAX's, which only raise."""
    *path, name = blank.split(".")
    owner: object = module
    for part in path:
        if not hasattr(owner, part):
            return False
        owner = getattr(owner, part)
    if not isinstance(owner, type):
        return hasattr(owner, name) or owner is not module  # an object in the place of a class may do without
    if name.startswith("__"):
        return True  # a decorator has made it, or it is inherited; if not, the claims will tell
    return any(name in vars(kind) for kind in owner.__mro__ if not kind.__module__.startswith("max."))


def _other_classes(source: Source, blanks: Collection[str]) -> list[str]:
    """Return the classes of a file in which no function has a blank."""
    owners = {blank.rpartition(".")[0] for blank in blanks}
    return [node.name for node in source.tree.body if isinstance(node, ast.ClassDef) and node.name not in owners]


def _likely_name(blank: str, functions: Iterable[str]) -> str:
    """Return which function, in the same class or outside of any, has a name like that of a missing one."""
    owner, _, name = blank.rpartition(".")
    beside = [label_of(other) for other in functions if other.rpartition(".")[0] == owner]
    if name == "forward" and WRITTEN_FOR_FORWARD in beside:
        return WRITTEN_FOR_FORWARD
    return closest_name(name, beside)
