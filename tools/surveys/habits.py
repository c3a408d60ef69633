"""Write a step as people used to another library do, and then do what the check says until it passes."""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping

from checker.course.attempts import edited, load_attempts
from checker.course.languages import Location, Unreadable
from checker.course.languages.python import PYTHON
from checker.course.steps import Step
from checker.mojo.library import compiled as compile_kernel
from tools.surveys.survey import survey

MOST_ROUNDS = 5


def follow(step: Step, names: Collection[str]) -> tuple[dict[str, str], set[str]]:
    """Write a step with each of the habits ``names``, and then what the check says to write instead.

    Returns:
        By habit, why that did not lead to a pass, or nothing; and what MAX compiled on the way.
    """
    solution, habits = step.solution_file.read_text(), load_attempts(step).habits
    sources, compiled = {name: edited(solution, habits[name]) for name in names}, set[str]()
    problems = dict.fromkeys(names, "it was accepted as it is")
    for _ in range(MOST_ROUNDS):
        refused = _unreadable(step, sources) if step.language is not PYTHON else {}
        subjects = {name: {solution: source} for name, source in sources.items() if name not in refused}
        if subjects:
            surveyed, _, newly_compiled = survey(step, subjects, compiled_kernels=step.language is not PYTHON)
            refused |= {each.name: (each.happened or each.refused, [*each.locations.values()]) for each in surveyed}
            compiled |= {*newly_compiled}
        for name, (why, locations) in refused.items():
            location = next((each for each in locations if each and each.instead), None)
            if why and location:
                line, instead = location.instead_line, location.instead
                sources[name] = _with_statement(sources[name], line, instead, step.language is PYTHON)
                problems[name] = ""
            else:
                del sources[name]
                problems[name] = f"the check gave no line to write: {why}" if why else problems[name]
    return problems | dict.fromkeys(sources, "it is still not accepted after the last line allowed"), compiled


def _unreadable(step: Step, sources: Mapping[str, str]) -> dict[str, tuple[str, list[Location | None]]]:
    """Return why kernels do not compile, and the places to look at, by their names."""
    refused = dict[str, tuple[str, list[Location | None]]]()
    for name, source in sources.items():
        try:
            compile_kernel(step, source)
        except Unreadable as error:
            refused[name] = str(error), [error.location]
    return refused


def _with_statement(source: str, line: int, statement: str, in_python: bool) -> str:
    """Return a source with the innermost statement at a line replaced; for a loop or the like, only its first line."""
    lines = source.splitlines()
    first = end = line
    if in_python:
        statements = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.stmt)]
        holding = [node for node in statements if node.lineno <= line <= (node.end_lineno or 0)]
        node = max(holding, key=lambda node: (node.lineno, -(node.end_lineno or 0)))
        body = getattr(node, "body", None)
        first, end = node.lineno, body[0].lineno - 1 if isinstance(body, list) else node.end_lineno or line
    lines[first - 1 : end] = [lines[first - 1][: -len(lines[first - 1].lstrip())] + statement]
    return "\n".join(lines) + "\n"
