"""Run one of our programs to its end, or until a time limit."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from checker.errors import UserError
from checker.files import ROOT

NO_DEVICE = 2  # the exit status of a program that needs a device which is not there
Completed = subprocess.CompletedProcess[str]


def run_module(
    module: str,
    *arguments: str,
    seconds: float | None = None,
    folder: Path = ROOT,
    environment: Mapping[str, str] | None = None,
) -> Completed | None:
    """Run ``python -m MODULE ARGUMENT …``, and return how it ended; None if it was killed after so many ``seconds``.

    A process that a check has started ends with the check.
    """
    try:
        return subprocess.run(
            [sys.executable, "-m", module, *arguments],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return None


def require_gpu() -> None:
    """Refuse to go on if there is no GPU that MAX can use; if MAX itself is broken, the command that needs it says so.

    Raises:
        UserError: there is no such GPU.
    """
    answer = run_module("checker.max_adapter.runtime", "gpu")
    if answer and answer.returncode == NO_DEVICE:
        raise UserError(last_line(answer))


def last_line(run: Completed) -> str:
    """Return the last line that a program wrote to standard error or, if it wrote none there, to standard output."""
    lines = (run.stderr.strip() or run.stdout.strip()).splitlines()
    return lines[-1] if lines else "it printed nothing"
