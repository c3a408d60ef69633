"""Run one of our programs to its end, or for as long as it may take."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from checker.errors import UserError
from checker.files import ROOT

NO_DEVICE = 2  # the exit status of the process that is asked for one, and of a check for one
Completed = subprocess.CompletedProcess[str]


def run_module(
    module: str,
    *arguments: str,
    seconds: float | None = None,
    folder: Path = ROOT,
    environment: Mapping[str, str] | None = None,
) -> Completed | None:
    """Run ``python -m MODULE ARGUMENT …``, and return how it ended; None if it was killed after so many ``seconds``.

    What a check has started ends with it.
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
    """Refuse a GPU where MAX can use none; where MAX itself is broken, whoever needs it says so.

    Raises:
        UserError: there is none.
    """
    answer = run_module("checker.max_adapter.runtime", "gpu")
    if answer and answer.returncode == NO_DEVICE:
        raise UserError(last_line(answer))


def last_line(run: Completed) -> str:
    """Return the last line that a program wrote, of its errors if there are any."""
    lines = (run.stderr.strip() or run.stdout.strip()).splitlines()
    return lines[-1] if lines else "it printed nothing"
