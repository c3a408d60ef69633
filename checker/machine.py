"""This machine: whether MAX can run on it and Mojo can link on it, how busy it is, and which instructions it has.

Nothing here needs MAX. Set-up asks before it installs MAX, since pip would name no reason.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path

CPUINFO = Path("/proc/cpuinfo")  # Linux's
GLIBC, MACOS = (2, 34), (15, 0)  # the oldest that MAX runs with
ANSWER_SECONDS = 10.0  # for a program that is asked for a fact
BUSY = 2.0  # so many programs for each core make a machine busy; a check alone is one or two
INSTALL_CC = "On Debian and Ubuntu: apt install gcc libc6-dev; on a Mac: xcode-select --install."
X86_64_V3 = {"avx2", "bmi2", "f16c", "fma", "movbe"}  # instructions in MAX's own code; without them, it is killed


def load_per_core() -> float:
    """Return how many programs have wanted the processor in the last minute, for each core, this program included."""
    return os.getloadavg()[0] / (os.cpu_count() or 1)


def load_if_busy() -> str:
    """Return the load in words, such as ``load 18 on 2 cores``, if other programs want the processor; else nothing."""
    cores = os.cpu_count() or 1
    return f"load {load_per_core() * cores:.0f} on {cores} cores" if load_per_core() >= BUSY else ""


def instruction_line() -> str:
    """Return the line in which Linux lists the instructions of the processor; elsewhere the processor's name."""
    lines = CPUINFO.read_text().splitlines() if CPUINFO.is_file() else []
    return next((line for line in lines if line.startswith(("flags", "Features"))), platform.processor())


def why_max_cannot_run(system: str, processor: str, version: str, instructions: str) -> str:
    """Return why MAX cannot run on a machine, in a sentence; nothing if it can.

    Args:
        system: as ``platform.system`` has it.
        processor: as ``platform.machine`` has it.
        version: on Linux the C library and its version, ``glibc 2.36``; on macOS that of the system.
        instructions: as :func:`instruction_line` returns them.
    """
    numbers = tuple(map(int, re.findall(r"\d+", version)[:2]))
    match system, processor:
        case "Linux", "x86_64" | "aarch64" if not version.startswith("glibc") or numbers < GLIBC:
            return f"MAX needs glibc 2.34, as in Debian 12 or Ubuntu 22.04; here is {version or 'another C library'}."
        case "Linux", "x86_64" if instructions.startswith("flags") and not {*instructions.split()} >= X86_64_V3:
            return "MAX needs a processor with AVX2 (x86-64-v3), which this one, or this virtual machine, lacks."
        case "Darwin", "arm64" if numbers < MACOS:
            return f"MAX needs macOS 15; here is {version}."
        case ("Linux", "x86_64" | "aarch64") | ("Darwin", "arm64"):
            return ""
    return f"MAX needs Linux on x86-64 or ARM, or macOS on Apple silicon; here is {system} on {processor}."


def why_max_cannot_run_here() -> str:
    """Return why MAX cannot run on this machine, in a sentence; nothing if it can."""
    system = platform.system()
    version = platform.mac_ver()[0] if system == "Darwin" else " ".join(platform.libc_ver()).strip()
    return why_max_cannot_run(system, platform.machine(), version, instruction_line())


def output_of(*command: str) -> str:
    """Return what a program prints; nothing if there is no such program, or if it hangs, as a driver may."""
    with suppress(OSError, subprocess.TimeoutExpired):
        run = subprocess.run(
            command, capture_output=True, encoding="utf-8", errors="replace", timeout=ANSWER_SECONDS, check=False
        )
        return run.stdout
    return ""


def why_mojo_cannot_link() -> str:
    """Return why Mojo cannot make a library here, and what to do, in a sentence; nothing if it can.

    Mojo links by the program ``cc`` and no other, and ``cc`` also needs the C library's files for developers.
    """
    program = shutil.which("cc")
    if program is None:
        return f"Mojo links by `cc`, the C compiler, and there is none. {INSTALL_CC}"
    import tempfile  # a check without a kernel does without

    with tempfile.TemporaryDirectory() as folder:
        line = [program, "-shared", "-lm", "-o", f"{folder}/made.so"]
        link = subprocess.run(line, capture_output=True, text=True, errors="replace", check=False)
    message = (link.stderr.strip().splitlines() or ["it says nothing"])[0]
    return f"Mojo links by {program}, which fails: {message}. {INSTALL_CC}" if link.returncode else ""
