"""Run the tasks of ``pixi.toml`` without pixi: ``python -m checker.tasks TASK [ARGUMENT …]``.

Knows what this project's tasks use: ``cmd``, ``args`` (as ``{{ name }}``), ``depends-on``, ``env``,
``cwd``, ``description`` and ``default-environment``. Arguments of a task without ``args`` are appended.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from typing import Any

from checker import interrupts
from checker.course.paths import ROOT

Task = dict[str, Any]


class CannotRun(Exception):
    """A task that does not exist, or was called in a way that it does not know."""


def tasks() -> dict[str, Task]:
    """The tasks of ``pixi.toml`` by name."""
    with (ROOT / "pixi.toml").open("rb") as file:
        return tomllib.load(file)["tasks"]


def listing(known: dict[str, Task]) -> str:
    """Every task and what it does."""
    width = max(map(len, known))
    return "\n".join(f"  {name:<{width}}  {task['description']}" for name, task in known.items())


def command(name: str, task: Task, given: list[str]) -> str:
    """The shell line of a task with its arguments filled in.

    Raises:
        CannotRun: an argument is missing, or there is one too many.
    """
    line = task["cmd"]
    if "args" not in task:
        return " ".join([line, *map(shlex.quote, given)])
    arguments = [{"arg": one} if isinstance(one, str) else one for one in task["args"]]
    if len(given) > len(arguments):
        raise CannotRun(f"{name} takes {len(arguments)} arguments, not {len(given)}")
    for position, argument in enumerate(arguments):
        value = given[position] if position < len(given) else argument.get("default")
        if value is None:
            raise CannotRun(f"{name} needs the argument {argument['arg']}")
        line = re.sub(r"\{\{\s*" + argument["arg"] + r"\s*\}\}", shlex.quote(value) if value else "", line)
    return line


def install(environment: str) -> None:
    """Bring ``.venv`` to what an environment needs, unless it is there already."""
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


def run(name: str, given: list[str], known: dict[str, Task], done: set[str]) -> int:
    """Run a task after those it depends on; the exit status of the first that fails, or 0."""
    if name in done:
        return 0
    done.add(name)
    if name not in known:
        raise CannotRun(f"there is no task {name!r}. The tasks are:\n\n{listing(known)}")
    task = known[name]
    needed = task.get("depends-on", [])
    for other in [needed] if isinstance(needed, str) else needed:
        if status := run(other, [], known, done):
            return status
    if "cmd" not in task:
        return 0
    install(task.get("default-environment", "default"))
    path = os.pathsep.join([str(ROOT / ".venv" / "bin"), os.environ.get("PATH", "")])
    environment = os.environ | {"PATH": path, "PYTHONPATH": str(ROOT)} | task.get("env", {})
    # Ctrl-C reaches the task itself, which ends in its own way; its shell and we wait for that.
    shell = ["sh", "-c", f"trap : INT; {command(name, task, given)}"]
    with subprocess.Popen(shell, cwd=ROOT / task.get("cwd", "."), env=environment) as process:
        while True:
            with contextlib.suppress(KeyboardInterrupt):
                return process.wait()


def main() -> int:
    """Run the task named by the arguments; without one, list them all."""
    interrupts.restore()  # a shell that is started with Ctrl-C ignored could not even set its trap
    known = tasks()
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        print(f"./run TASK [ARGUMENT …]\n\n{listing(known)}")
        return 0
    try:
        return run(sys.argv[1], sys.argv[2:], known, set())
    except CannotRun as error:
        print(f"run: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
