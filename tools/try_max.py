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
from pathlib import Path

from checker.course.installed import needed_version
from checker.course.paths import ROOT
from checker.course.steps import Step, all_steps, uses_max
from cli import grading
from cli.processes import Ended, run_module
from tools import environments

FIRST_SECONDS = 900.0  # for the first check that runs MAX, which compiles the recorded kernels
EACH_SECONDS = 300.0
NEXT = "next"
OF_MAX = re.compile(r"(max|mojo)\b")  # the packages that belong to a version of MAX


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
    except environments.CannotPrepare as error:
        print(f"try-max: {error}", file=sys.stderr)
        return 2
    course = copy_of_the_course(folder / "course", version)
    contract = run(folder, course, "checker.max_adapter.contract", limit=EACH_SECONDS)
    print(f"The contract, with MAX {version}:\n\n{contract.output.strip() or contract.last_line}\n")
    print("| step | answer | seconds | why |\n|---|---|---|---|")
    all_pass, limit = contract.status == 0, FIRST_SECONDS
    for step in steps or all_steps():
        started = time.monotonic()
        answer, why = check(folder, course, step, limit)
        print(f"| {step.task} | {answer} | {time.monotonic() - started:.0f} | {why} |", flush=True)
        all_pass &= answer == "pass"
        limit = EACH_SECONDS if uses_max(step) else limit
    return 0 if all_pass else 1


def newest() -> str:
    """Return the newest version of MAX that pip finds in its indexes, including pre-releases.

    Raises:
        CannotPrepare: pip finds none.
    """
    dry = ["--dry-run", "--ignore-installed", "--no-deps", "--pre", "--quiet", "--report", "-"]
    with tempfile.TemporaryDirectory() as folder:  # an environment with a pip, which one that uv has made lacks
        install = [f"{folder}/bin/python", "-m", "pip", "install", *dry, "max"]
        for command in ([sys.executable, "-m", "venv", folder], install):
            asked = subprocess.run(command, stdout=subprocess.PIPE, env=os.environ, check=False)
            if asked.returncode:
                raise environments.CannotPrepare("pip cannot say which MAX is the newest; it says why above")
    return json.loads(asked.stdout)["install"][0]["metadata"]["version"]


def environment(version: str) -> Path:
    """Return the folder of an environment with this MAX, and everything else as the learner has it.

    Raises:
        CannotPrepare: pip could not install it.
    """
    folder, pins = ROOT / f".venv-max-{version}", ROOT / f".venv-max-{version}.txt"
    learners = (ROOT / "requirements" / "learn.txt").read_text().splitlines()
    pins.write_text("\n".join([*(pin for pin in learners if not OF_MAX.match(pin)), f"max=={version}", ""]))
    make, install = environments.with_pip(folder, pins)
    newer_pip = [str(environments.python_of(folder)), "-m", "pip", "install", "--quiet", "pip>=25"]  # can resolve MAX
    environments.make(folder, pins, [make, newer_pip, install])
    return folder


def copy_of_the_course(place: Path, version: str) -> Path:
    """Copy what a check needs to ``place``, asking for MAX ``version``."""
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    grading.copy_course(place)
    project = place / "pyproject.toml"
    project.write_text(project.read_text().replace(f"=={needed_version()}", f"=={version}"))
    return place


def check(folder: Path, course: Path, step: Step, limit: float) -> tuple[str, str]:
    """Check a solution; return pass, fail or "not reached", and why it is not a pass."""
    ended = run(folder, course, "cli", step.task, "--solution", "--no-compile", "--json", limit=limit)
    if ended.status is None:
        return "not reached", f"no answer within {limit:.0f} s"
    try:
        why = grading.why_not(json.loads(ended.output))
    except ValueError:  # no verdict
        why = ended.last_line
    return "fail" if ended.status else "pass", " ".join(why.split()).replace("|", "\\|")


def run(folder: Path, course: Path, module: str, *arguments: str, limit: float) -> Ended:
    """Run a module of the copy in the environment, with a cache of its own."""
    # A process that has imported MAX says in MODULAR_… where its MAX is, and in PYTHONPATH which modules it uses.
    others = {name: value for name, value in os.environ.items() if not name.startswith(("MODULAR_", "PYTHONPATH"))}
    variables = others | {"XDG_CACHE_HOME": str(folder / "cache"), "NO_COLOR": "1"}
    python = environments.python_of(folder)
    return run_module(module, *arguments, seconds=limit, python=python, folder=course, environment=variables)
