"""Copies of a solution to hunt in (``course/hunts.py``), each with a known mistake that shows in numbers alone."""

from __future__ import annotations

import ast
import random
import re
from difflib import SequenceMatcher

from checker.course.hunts import SENTENCES
from checker.course.languages import PYTHON
from checker.course.languages.language import TEXT
from checker.course.skeletons import skeleton_of
from checker.course.source import Source
from checker.course.steps import Step
from checker.diagnosis.mistakes import Edits, KnownMistakes, apply_edits, load_attempts
from checker.diagnosis.outside_blanks import changed_lines, imports_of
from checker.outcomes import failed_outcomes

ODD = re.compile(r"'|.{121}")  # gives a mistake's line away: other lines are formatted otherwise


def copies_of(step: Step) -> dict[str, str]:
    """Return a copy of the solution with each mistake that may be hunted for, by the mistake's name.

    Such a mistake raises no error, which would tell its line, and changes nothing outside the blanks, at which a check
    would point. Nor does it only add lines or leave an import unused, which a learner would see at once.
    """
    mistakes, solution, right_copy = KnownMistakes.recorded(step), step.read_solution(), copy_with(step, {})
    copies = {}
    for name, answers in mistakes.answers.items():
        if any(outcome.is_error for outcome in answers.values()):
            continue
        source = Source(apply_edits(solution.text, mistakes.edits[name]))
        if step.language is PYTHON and changed_lines(source, solution):
            continue
        if step.language is PYTHON and unused_imports(source) != unused_imports(solution):
            continue
        new_lines = {*source.lines} - {*solution.lines}
        if any(ODD.search(line) for line in new_lines):
            continue
        copy = copy_with(step, mistakes.edits[name])
        if not is_longer(copy, right_copy):
            copies[name] = copy
    return copies


def is_longer(copy: str, right: str) -> bool:
    """Return whether a copy has lines where the right one has none, whatever the indentation."""
    right_lines = [line.strip() for line in right.splitlines()]
    copied_lines = [line.strip() for line in copy.splitlines()]
    changes = SequenceMatcher(None, right_lines, copied_lines, autojunk=False).get_opcodes()
    return any(change == "insert" for change, *_ in changes)


def unused_imports(source: Source) -> set[str]:
    """Return the names that a file in Python imports and does not use."""
    used = {node.id for node in ast.walk(source.tree) if isinstance(node, ast.Name)}
    return imports_of(source).keys() - used


def copy_with(step: Step, edits: Edits) -> str:
    """Return the edited solution without the comments in its blanks, which would help."""
    skeleton_lines = {*skeleton_of(step).splitlines()}
    lines = []
    for line in apply_edits(step.read_solution().text, edits).splitlines():
        bare = line if line in skeleton_lines else without_comment(line)
        if bare or not line:  # a line that was only a comment is left out
            lines.append(bare)
    return "\n".join(lines) + "\n"


def copy_of(step: Step, mistake: str) -> str:
    """Return a copy of the solution with a mistake."""
    return copy_with(step, load_attempts(step).mistakes[mistake])


def without_comment(line: str) -> str:
    """Return a line of code without the comment at its end."""
    return TEXT.sub(lambda text: "" if text[0].startswith("#") else text[0], line).rstrip()


def sentences_with(step: Step, mistake: str) -> list[str]:
    """Return a mistake's name among the names of mistakes with other outcomes; the choice is always the same.

    Mistakes that fail the same claims, and lie in the same function, are preferred.
    """
    mistakes, chance = KnownMistakes.recorded(step), random.Random(mistake)
    others = [name for name, answers in mistakes.answers.items() if answers != mistakes.answers.get(mistake)]
    chance.shuffle(others)
    failing, lies_in = failed_outcomes(mistakes.answers.get(mistake, {})).keys(), mistakes.lies_in.get(mistake)
    others.sort(
        key=lambda name: (failed_outcomes(mistakes.answers[name]).keys() != failing, mistakes.lies_in[name] != lies_in)
    )
    sentences = [mistake, *others[: SENTENCES - 1]]
    return chance.sample(sentences, len(sentences))
