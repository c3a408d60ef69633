"""Write a step as people used to another library do, and then do what the check says until it says yes."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from checker.course.attempts import edited, load_attempts
from checker.course.languages import PYTHON
from checker.course.steps import Step
from tools.surveys.survey import Surveyed, Tell, survey

MOST_ROUNDS = 5
INSTEAD = re.compile(r"^(?:line (\d+): .*\n)? *write(?: in line (\d+))?: (.+)$", re.MULTILINE)


@dataclass
class Followed:
    """The result of one habit: the lines that the check said to write, and how it ended."""

    name: str
    told: list[str] = field(default_factory=list)
    problem: str = "it is still not accepted after the last line allowed"


def follow(step: Step, names: Collection[str], tell: Tell = lambda event: None) -> Iterator[Followed]:
    """Write a step with each of the habits ``names``, and then what the check says to write instead.

    Args:
        step: the step.
        names: those of the habits.
        tell: gets every event of the surveys.
    """
    if step.language is not PYTHON:
        yield from _follow_compiler(step, names)
        return

    solution, habits = step.solution_file.read_text(), load_attempts(step).habits
    sources = {name: edited(solution, habits[name]) for name in names}
    followed = {name: Followed(name) for name in names}
    left = dict(sources)
    for _ in range(MOST_ROUNDS):
        subjects = {name: {solution: source} for name, source in left.items()}
        for surveyed in survey(step, subjects, tell) if subjects else ():
            name = surveyed.name
            if surveyed.accepted:
                followed[name].problem = "" if followed[name].told else "it was accepted as it is"
                del left[name]
            elif made := _instead(surveyed, left[name]):
                left[name], told = made
                followed[name].told.append(told)
            else:
                followed[name].problem = f"the check gave no line to write: {surveyed.refused}"
                del left[name]
    yield from followed.values()


def _follow_compiler(step: Step, names: Collection[str]) -> Iterator[Followed]:
    """Take up the habits of a kernel, and write what is told to write until its compiler and its check accept it."""
    from checker.mojo.library import compiled
    from checker.mojo.messages import KernelRefused

    solution, habits = step.solution_file.read_text(), load_attempts(step).habits
    for name in names:
        source, followed = edited(solution, habits[name]), Followed(name)
        for _ in range(MOST_ROUNDS):
            try:
                compiled(step, source)
            except KernelRefused as error:
                told = INSTEAD.search(error.where)
                if not told:
                    followed.problem = f"no line to write was told: {error.sentence}"
                    break
                lines = source.splitlines(keepends=True)
                at = int(told[2] or told[1]) - 1
                lines[at] = lines[at][: -len(lines[at].lstrip())] + told[3] + "\n"
                source = "".join(lines)
                followed.told.append(told[3])
            else:
                (surveyed,) = survey(step, {name: {solution: source}}, compiled_kernels=True)
                refused = surveyed.happened or surveyed.refused
                followed.problem = refused or ("" if followed.told else "it was accepted as it is")
                break
        yield followed


def _instead(surveyed: Surveyed, source: str) -> tuple[str, str] | None:
    """Return a source with the first line that the check said to write, and that line; None if it gave none."""
    for where in surveyed.where.values():
        if told := INSTEAD.search(where):
            return _with_statement(source, int(told[2] or told[1]), told[3]), told[3]
    return None


def _with_statement(source: str, line: int, statement: str) -> str:
    """Return a source with the innermost statement at a line replaced; for a loop or the like, only its first line."""
    lines = source.splitlines()
    holding = [
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or 0)
    ]
    node = max(holding, key=lambda node: (node.lineno, -(node.end_lineno or 0)))
    body = getattr(node, "body", None)
    end = body[0].lineno - 1 if isinstance(body, list) else node.end_lineno
    indent = lines[node.lineno - 1][: node.col_offset]
    lines[node.lineno - 1 : end] = [indent + statement]
    return "\n".join(lines) + "\n"
