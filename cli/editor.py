"""Open a file in the learner's own editor."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

from checker.errors import UserError

WAIT = ("--wait", "-w")  # what makes an editor with a window of its own wait until it is closed, as git wants it


def open_in_editor(file: Path) -> None:
    """Open a file in the editor that VISUAL or EDITOR names, else in VS Code; return when it ends, or has a window.

    Raises:
        UserError: there is no such editor.
    """
    editor = shlex.split(os.environ.get("VISUAL") or os.environ.get("EDITOR") or "code")
    try:
        subprocess.run([*(word for word in editor if word not in WAIT), file], check=False)
    except OSError as error:
        raise UserError(f"{editor[0]} cannot be started; set VISUAL or EDITOR to your editor") from error
