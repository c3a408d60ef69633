"""Start Ray Serve on this machine, in an environment of its own that is made when it is first needed."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence

from checker import environments
from checker.course.paths import ROOT
from play.serving.environment import CannotServe

HOME = ROOT / ".ray"
PINS = ROOT / "requirements" / "ray.txt"
#: Ray neither reports to its makers nor replaces signal handlers of ours.
ENVIRONMENT = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_DEDUP_LOGS": "0", "PYTHONPATH": str(ROOT)}


def serve_replicas(
    options: Sequence[str], *, replicas: int, host: str, port: int, device: str, tell: Callable[[str], None]
) -> None:
    """Become Ray Serve with so many servers; this never returns.

    Args:
        options: of each server, as its command line takes them.
        replicas: how many servers.
        host: where all of them are reached, under one address.
        port: the same.
        device: cpu, or gpu for one GPU each.
        tell: tells the user how far along it is.

    Raises:
        CannotServe: Ray cannot be installed.
    """
    try:
        environments.make(HOME, PINS)
    except environments.CannotPrepare as error:
        raise CannotServe(str(error)) from error
    tell(f"Ray starts {replicas} servers; each gets its model ready first")
    python = str(environments.python_of(HOME))
    arguments = ["--replicas", str(replicas), "--gpus", str(int(device == "gpu")), "--host", host, "--port", str(port)]
    command = [sys.executable, "-m", "checker", "serve", *options]
    line = [python, "-m", "play.serving.replicas.application", *arguments, "--", *command]
    os.chdir(ROOT)
    os.execve(python, line, os.environ | ENVIRONMENT)
