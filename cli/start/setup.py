"""Set up ``.venv``: ``python -m cli.start.setup``, by any Python from 3.11 on, with the standard library alone.

``./run`` calls it before its first task, and ``tasks`` has it install the packages that only some tasks need. Two
processes wait for each other. A set-up that was stopped goes on at the next call, and a ``.venv`` that cannot be used
any more is made anew.
"""

from __future__ import annotations

import contextlib
import fcntl
import importlib
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from checker.errors import INTERRUPTED, UserError, exit_on_termination
from checker.files import ROOT
from checker.packages import needed_versions
from cli.shared.programs import last_line

VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
LOCK = ROOT / ".course" / "setup.lock"
DAMAGED = "COURSE_DAMAGED"  # the variable that tells another process what is wrong with ``.venv``
LEARN = "learn"  # the environment that every task needs
FOR_LEARNERS = ("book", "notebook", "serve")  # environments that some of a learner's tasks add; others are maintainers'
SIZE_GB = 0.8  # of the packages that every task needs
ROOM_GB = 2.0  # to be free on the disk, for packages while they are unpacked, and for kernels
ON_DEBIAN = f"On Debian and Ubuntu: apt install python{sys.version_info[0]}.{sys.version_info[1]}-venv"

Command = Sequence[str | Path]


def tell(text: str) -> None:
    """Print a line for a person on standard error; the output of a task goes to standard output."""
    print(text, file=sys.stderr, flush=True)


# ---------------------------------------------------------------- is it installed?


def requirements_file(environment: str) -> Path:
    """Return the file that lists the packages of an environment."""
    return ROOT / "requirements" / f"{environment}.txt"


def installed_list(environment: str) -> Path:
    """Return the copy of that list, which is made once all its packages are installed."""
    return VENV / f"installed-{environment}.txt"


def is_installed(environment: str) -> bool:
    """Return whether all packages of an environment have been installed."""
    installed = installed_list(environment)
    return installed.is_file() and installed.read_bytes() == requirements_file(environment).read_bytes()


def why_unusable() -> str:
    """Return why the ``.venv`` cannot be used; nothing if it can, or if there is none."""
    if not os.path.lexists(VENV):
        return ""
    if not PYTHON.exists():
        return "its Python is gone"
    try:
        answer = run_quietly([PYTHON, "-c", "import sys; print('python%d.%d' % sys.version_info[:2])"])
    except OSError as error:  # nobody may run it, say
        return f"its Python does not start ({error.strerror})"
    if answer.returncode:
        return f"its Python does not start ({last_line(answer)})"
    versions, version = [path.name for path in (VENV / "lib").glob("python*")], answer.stdout.strip()
    if versions and version not in versions:
        return f"it was made with {versions[0]}, and its Python is {version} now"
    return "" if is_installed(LEARN) else os.environ.get(DAMAGED, "")


def missing_packages() -> list[str]:
    """Return which of the packages that every task needs are not found by this Python, that of ``.venv``."""
    return [name for name in needed_versions() if importlib.util.find_spec(name) is None]


# ---------------------------------------------------------------- programs


def run_quietly(command: Command) -> subprocess.CompletedProcess[str]:
    """Run a program, and return what it printed."""
    streams: Any = {"stdin": subprocess.DEVNULL, "capture_output": True}
    return subprocess.run(command, cwd=ROOT, text=True, errors="replace", check=False, **streams)


def succeeds(command: Command, lock: int) -> bool:
    """Run a program that installs something; return whether it succeeds.

    The program does not see Ctrl-C, and ends with this process. If this process is killed, the program holds on to the
    lock until it ends.
    """
    from checker.protocol.processes import kill_group  # here, since most tasks install nothing

    streams: Any = {"stdin": subprocess.DEVNULL, "stdout": sys.stderr}
    process = subprocess.Popen(command, cwd=ROOT, start_new_session=True, pass_fds=[lock], **streams)
    try:
        return process.wait() == 0
    finally:
        kill_group(process.pid)
        process.wait()


@contextlib.contextmanager
def setting_up_alone() -> Iterator[int]:
    """While this is open, no other process sets up ``.venv``; yield the lock, which ends with all that hold it."""
    LOCK.parent.mkdir(exist_ok=True)
    with LOCK.open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            tell("Another ./run is setting up .venv; this one waits for it.")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield lock.fileno()


