"""Open a file in the learner's own editor."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Mapping
from pathlib import Path

from checker.errors import UserError

WAIT = ("--wait", "-w")  # options that git wants: an editor with its own window waits until that is closed


def open_in_editor(file: Path) -> None:
    """Open a file in the editor that VISUAL or EDITOR names, else in VS Code; return when it ends, or has a window.

    Raises:
        UserError: there is no such editor.
    """
    editor = command_of(os.environ)
    try:
        subprocess.run([*editor, file], check=False)
    except OSError as error:
        raise UserError(f"{editor[0]} cannot be started; set VISUAL or EDITOR to your editor") from error


def command_of(environment: Mapping[str, str]) -> list[str]:
    """Return the command that starts the editor.

    Raises:
        UserError: a quote in a variable is not closed, say.
    """
    for name in ("VISUAL", "EDITOR"):
        try:
            command = [word for word in shlex.split(environment.get(name, "")) if word not in WAIT]
        except ValueError as error:
            fault = f"{name} is {environment[name]}, which no shell can read ({error})"
            raise UserError(f"{fault}; set it to your editor") from error
        if any(command):
            return command
    return ["code"]
