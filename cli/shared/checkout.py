"""This checkout of the course: which commit it is."""

from __future__ import annotations

import shutil
from functools import partial

from checker.files import ROOT
from checker.machine import output_of


def commit() -> str:
    """Return the state of this checkout; a learner's own steps do not count as a change."""

    git = partial(output_of, "git", "-C", str(ROOT))
    without = "not a git checkout" if shutil.which("git") else "unknown: the program git is not installed"
    name = git("describe", "--always").strip() or without
    changes = git("status", "--porcelain", "--untracked-files=no", "--", ".", ":!steps")
    return f"{name}-dirty" if changes else name
