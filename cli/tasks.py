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
from pathlib import Path

from checker.errors import UserError
from checker.interrupts import INTERRUPTED

ROOT = Path(__file__).resolve().parents[1]  # the steps have it too, and take longer to import than all of this
OURS = ("python -m cli ", "python -m tools ")  # lines whose --help every environment can answer

Task = dict[str, str]


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
        raise UserError(f"the packages of {wanted.name} could not be installed; is there a network?") from error
    shutil.copy(wanted, stamp)


def run(name: str, arguments: list[str], known: dict[str, Task]) -> int:
    """Become the line of a task, with arguments appended; return only where nothing is to run.

    Raises:
        UserError: there is no such task, or its packages cannot be installed.
    """
    if name not in known:
        raise UserError(f"there is no task {name!r}. The tasks are:\n\n{listing(known)}")
    line = known[name]["cmd"]
    if not {"-h", "--help"} & set(arguments):
        install(known[name].get("default-environment", "default"))
    elif not line.startswith(OURS):
        print(f"./run {name} [ARGUMENT …]\n\n{known[name]['description']}. The line is: {line}")
        return 0
    program = [*shlex.split(line), *arguments]
    if "&&" in program:  # a shell waits for each of them; it outlives Ctrl-C, as its exit status is that of the last
        program = ["sh", "-c", f"trap : INT; {line} {shlex.join(arguments)}"]
    path = os.pathsep.join([str(ROOT / ".venv" / "bin"), os.environ.get("PATH", "")])
    os.chdir(ROOT)
    os.execvpe(program[0], program, os.environ | {"PATH": path, "PYTHONPATH": str(ROOT)})


def main() -> int:
    """Run the task named by the arguments; without one, list them all."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a caller may ignore Ctrl-C, which `sh` cannot undo
    name, *arguments = sys.argv[1:] or ["--help"]
    known = tasks()
    if name in ("-h", "--help"):
        print(f"./run TASK [ARGUMENT …]\n\n{listing(known)}")
        return 0
    try:
        return run(name, arguments, known)
    except UserError as error:
        print(f"run: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
