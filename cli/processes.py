"""Run a program to its end, or end it with everything that it has started."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from checker.course.paths import ROOT


@dataclass(frozen=True)
class Ended:
    """How a program ended: its exit status, None if it took too long, and what it wrote."""

    status: int | None
    output: str
    errors: str

    @property
    def last_line(self) -> str:
        """The last line that it wrote, of its errors if there are any."""
        lines = (self.errors.strip() or self.output.strip()).splitlines()
        return lines[-1] if lines else "it printed nothing"


def run_module(
    module: str,
    *arguments: str,
    seconds: float | None = None,
    folder: Path = ROOT,
    environment: Mapping[str, str] | None = None,
) -> Ended:
    """Run ``python -m MODULE ARGUMENT …``; what is left of it after ``seconds``, or after its end, is killed.

    Args:
        module: the module.
        arguments: its arguments.
        seconds: how long it may take.
        folder: where it runs.
        environment: its environment variables; by default ours.
    """
    with subprocess.Popen(
        [sys.executable, "-m", module, *arguments],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    ) as process:
        status = None
        try:
            output, errors = process.communicate(timeout=seconds)
            status = process.returncode
        except subprocess.TimeoutExpired:
            output = errors = ""
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        return Ended(status, output, errors)
