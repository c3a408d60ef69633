"""What this machine has: ``./run doctor`` prints a block to paste into a bug report."""

from __future__ import annotations

import importlib.metadata
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Callable

import psutil

from checker.course.paths import ROOT
from checker.course.steps import all_steps
from checker.session import child as grading

NEEDED_GB = {"memory": 4.0, "disk": 2.0}
CACHED_SECONDS = 8.0  # a check with its kernels cached ends well within this, one without never does
PROBE = """
import numpy as np
from checker.max_adapter.runtime import open_device, tensor
from max.driver import CPU
device = open_device("gpu")
x = tensor(np.arange(6, dtype=np.float32)).to(device)
assert np.from_dlpack((x + x).to(CPU())).tolist() == [0, 2, 4, 6, 8, 10]
print(device)
"""


def main() -> int:
    """Print one line a fact; exit status 1 when something that the checks need is missing."""
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


def python() -> str:
    """The interpreter in use."""
    version = platform.python_version()
    fits = (3, 11) <= sys.version_info[:2] <= (3, 13)
    return f"{version} ({sys.executable})" if fits else f"no: {version}; this course needs 3.11, 3.12 or 3.13"


def max_version() -> str:
    """The installed MAX against the one that the course is written for."""
    try:
        found = importlib.metadata.version("max")
    except importlib.metadata.PackageNotFoundError:
        return "no: not installed; run `./run doctor`, which installs it, instead of this file"
    needed = next(
        line[5:] for line in (ROOT / "requirements/learn.txt").read_text().splitlines() if line[:5] == "max=="
    )
    return found if found == needed else f"no: {found} is installed, {needed} is needed; delete .venv and run again"


def commit() -> str:
    """The state of this checkout."""
    git = ["git", "-C", str(ROOT), "describe", "--always", "--dirty"]
    return subprocess.run(git, capture_output=True, text=True, check=False).stdout.strip() or "not a git checkout"


def memory() -> str:
    """Free memory."""
    free = psutil.virtual_memory().available / 1e9
    return f"{free:.1f} GB free" if free > NEEDED_GB["memory"] else f"no: {free:.1f} GB free; compiling needs about 4"


def disk() -> str:
    """Free disk space where the packages and kernels go."""
    free = shutil.disk_usage(ROOT).free / 1e9
    return f"{free:.1f} GB free" if free > NEEDED_GB["disk"] else f"no: {free:.1f} GB free; packages and kernels need 2"


def gpu() -> str:
    """An accelerator, if an operation ran on it and was right."""
    try:
        probe = subprocess.run(
            [sys.executable, "-c", PROBE], cwd=ROOT, capture_output=True, text=True, timeout=300, check=False
        )
    except subprocess.TimeoutExpired:
        return "found, but an addition on it did not end within 300 s; checks run on the CPU"
    if probe.returncode == 0:
        return f"{probe.stdout.strip()}: an addition on it is right"
    last = probe.stderr.strip().splitlines()[-1] if probe.stderr.strip() else "unknown error"
    return "none that MAX can use; checks run on the CPU" if "there is no device" in last else f"unusable: {last}"


def kernels() -> str:
    """Whether the kernels that the checks need are compiled already, by running the last check."""
    steps = [step for step in all_steps() if step.name.startswith("step")]
    step = max(steps, key=lambda one: one.reference_file.is_file())
    start = time.monotonic()
    job = grading.Job(step, "solution", step.solution_file.read_text(), str(step.solution_file), compile=False)
    for event in grading.run(job):
        if time.monotonic() - start > CACHED_SECONDS:
            return "not compiled yet; `./run warm` does it in a few minutes, else the first check of a step does"
        if event["event"] in ("late", "died", "unloadable"):
            return f"no: the check of {step.name} fails on its own solution ({event['event']}); please report this"
    return f"compiled: the check of {step.name} takes {time.monotonic() - start:.1f} s"


def metal() -> str:
    """Apple's Metal compiler, which MAX needs on a Mac's GPU."""
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
    "checkout": commit,
    "memory": memory,
    "disk": disk,
    "gpu": gpu,
    **({"metal": metal} if sys.platform == "darwin" else {}),
    "kernels": kernels,
}

if __name__ == "__main__":
    sys.exit(main())
