"""Run the tasks of ``pixi.toml`` without pixi: ``python -m cli.start.tasks TASK [ARGUMENT …]``.

A task has a line (``cmd``), to which arguments are appended, a ``description``, and maybe a ``default-environment``.
"""

from __future__ import annotations

import os
import re
import shlex
import signal
import sys
import tomllib
from collections.abc import Collection
from pathlib import Path

from checker.errors import INTERRUPTED, UserError
from checker.files import ROOT
from checker.spelling import closest_name
from cli.start import setup

ACTIVATION = {"MODULAR_TELEMETRY_ENABLED": "false", "PYTHONUTF8": "1"}  # pixi.toml's, unless a caller says otherwise
OURS = ("python -m cli ", "python -m tools ")  # the beginnings of lines whose --help needs no further environment

Task = dict[str, str]


def read_tasks() -> dict[str, Task]:
    """Return the tasks of ``pixi.toml`` by name."""
    with (ROOT / "pixi.toml").open("rb") as file:
        return tomllib.load(file)["tasks"]


def list_of_tasks(all_tasks: dict[str, Task]) -> str:
    """Return a line for every task."""
    width = max(map(len, all_tasks))
    return "\n".join(f"  {name:<{width}}  {task['description']}" for name, task in all_tasks.items())


def closest_task(name: str, names: Collection[str]) -> str:
    """Return the task whose name comes closest to an unknown one; nothing if none does."""
    if step := re.fullmatch(r"(s|step_?|w|warmup_?)?(\d{1,2})(\.\w+)?", name.lower()):
        task = f"{(step[1] or 's')[0]}{int(step[2]):02}"
        return task if task in names else ""
    return closest_name(name, names)


def refuse_damage() -> None:
    """If packages are missing in a ``.venv`` that was set up, go back to ``./run``, which makes it anew.

    Raises:
        UserError: ``.venv`` has been made anew, and packages are still missing.
    """
    is_new = os.environ.pop(setup.DAMAGED, "") != ""
    if Path(sys.prefix) != setup.VENV or not (packages := setup.missing_packages()):
        return
    why = f"{', '.join(packages)} cannot be found"
    if is_new:
        raise UserError(f".venv has been made anew, and {why}. Delete the folder .venv, and run this again")
    setup.installed_list(setup.LEARN).unlink(missing_ok=True)
    os.execve("/bin/sh", ["sh", str(ROOT / "run"), *sys.argv[1:]], os.environ | {setup.DAMAGED: why})


def run(name: str, arguments: list[str], known_tasks: dict[str, Task]) -> int:
    """Become the program of a task's line, with arguments appended; return only if there is nothing to run.

    Raises:
        UserError: there is no such task, or its packages cannot be installed.
    """
    if name not in known_tasks:
        print(f"The tasks are:\n\n{list_of_tasks(known_tasks)}\n", file=sys.stderr)
        likely = closest_task(name, known_tasks)
        raise UserError(f"there is no task {name!r}{f'; did you mean {likely}?' if likely else '.'}")
    line = known_tasks[name]["cmd"]
    if not {"-h", "--help"} & set(arguments):
        setup.install(known_tasks[name].get("default-environment", "default"))
    elif not line.startswith(OURS):
        print(f"./run {name} [ARGUMENT …]\n\n{known_tasks[name]['description']}. The line is: {line}")
        return 0
    program = [*shlex.split(line), *arguments]
    if "&&" in program:  # a shell runs one after the other; it outlives Ctrl-C, and exits with the status of the last
        program = ["sh", "-c", f"trap : INT; {line} {shlex.join(arguments)}"]
    path = os.pathsep.join([str(ROOT / ".venv" / "bin"), os.environ.get("PATH", "")])
    os.chdir(ROOT)
    os.execvpe(program[0], program, ACTIVATION | os.environ | {"PATH": path, "PYTHONPATH": str(ROOT)})


def main() -> int:
    """Run the task named by the arguments; without one, list them all."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a caller may ignore Ctrl-C, which `sh` cannot undo
    name, *arguments = sys.argv[1:] or ["--help"]
    known_tasks = read_tasks()
    if name in ("-h", "--help"):
        print(f"./run TASK [ARGUMENT …]\n\n{list_of_tasks(known_tasks)}")
        return 0
    try:
        if name != "doctor":  # doctor itself tells what is wrong
            refuse_damage()
        return run(name, arguments, known_tasks)
    except (UserError, OSError) as error:
        print(f"run: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
