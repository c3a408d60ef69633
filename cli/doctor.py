"""Describe this machine: ``./run doctor`` prints a block to paste into a bug report.

This process does not import MAX, which may be missing or broken. Another process asks for what only MAX can say.
"""

from __future__ import annotations

import platform
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

from checker.files import ROOT
from checker.machine import output_of, why_max_cannot_run_here, why_mojo_cannot_link
from checker.packages import INSTALL_AGAIN, installed_version, why_not_usable
from cli.shared.checkout import commit
from cli.shared.programs import NO_DEVICE, Completed, last_line, run_module
from cli.start.setup import ROOM_GB

NEEDED_GB = {"memory": 4.0, "disk": ROOM_GB}
INSTALLED_GB = 7.5  # of memory: a system calls a little less than 8 GB its own
NEEDED_DRIVER, NEEDED_CLANG = 580, 16  # NVIDIA's for a GPU; Apple's, of Xcode 16, which links what Mojo compiles
CONTRACT_SECONDS = 120.0
CACHED_SECONDS = 20.0  # a check with its kernels cached ends well within this, one without never does
PROBE_SECONDS = 300.0  # the graph may have to be compiled for the accelerator
BUSY = "is the machine busy? Run this again"
CANNOT_IMPORT, CANNOT_RUN = 2, 3  # exit statuses of the contract: there is no MAX to look at, or no check runs on it


@dataclass(frozen=True)
class Fact:
    """Something that is so on this machine, in ``words``, and whether it is a problem: the checks need it otherwise."""

    words: str
    is_problem: bool = False


def problem(words: str) -> Fact:
    """Return a fact that is a problem."""
    return Fact(words, is_problem=True)


def describe_machine() -> int:
    """Print one line per fact; exit status 1 when something that the checks need is missing."""
    to_do = []
    print("```text")
    for name, fact in facts():
        print(f"{name:<12} {'no: ' if fact.is_problem else ''}{fact.words}", flush=True)
        if fact.is_problem:
            to_do.append(f"To do: {name}: {fact.words}")
    print("```")
    for line in to_do:
        print(line)
    return 1 if to_do else 0


def facts() -> Iterator[tuple[str, Fact]]:
    """Yield the facts about this machine by name, each once it is found out."""
    for name, find in FACTS.items():
        if name not in OF_A_MAC or sys.platform == "darwin":
            yield name, fact_of(name, find)


def fact_of(name: str, find: Callable[[], Fact]) -> Fact:
    """Return a fact; it is a problem if it cannot be found out, unless nobody needs to ask."""
    try:
        if name in OF_MAX and is_broken():
            return Fact("not asked, since MAX or a package cannot be imported")
        return find()
    except Exception as error:
        return problem(str(error))


@cache
def ask_contract() -> Completed | None:
    """Return what the contract with MAX says, from a process that imports MAX."""
    return run_module("checker.max_adapter.try_hooks", seconds=CONTRACT_SECONDS)


def why_not_imported() -> str:
    """Return why MAX cannot be imported, or nothing; where it cannot run, nobody tries."""
    if reason := why_max_cannot_run_here():
        return reason
    answer = ask_contract()
    return answer.stdout.strip() if answer and answer.returncode == CANNOT_IMPORT else ""


def is_broken() -> bool:
    """Return whether nobody needs to ask MAX, or a check, since what they import cannot be imported."""
    return bool(why_not_imported()) or packages().is_problem


def max_version() -> Fact:
    """Return the installed MAX, if it is the one that the course is written for and can be imported."""
    reason = why_not_usable() or why_not_imported()
    return problem(reason) if reason else Fact(installed_version())


@cache
def packages() -> Fact:
    """Return whether the other packages can be imported, from a process that imports them."""
    answer = run_module("checker.packages", seconds=CONTRACT_SECONDS)
    if answer is None:
        return problem(f"they could not be imported within {CONTRACT_SECONDS:.0f} s; {BUSY}")
    broken = answer.stdout.strip() or (last_line(answer) if answer.returncode else "")
    return problem(f"{broken} cannot be imported. {INSTALL_AGAIN}") if broken else Fact("all can be imported")


def contract() -> Fact:
    """Return whether the names of MAX that the course relies on are as it expects; checks may be slower if not."""
    answer = ask_contract()
    if answer is None:
        return problem(f"MAX could not be asked within {CONTRACT_SECONDS:.0f} s; {BUSY}")
    if not answer.stdout:
        return problem(f"MAX ended the process that asked it: {last_line(answer)}")
    words = answer.stdout.strip().replace("\n", f"\n{'':<12} ")
    return Fact(words, is_problem=answer.returncode == CANNOT_RUN)


