"""Describe this machine: ``./run doctor`` prints a block to paste into a bug report.

This process does not import MAX, which may be missing or broken. Another process asks for what only MAX can say.
"""

from __future__ import annotations

import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from functools import cache

import psutil

from checker.course.installed import installed_version, why_not_usable
from checker.course.languages import PYTHON
from checker.course.paths import ROOT
from checker.course.steps import all_steps, uses_max

NEEDED_GB = {"memory": 4.0, "disk": 2.0}
CACHED_SECONDS = 20.0  # a check with its kernels cached ends well within this, one without never does
CONTRACT_SECONDS = 120.0
PROBE_SECONDS = 300.0  # the accelerator's kernels may have to be compiled
CANNOT_IMPORT = 2  # the exit status of the contract if there is no MAX to look at
NO_MAX = "not asked, since MAX cannot be imported"


def doctor() -> int:
    """Print one line per fact; exit status 1 when something that the checks need is missing."""
    problems = []
    print("```text")
    for name, find in FACTS.items():
        try:
            fact = find()
        except Exception as error:
            fact = f"no: {error}"
        print(f"{name:<12} {fact}", flush=True)
        if fact.startswith("no: "):
            problems.append(f"{name}: {fact[4:]}")
    print("```")
    for problem in problems:
        print(f"To do: {problem}")
    return 1 if problems else 0


def ask(module: str, *arguments: str, seconds: float) -> tuple[int | None, str]:
    """Run a module of ours in a process of its own; return its exit status and what it said.

    There is no status if it did not end within ``seconds``; it is then killed, with everything that it started.
    """
    command = [sys.executable, "-m", module, *arguments]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        try:
            said, _ = process.communicate(timeout=seconds)
            return process.returncode, said.strip()
        except subprocess.TimeoutExpired:
            for one in [*psutil.Process(process.pid).children(recursive=True), process]:
                one.kill()
            return None, ""


def last_line(said: str) -> str:
    """Return the last line of what a process said."""
    return said.splitlines()[-1] if said else "it said nothing"


def python() -> str:
    """Return the interpreter in use."""
    version = platform.python_version()
    fits = (3, 11) <= sys.version_info[:2] <= (3, 13)
    return f"{version} ({sys.executable})" if fits else f"no: {version}; this course needs 3.11, 3.12 or 3.13"


def max_version() -> str:
    """Return the installed MAX, if it is the one that the course is written for and can be imported."""
    if why := why_not_usable():
        return f"no: {why}"
    status, said = contract_said()
    return f"no: {said}" if status == CANNOT_IMPORT else installed_version()


@cache
def contract_said() -> tuple[int | None, str]:
    """Return what the contract with MAX says, from a process that imports MAX."""
    return ask("checker.max_adapter.contract", seconds=CONTRACT_SECONDS)


def contract() -> str:
    """Return whether the names of MAX that the course relies on are as it expects; checks may be slower if not."""
    status, said = contract_said()
    if status == CANNOT_IMPORT:
        return NO_MAX
    if status is None:
        return f"no: MAX could not be asked within {CONTRACT_SECONDS:.0f} s; is the machine busy? Run this again"
    if status and "Traceback" in said:
        return f"no: MAX ended the process that asked it: {last_line(said)}"
    return said.replace("\n", f"\n{'':<12} ")


def gpu() -> str:
    """Return the accelerator, if an operation ran on it and was right."""
    if contract_said()[0] == CANNOT_IMPORT:
        return NO_MAX
    status, said = ask("checker.max_adapter.probe", seconds=PROBE_SECONDS)
    if status is None:
        return f"found, but an addition on it did not end within {PROBE_SECONDS:.0f} s; checks run on the CPU"
    if status == 0:
        return f"{last_line(said)}: an addition on it gives the right sum"
    return "none that MAX can use; checks run on the CPU" if "there is no device" in said else f"no: {last_line(said)}"


def kernels() -> str:
    """Return whether the kernels that the checks need are compiled already: the later steps load them all."""
    if contract_said()[0] == CANNOT_IMPORT:
        return NO_MAX
    step = next(step for step in reversed(all_steps()) if uses_max(step) and step.language is PYTHON)
    start = time.monotonic()
    status, said = ask("cli", step.task, "--solution", "--no-compile", seconds=CACHED_SECONDS)
    if status is None:
        return "not compiled yet; `./run warm` does it in a few minutes, else the first check of a step does"
    if status:
        return f"no: the check of {step.name} fails on its own solution ({last_line(said)}); please report this"
    return f"compiled: the check of {step.name} takes {time.monotonic() - start:.1f} s"


def commit() -> str:
    """Return the state of this checkout; a learner's own steps do not count as a change."""
    git = ["git", "-C", str(ROOT)]
    found = subprocess.run([*git, "describe", "--always"], capture_output=True, text=True, check=False).stdout.strip()
    if not found:
        return "not a git checkout"
    changed = [*git, "status", "--porcelain", "--untracked-files=no", "--", ".", ":!steps"]
    return found + ("-dirty" if subprocess.run(changed, capture_output=True, check=False).stdout else "")


def memory() -> str:
    """Return the free memory."""
    free = psutil.virtual_memory().available / 1e9
    return f"{free:.1f} GB free" if free > NEEDED_GB["memory"] else f"no: {free:.1f} GB free; compiling needs about 4"


def disk() -> str:
    """Return the free disk space in the place for packages and kernels."""
    free = shutil.disk_usage(ROOT).free / 1e9
    return f"{free:.1f} GB free" if free > NEEDED_GB["disk"] else f"no: {free:.1f} GB free; packages and kernels need 2"


def metal() -> str:
    """Return whether Apple's Metal compiler is there, which MAX needs on a Mac's GPU."""
    found = subprocess.run(["xcrun", "-sdk", "macosx", "metal", "--version"], capture_output=True, check=False)
    return (
        "found"
        if found.returncode == 0
        else "not found; only the GPU needs it: xcodebuild -downloadComponent MetalToolchain"
    )


FACTS: dict[str, Callable[[], str]] = {
    "system": platform.platform,
    "processor": lambda: f"{platform.machine()}, {psutil.cpu_count(logical=False)} cores, {psutil.cpu_count()} threads",
    "python": python,
    "max": max_version,
    "contract": contract,
    "checkout": commit,
    "memory": memory,
    "disk": disk,
    "gpu": gpu,
    **({"metal": metal} if sys.platform == "darwin" else {}),
    "kernels": kernels,
}
