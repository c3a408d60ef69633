"""Environments beside ``.venv``, each in a folder of its own, made from pinned packages when it is first needed.

Nothing of theirs is ever installed into the learner's environment.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from checker.course.paths import relative_path


class CannotPrepare(RuntimeError):
    """An environment could not be made; the message says why."""


def is_ready(folder: Path, pins: Path) -> bool:
    """Return whether an environment has just what its pins say."""
    stamp = folder / "installed.txt"
    return stamp.is_file() and stamp.read_text() == pins.read_text()


def make(folder: Path, pins: Path, commands: Sequence[Sequence[str]] = ()) -> None:
    """Make an environment, unless it is ready.

    Args:
        folder: where.
        pins: the file that pins its packages.
        commands: what installs them, if not pip.

    Raises:
        CannotPrepare: a program is missing, or the packages could not be installed.
    """
    if is_ready(folder, pins):
        return
    print(f"Setting up {relative_path(folder)}, once.", file=sys.stderr, flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for command in commands or with_pip(folder, pins):
        try:
            done = subprocess.run(command, cwd=folder, env=os.environ, check=False, stdout=subprocess.DEVNULL)
        except FileNotFoundError as error:
            raise CannotPrepare(f"{folder.name} needs {command[0]}, which is not installed here") from error
        if done.returncode:
            raise CannotPrepare(f"the packages of {relative_path(pins)} could not be installed; why is said above")
    shutil.copy(pins, folder / "installed.txt")


def python_of(folder: Path) -> Path:
    """Return the Python of an environment that pip made."""
    return folder / "bin" / "python"


def with_pip(folder: Path, pins: Path) -> list[list[str]]:
    """Return the commands that make an environment with Python's own tools."""
    install = [str(python_of(folder)), "-m", "pip", "install", "--quiet", "--requirement", str(pins)]
    return [[sys.executable, "-m", "venv", str(folder)], install]