# ---------------------------------------------------------------- set-up


def make_venv(*, anew: bool) -> None:
    """Make ``.venv`` with the Python that runs this; ``anew`` if there is one that cannot be used.

    Raises:
        UserError: it cannot be made.
    """
    if VENV.is_symlink():
        raise UserError(f".venv is a link to {VENV.readlink()}. Delete the link, and run this again")
    try:
        import venv

        venv.create(VENV, clear=anew, symlinks=True)
    except (ImportError, OSError) as error:
        raise UserError(f"{sys.executable} cannot make .venv: {error}. {ON_DEBIAN}") from error


def install_command(lock: int) -> Command:
    """Return the beginning of the command that installs packages: uv's or pip's.

    Raises:
        UserError: there is no pip in ``.venv``, and it cannot be installed.
    """
    if shutil.which("uv"):
        return ["uv", "pip", "install", "--python", PYTHON]
    if not any(VENV.glob("lib/python*/site-packages/pip")):
        run = run_quietly([PYTHON, "-m", "ensurepip", "--default-pip"])
        if run.returncode:
            raise UserError(f"{sys.executable} cannot make .venv with pip: {last_line(run)}. {ON_DEBIAN}")
        succeeds([PYTHON, "-m", "pip", "install", "--quiet", "--upgrade", "pip>=25"], lock)
    return [PYTHON, "-m", "pip", "install", "--no-input"]


def install_list(environment: str, lock: int, *options: str) -> None:
    """Install the packages of an environment, and note that they are installed.

    Raises:
        UserError: they cannot be installed; the program that installs them has printed why.
    """
    if not succeeds([*install_command(lock), *options, "--requirement", requirements_file(environment)], lock):
        free = shutil.disk_usage(ROOT).free / 1e9
        room = "" if free > ROOM_GB else f" The disk has {free:.1f} GB left."
        raise UserError(
            f"the packages could not be installed. Is there a network?{room} The same command goes on from here."
        )
    shutil.copy(requirements_file(environment), installed_list(environment))


def install_all() -> None:
    """Install all packages that a learner's tasks need.

    Raises:
        UserError: they cannot be installed, or pixi installs them.
    """
    if os.environ.get("PIXI_ENVIRONMENT_NAME"):
        raise UserError("with pixi, `pixi install --all` installs what all tasks need; then leave --all out")
    for environment in FOR_LEARNERS:
        install(environment)
    importlib.invalidate_caches()  # this process may import them


def install(environment: str) -> None:
    """Install the packages of an environment in ``.venv``, unless they are there already.

    Raises:
        UserError: they cannot be installed.
    """
    if environment == "default" or is_installed(environment):
        return
    with setting_up_alone() as lock:
        if is_installed(environment):  # the process that this one has waited for has installed them
            return
        tell(f"Installing what the environment {environment!r} adds, once. `./run warm --all` installs all.")
        install_list(environment, lock, "--quiet")


def set_up() -> None:
    """Make ``.venv``, if there is none that can be used, and install the packages that every task needs.

    Raises:
        UserError: MAX cannot run on this machine, or something cannot be made or installed.
    """
    from checker.machine import why_max_cannot_run_here

    if why := why_max_cannot_run_here():
        raise UserError(why)
    with setting_up_alone() as lock:
        why = why_unusable()
        if is_installed(LEARN) and not why:  # the process that this one has waited for has set it up
            return
        if why:
            tell(f".venv cannot be used: {why}. It is made anew.")
        tell(f"Setting up .venv, once: about a minute and {SIZE_GB} GB.")
        if why or not VENV.exists():
            make_venv(anew=bool(why))
        install_list(LEARN, lock)


def main() -> int:
    """Set up; return the exit status."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a caller may ignore Ctrl-C, which `sh` cannot undo
    exit_on_termination()
    try:
        set_up()
    except UserError as error:
        tell(f"run: {error}")
        return 2
    except OSError as error:
        tell(f"run: {error}. Is the folder of the course writable?")
        return 2
    except KeyboardInterrupt:
        tell("\nInterrupted. The same command goes on from here.")
        return INTERRUPTED
    return 0


if __name__ == "__main__":
    sys.exit(main())
