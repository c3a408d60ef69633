"""Build an environment with another MAX, and say which checks it passes.

The environment ``.venv-max-VERSION`` is kept between runs, with the kernels that were compiled in it. The checks run
in a copy of the course whose ``pyproject.toml`` asks for that version, so nothing in the checkout is touched.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

from checker.course.installed import needed_version
from checker.course.paths import ROOT
from checker.course.steps import Step, all_steps, uses_max

FIRST_SECONDS = 900.0  # for the first check that runs MAX, which compiles the recorded kernels
EACH_SECONDS = 300.0

NEXT = "next"

#: The packages that belong to a version of MAX.
OF_MAX = re.compile(r"(max|mojo)\b")

#: A row of a verdict that fails.
FAILED = re.compile(r"\s*fail\s{2,}")


class CannotTry(Exception):
    """The environment could not be built; the message says what to do."""


@dataclass(frozen=True)
class Tried:
    """What the check of one step said."""

    step: Step
    answer: str  # pass, fail, or "not reached"
    seconds: float
    why: str = ""


def try_max(version: str, *, steps: list[Step] | None = None) -> int:
    """Check every solution with MAX ``version``, and print the answers as a table in Markdown.

    Args:
        version: as on PyPI, ``26.6.0``; or ``next``, the newest that pip finds.
        steps: those to check; all if none are named.

    Returns:
        The exit status: 0 if every check passes and the contract holds, or there is no next version; 1 if not;
        2 if there is no environment.
    """
    try:
        if version == NEXT and (version := newest()) == needed_version():
            print(f"MAX {version} is the newest: there is no next one to try.")
            return 0
        folder = environment(version)
    except CannotTry as error:
        print(f"try-max: {error}", file=sys.stderr)
        return 2
    course = copy_of_the_course(folder / "course", version)
    told = run(folder, course, "checker.max_adapter.contract", limit=EACH_SECONDS)
    print(f"The contract, with MAX {version}:\n\n{told.output.strip()}\n")
    print("| step | answer | seconds | why |\n|---|---|---|---|")
    right = told.status == 0
    for tried in try_steps(folder, course, steps or all_steps()):
        right &= tried.answer == "pass"
        print(f"| {tried.step.task} | {tried.answer} | {tried.seconds:.0f} | {tried.why} |", flush=True)
    return 0 if right else 1


def newest() -> str:
    """Return the newest version of MAX that pip finds in its indexes, including pre-releases.

    Raises:
        CannotTry: pip finds none.
    """
    dry = ["--dry-run", "--ignore-installed", "--no-deps", "--pre", "--quiet", "--report", "-"]
    with tempfile.TemporaryDirectory() as folder:  # an environment with a pip, which one that uv has made lacks
        commands = [
            [sys.executable, "-m", "venv", folder],
            [f"{folder}/bin/python", "-m", "pip", "install", *dry, "max"],
        ]
        for command in commands:
            asked = subprocess.run(command, stdout=subprocess.PIPE, env=os.environ, check=False)
            if asked.returncode:
                raise CannotTry("pip cannot say which MAX is the newest; it says why above. Is there a network?")
    return json.loads(asked.stdout)["install"][0]["metadata"]["version"]


def environment(version: str) -> Path:
    """Return the folder of an environment with this MAX, and everything else as the learner has it.

    Raises:
        CannotTry: pip could not install it.
    """
    folder = ROOT / f".venv-max-{version}"
    pins = (ROOT / "requirements" / "learn.txt").read_text().splitlines()
    wanted = "\n".join([*(pin for pin in pins if not OF_MAX.match(pin)), f"max=={version}", ""])
    installed = folder / "installed.txt"
    if installed.is_file() and installed.read_text() == wanted:
        return folder
    print(f"Setting up {folder.name}, once: about a minute and 0.8 GB.", file=sys.stderr)
    asked = folder / "wanted.txt"
    python = folder / "bin" / "python"
    commands = [
        [sys.executable, "-m", "venv", str(folder)],
        [str(python), "-m", "pip", "install", "--quiet", "--upgrade", "pip>=25"],  # an older one cannot resolve MAX
        [str(python), "-m", "pip", "install", "--quiet", "--requirement", str(asked)],
    ]
    folder.mkdir(exist_ok=True)
    asked.write_text(wanted)
    for command in commands:
        # As os.environ has it: what MAX's compiler adds would have the new Python install into this environment.
        if subprocess.run(command, env=os.environ, check=False).returncode:
            raise CannotTry(
                f"MAX {version} could not be installed beside the other packages of requirements/learn.txt; "
                f"pip says why above. Is there such a version, for this Python?"
            )
    asked.replace(installed)
    return folder


def copy_of_the_course(place: Path, version: str) -> Path:
    """Copy what a check needs to ``place``, asking for MAX ``version``."""
    shutil.rmtree(place, ignore_errors=True)
    left_out = shutil.ignore_patterns(".*", "__pycache__", "book", "dev")
    shutil.copytree(ROOT, place, ignore=left_out)
    project = place / "pyproject.toml"
    project.write_text(project.read_text().replace(f"=={needed_version()}", f"=={version}"))
    return place


def try_steps(folder: Path, course: Path, steps: list[Step]) -> Iterator[Tried]:
    """Check the solutions of ``steps``, one after another."""
    limit = FIRST_SECONDS
    for step in steps:
        start = time.monotonic()
        told = run(folder, course, "checker", step.task, "--solution", "--no-compile", limit=limit)
        seconds = time.monotonic() - start
        if told.status is None:
            yield Tried(step, "not reached", seconds, f"no answer within {limit:.0f} s")
        else:
            yield Tried(
                step, "fail" if told.status else "pass", seconds, first_failure(told.output) if told.status else ""
            )
        if uses_max(step):
            limit = EACH_SECONDS


def first_failure(output: str) -> str:
    """Return the first claim that a verdict denies, or its last paragraph if it denies none."""
    denied = [line for line in output.splitlines() if FAILED.match(line)]
    said = denied[0] if denied else output.strip().rpartition("\n\n")[2] or "it said nothing"
    return " ".join(said.split()).replace("|", "\\|")


@dataclass(frozen=True)
class Told:
    """How a command ended, and what it wrote; without a status, it ran into the time limit."""

    status: int | None
    output: str


def run(folder: Path, course: Path, module: str, *arguments: str, limit: float) -> Told:
    """Run a module of the copy in the environment, with a cache of its own, for ``limit`` seconds at most."""
    command = [str(folder / "bin" / "python"), "-m", module, *arguments]
    # A process that has imported MAX says in MODULAR_… where its MAX is, and in PYTHONPATH which modules it uses.
    others = {name: value for name, value in os.environ.items() if not name.startswith(("MODULAR_", "PYTHONPATH"))}
    surroundings = others | {"XDG_CACHE_HOME": str(folder / "cache"), "NO_COLOR": "1", "COLUMNS": "500"}
    with subprocess.Popen(
        command, cwd=course, env=surroundings, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        try:
            output, _ = process.communicate(timeout=limit)
            return Told(process.returncode, output)
        except subprocess.TimeoutExpired:
            for one in [*psutil.Process(process.pid).children(recursive=True), process]:
                one.kill()  # otherwise the check's own child keeps compiling
            return Told(None, "")
