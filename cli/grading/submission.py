"""Take the steps out of a checkout, and nothing else: the files that learners edit, read before anything runs.

Whatever else lies there stays there: changed claims, a ``conftest.py``, a package that is named like one of ours.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from checker.course.languages import Unreadable
from checker.course.static import Missing, read_text
from checker.course.steps import Step, all_steps

STEPS = "steps"
OF_TOOLS = ("*.kept-*", ".*", "__pycache__")  # what the course and Python leave beside the steps


class NoSubmission(Exception):
    """There is nothing to grade; the message says why."""


@dataclass
class Submission:
    """The steps of a checkout: the text of each, or why there is none, and what else lies beside them."""

    texts: dict[Step, str] = field(default_factory=dict)
    refused: dict[Step, str] = field(default_factory=dict)
    missing: list[Step] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)


def take(checkout: Path) -> Submission:
    """Read the steps of a checkout; no link is followed.

    Raises:
        NoSubmission: it has no folder of steps.
    """
    folder = checkout / STEPS
    if not checkout.is_dir():
        raise NoSubmission(f"{checkout} is not a folder; name the folder of a checkout")
    if folder.is_symlink():
        raise NoSubmission(f"{folder} is a link, and none is followed; it must be a folder")
    if not folder.is_dir():
        what = "is a file" if folder.exists() else "does not exist"
        raise NoSubmission(f"{folder} {what}; it must be the folder with the steps of a checkout")
    taken, steps = Submission(), all_steps()
    for step in steps:
        path = folder / step.learner_file.name
        try:
            if path.is_symlink():
                raise Unreadable("The file is a link, and none is followed. Put the step itself there.", "a link")
            taken.texts[step] = read_text(path)
        except Missing:
            taken.missing.append(step)
        except Unreadable as error:
            taken.refused[step] = str(error)
    known = {step.learner_file.name for step in steps}
    taken.left_out = sorted(
        f"{STEPS}/{printable(path.name)}"
        for path in folder.iterdir()
        if path.name not in known and not any(path.match(pattern) for pattern in OF_TOOLS)
    )
    return taken


def printable(name: str) -> str:
    """Return the name of a file as it may be printed: a terminal obeys some letters, and cannot print others."""
    return name if name.isprintable() else ascii(name)[1:-1]
