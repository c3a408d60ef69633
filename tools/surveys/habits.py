"""Write a step as people used to another library do, and then do what the check says until it passes."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping

from checker.course.attempts import edited, load_attempts
from checker.course.languages import Location, Unreadable
from checker.course.languages.python import PYTHON
from checker.course.steps import Step
from tools.surveys.survey import Tell, survey

MOST_ROUNDS = 5


def follow(step: Step, names: Collection[str], tell: Tell = lambda event: None) -> dict[str, str]:
    """Write a step with each of the habits ``names``, and then what the check says to write instead.

    Args:
        step: the step.
        names: those of the habits.
        tell: gets every event of the surveys.

    Returns:
        By habit, why that did not lead to a pass, or nothing.
    """
    solution, habits = step.solution_file.read_text(), load_attempts(step).habits
    sources = {name: edited(solution, habits[name]) for name in names}
    problems = dict.fromkeys(names, "it was accepted as it is")
    for _ in range(MOST_ROUNDS):
        for name, refused, locations in list(_checked(step, solution, sources, tell)):
            location = next((each for each in locations if each and each.instead), None)
            if not refused:
                del sources[name]
            elif location:
                line, instead = location.instead_line, location.instead
                sources[name] = _with_statement(sources[name], line, instead, step.language is PYTHON)
                problems[name] = ""
            else:
                del sources[name]
                problems[name] = f"the check gave no line to write: {refused}"
    return problems | dict.fromkeys(sources, "it is still not accepted after the last line allowed")


def _checked(
    step: Step, solution: str, sources: Mapping[str, str], tell: Tell
) -> Iterator[tuple[str, str, Collection[Location | None]]]:
    """Yield of every file its name, why it is refused, and the places to look at."""
    compiled = dict(sources)
    if step.language is not PYTHON:
        from checker.mojo.library import compiled as compile_kernel

        for name, source in sources.items():
            try:
                compile_kernel(step, source)
            except Unreadable as error:
                del compiled[name]
                yield name, str(error), [error.location]
    subjects = {name: {solution: source} for name, source in compiled.items()}
    for subject in survey(step, subjects, tell, compiled_kernels=step.language is not PYTHON) if subjects else ():
        yield subject.name, subject.happened or subject.refused, subject.locations.values()


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
