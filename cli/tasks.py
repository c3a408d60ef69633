"""Run the tasks of ``pixi.toml`` without pixi: ``python -m cli.tasks TASK [ARGUMENT …]``.

A task has a line (``cmd``), to which arguments are appended, a ``description``, and maybe a ``default-environment``.
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
import tomllib

from checker import interrupts
from checker.course.paths import ROOT

OURS = ("python -m cli ", "python -m tools ")  # lines whose --help every environment can answer

Task = dict[str, str]


class CannotRun(Exception):
    """A task that does not exist, or whose packages cannot be installed."""


def tasks() -> dict[str, Task]:
    """Return the tasks of ``pixi.toml`` by name."""
    with (ROOT / "pixi.toml").open("rb") as file:
        return tomllib.load(file)["tasks"]


def listing(known: dict[str, Task]) -> str:
    """Return a line for every task."""
    width = max(map(len, known))
    return "\n".join(f"  {name:<{width}}  {task['description']}" for name, task in known.items())


def install(environment: str) -> None:
    """Install in ``.venv`` what an environment needs, unless it is there already."""
    wanted = ROOT / "requirements" / f"{environment}.txt"
    stamp = ROOT / ".venv" / f"installed-{environment}.txt"
    if environment == "default" or (stamp.is_file() and stamp.read_text() == wanted.read_text()):
        return
    print(f"Installing what the environment {environment!r} adds, once.", file=sys.stderr)
    pip = [sys.executable, "-m", "pip", "install", "--quiet"]
    if shutil.which("uv"):
        pip = ["uv", "pip", "install", "--quiet", "--python", sys.executable]
    try:
        subprocess.run([*pip, "--requirement", str(wanted)], check=True)
    except subprocess.CalledProcessError as error:
        raise CannotRun(f"the packages of {wanted.name} could not be installed; is there a network?") from error
    shutil.copy(wanted, stamp)


def run(name: str, given: list[str], known: dict[str, Task]) -> int:
    """Run a task's line with the arguments given; return its exit status.

    Raises:
        CannotRun: there is no such task, or its packages cannot be installed.
    """
    if name not in known:
        raise CannotRun(f"there is no task {name!r}. The tasks are:\n\n{listing(known)}")
    line = " ".join([known[name]["cmd"], *map(shlex.quote, given)])
    if not {"-h", "--help"} & set(given):
        install(known[name].get("default-environment", "default"))
    elif not line.startswith(OURS):
        print(f"./run {name} [ARGUMENT …]\n\n{known[name]['description']}. The line is: {known[name]['cmd']}")
        return 0
    path = os.pathsep.join([str(ROOT / ".venv" / "bin"), os.environ.get("PATH", "")])
    environment = os.environ | {"PATH": path, "PYTHONPATH": str(ROOT)}
    # Ctrl-C reaches the task itself, which ends in its own way; its shell and we wait for that. A KeyboardInterrupt
    # could come just when the task's exit status is read, and that would be lost.
    before = signal.signal(signal.SIGINT, lambda number, frame: None)
    try:
        return subprocess.run(["sh", "-c", f"trap : INT; {line}"], cwd=ROOT, env=environment, check=False).returncode
    finally:
        signal.signal(signal.SIGINT, before)


def main() -> int:
    """Run the task named by the arguments; without one, list them all."""
    interrupts.restore()  # a shell that is started with Ctrl-C ignored could not even set its trap
    name, *given = sys.argv[1:] or ["--help"]
    known = tasks()
    if name in ("-h", "--help"):
        print(f"./run TASK [ARGUMENT …]\n\n{listing(known)}")
        return 0
    try:
        return run(name, given, known)
    except CannotRun as error:
        print(f"run: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
