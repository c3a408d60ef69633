"""Which functions of a learner's file later steps cannot call as they call the solution's, though it may pass."""

from __future__ import annotations

import ast

from checker.course.blanks import blanks_of
from checker.course.languages import PYTHON, FunctionNode, functions
from checker.course.steps import Step, optional_in


def other_forms(step: Step, source: str) -> dict[str, str]:
    """Return the functions that a file lacks or gives other parameters, by qualified name, with the solution's."""
    if step.language is not PYTHON:
        return {}
    mine, theirs = (functions(ast.parse(text)) for text in (source, step.solution_file.read_text()))
    optional = optional_in(step)
    lacking = {each.function for each in blanks_of(step) if each.label in optional and each.label not in source}
    other = {name for name in mine.keys() & theirs.keys() if not takes_calls_of(mine[name], theirs[name])}
    inner = {name for name in theirs if name.rpartition(".")[0] in theirs}
    return {name: f"({_names(node.args)})" for name, node in theirs.items() if name in (lacking | other) - inner}


def takes_calls_of(mine: FunctionNode, theirs: FunctionNode) -> bool:
    """Return whether one function can be called wherever another is."""
    own, given = ([*node.args.posonlyargs, *node.args.args] for node in (mine, theirs))
    by_name = {each.arg for each in theirs.args.kwonlyargs}
    needed = {each.arg for each in own[: len(own) - len(mine.args.defaults)]} - by_name
    pairs = zip(mine.args.kwonlyargs, mine.args.kw_defaults, strict=True)
    needed_by_name = {each.arg for each, default in pairs if default is None}
    return (
        len(needed) <= len(given) - len(theirs.args.defaults)
        and (len(own) >= len(given) or mine.args.vararg is not None)
        and (by_name <= {each.arg for each in (*own, *mine.args.kwonlyargs)} or mine.args.kwarg is not None)
        and needed_by_name <= by_name
    )


def _names(arguments: ast.arguments) -> str:
    """Return parameters as they are written, without self and without types."""
    for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        each.annotation = None
    return ast.unparse(arguments).removeprefix("self").removeprefix(", ")
