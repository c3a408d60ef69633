"""Start Ray Serve on this machine, in an environment of its own that is made when it is first needed."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from typing import Any

from checker import environments
from checker.course.paths import ROOT
from play.serving.environment import CannotServe

HOME = ROOT / ".ray"
PINS = ROOT / "requirements" / "ray.txt"
APPLICATION = "play.serving.replicas.application"
OURS = ("host", "port", "grace")  # of all replicas together
ENVIRONMENT = {
    "PYTHONPATH": str(ROOT),
    "RAY_DEDUP_LOGS": "0",  # a line of one server's log is not left out because another said the same
    "RAY_DISABLE_WORKER_LOG_PREFIX": "1",  # a replica says itself which it is
    "RAY_ROTATION_BACKUP_COUNT": "1",
    "RAY_ROTATION_MAX_BYTES": str(64 << 20),  # of each file in which Ray keeps a log
    "RAY_SERVE_PROXY_READY_CHECK_TIMEOUT_S": "30",  # not 5: on a busy machine, what takes requests starts slowly
    "RAY_USAGE_STATS_ENABLED": "0",  # Ray reports nothing to its makers
}


def serve_replicas(replicas: int, options: Mapping[str, Any], tell: Callable[[str], None]) -> None:
    """Become Ray Serve with so many servers; this never returns.

    Args:
        replicas: how many servers.
        options: of one server, by the names of their parameters. Ray takes the host and the port; it gives every server
            the grace.
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
    ours = {"replicas": replicas, "gpus": int(options["device"] == "gpu")} | {name: options[name] for name in OURS}
    theirs = {name: value for name, value in options.items() if name not in OURS}
    command = [sys.executable, "-m", "cli", "serve", *as_arguments(theirs)]
    os.chdir(ROOT)
    os.execve(
        python,
        [python, "-m", APPLICATION, *as_arguments(ours), "--", *command],
        os.environ | ENVIRONMENT,
    )


def as_arguments(options: Mapping[str, Any]) -> list[str]:
    """Return options as a command line says them: a flag that is false, or a value that is None, is left out."""
    words = []
    for name, value in options.items():
        if value is not None and value is not False:
            words += [f"--{name.replace('_', '-')}", *([] if value is True else [str(value)])]
    return words
