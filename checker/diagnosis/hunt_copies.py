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

LINE_LENGTH = 120
ODD = re.compile(r"'|.{121}")  # gives a mistake's line away: other lines are formatted otherwise


def copies_of(step: Step) -> dict[str, str]:
    """Return a copy of the solution with each mistake that may be hunted for, by the mistake's name.

    Such a mistake raises no error, which would tell its line, and changes nothing outside the blanks, at which a check
    would point. Nor does it only add lines, which a learner would see at once.
    """
    mistakes, solution, right_copy = KnownMistakes.recorded(step), step.read_solution(), copy_with(step, {})
    copies = {}
    for name, answers in mistakes.answers.items():
        if any(outcome.is_error for outcome in answers.values()):
            continue
        source = Source(apply_edits(solution.text, mistakes.edits[name]))
        if step.language is PYTHON and changed_lines(source, solution):
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


def without_unused_imports(source: str) -> str:
    """Return Python without the imports that a mistake has left unused."""
    tree, lines = ast.parse(source), source.splitlines(keepends=True)
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    unused = imports_of(Source(source)).keys() - used
    for node in reversed(tree.body):  # from the end, so that the numbers of the lines before stay right
        if not isinstance(node, ast.Import | ast.ImportFrom) or getattr(node, "module", "") == "__future__":
            continue
        aliases = [alias for alias in node.names if (alias.asname or alias.name).partition(".")[0] not in unused]
        if len(aliases) == len(node.names):
            continue
        node.names = aliases
        first, last = node.lineno - 1, node.end_lineno or node.lineno
        if aliases:
            lines[first:last] = [_import_as_formatted(node)]
        elif lines[first - 1] == lines[last] == "\n":  # a group of one statement, between empty lines
            del lines[first : last + 1]
        else:
            del lines[first:last]
    return "".join(lines)


def _import_as_formatted(node: ast.Import | ast.ImportFrom) -> str:
    """Return an import as the solutions are formatted: on one line or, if that is too long, one name a line."""
    line = ast.unparse(node)
    if len(line) <= LINE_LENGTH:
        return f"{line}\n"
    start, names = line.split(" import ")
    return "\n    ".join([f"{start} import (", *(f"{name}," for name in names.split(", "))]) + "\n)\n"


def copy_with(step: Step, edits: Edits) -> str:
    """Return the edited solution without unused imports, and without comments in its blanks, which would help."""
    skeleton_lines = {*skeleton_of(step).splitlines()}
    lines = []
    for line in apply_edits(step.read_solution().text, edits).splitlines():
        bare = line if line in skeleton_lines else without_comment(line)
        if bare or not line:  # a line that was only a comment is left out
            lines.append(bare)
    copy = "\n".join(lines) + "\n"
    return without_unused_imports(copy) if step.language is PYTHON else copy


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