def gpu() -> Fact:
    """Return whether an accelerator gives right numbers: those of step 02, compiled for it alone."""
    answer = run_module("cli", "s02", "--solution", "--device", "gpu", seconds=PROBE_SECONDS)
    if answer is None:
        return Fact(f"found, but a check on it did not end within {PROBE_SECONDS:.0f} s; checks run on the CPU")
    if answer.returncode == 0:
        return Fact("found: the check of step_02 passes on it")
    if answer.returncode != NO_DEVICE:
        return problem(last_line(answer))
    driver = number_printed("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader")
    note = f" (NVIDIA's driver is {driver}; MAX needs {NEEDED_DRIVER})" if 0 < driver < NEEDED_DRIVER else ""
    return Fact(f"none that MAX can use{note}; checks run on the CPU")


def number_printed(*line: str) -> int:
    """Return the first number that a program prints; 0 without one, or without the program."""
    number = re.search(r"\d+", output_of(*line))
    return int(number[0]) if number else 0


def compiler() -> Fact:
    """Return the C compiler that Mojo links with; on a Mac it is that of Xcode or of its command line tools."""
    if sys.platform != "darwin":
        reason = why_mojo_cannot_link()
        return problem(reason) if reason else Fact(f"{shutil.which('cc')}, and it links")
    version = number_printed("clang", "--version")
    if version >= NEEDED_CLANG:
        return Fact(f"clang {version}")
    install = f"Mojo needs Xcode {NEEDED_CLANG}, or its command line tools: xcode-select --install"
    return problem(f"clang {version or 'is missing'}; {install}")


def kernels() -> Fact:
    """Return whether the kernels that the checks need are compiled: step 22 loads those of all later steps."""
    started = time.monotonic()
    answer = run_module("cli", "s22", "--solution", "--no-compile", seconds=CACHED_SECONDS)
    if answer is None:
        return Fact("not compiled yet; `./run warm` does it in a few minutes, else the first check of a step does")
    if answer.returncode:
        return problem(f"the check of step_22 fails on its own solution ({last_line(answer)}); please report this")
    return Fact(f"compiled: the check of step_22 takes {time.monotonic() - started:.1f} s")


def metal() -> Fact:
    """Return whether Apple's Metal compiler is there, which MAX needs on a Mac's GPU."""
    version = number_printed("xcrun", "-sdk", "macosx", "metal", "--version")
    not_found = "not found; only the GPU needs it: xcodebuild -downloadComponent MetalToolchain"
    return Fact(f"found: {version}" if version else not_found)


def checkout() -> Fact:
    """Return the state of this checkout."""
    return Fact(commit())


def free(name: str, free_bytes: float, use: str, of: str = "") -> Fact:
    """Return how much of something is free, ``of`` how much in all, or that it is too little."""
    needed, gigabytes = NEEDED_GB[name], free_bytes / 1e9
    amount = f"{gigabytes:.1f} GB free{of}"
    return Fact(amount) if gigabytes > needed else problem(f"{amount}; {use} {needed:.0f}")


def system() -> Fact:
    """Return which system this is, if MAX has been built for it."""
    reason = why_max_cannot_run_here()
    return problem(reason) if reason else Fact(platform.platform())


def python() -> Fact:
    """Return which Python runs this."""
    return Fact(f"{platform.python_version()} ({sys.executable})")


def disk() -> Fact:
    """Return how much of the disk is free, or that this is too little."""
    return free("disk", shutil.disk_usage(ROOT).free, "packages and kernels need")


def processor() -> Fact:
    """Return what the processor is."""
    import psutil  # which may be broken

    return Fact(f"{platform.machine()}, {psutil.cpu_count(logical=False)} cores, {psutil.cpu_count()} threads")


def memory() -> Fact:
    """Return how much memory is free, or that this is too little, or too little is installed."""
    import psutil

    about = psutil.virtual_memory()
    if about.total < INSTALLED_GB * 1e9:
        return problem(f"{about.total / 1e9:.1f} GB installed; MAX needs 8")
    return free("memory", about.available, "compiling needs about", of=f" of {about.total / 1e9:.1f}")


OF_MAX = ("contract", "gpu", "kernels")  # what only MAX can say
OF_A_MAC = ("metal",)  # what is asked nowhere else
FACTS: dict[str, Callable[[], Fact]] = {
    "system": system,
    "processor": processor,
    "python": python,
    "packages": packages,
    "max": max_version,
    "contract": contract,
    "checkout": checkout,
    "memory": memory,
    "disk": disk,
    "gpu": gpu,
    "metal": metal,
    "compiler": compiler,
    "kernels": kernels,
}
