"""Build an environment with another MAX, and say which checks it passes.

The environment ``.venv-max-VERSION`` is kept between runs, with the kernels that were compiled in it. The solutions are
graded in a copy of the course whose ``pyproject.toml`` asks for that version, so nothing in the checkout is touched.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from checker.course.installed import needed_version
from checker.course.paths import ROOT
from checker.course.steps import Step, all_steps
from cli import grading
from tools import environments

NEXT = "next"
OF_MAX = re.compile(r"(max|mojo)\b")  # the packages that belong to a version of MAX


def try_max(version: str, steps: Sequence[Step]) -> int:
    """Grade solutions with MAX ``version``, and print the grades.

    Args:
        version: as on PyPI, ``26.6.0``; or ``next``, the newest that pip finds.
        steps: those to grade.

    Returns:
        The exit status: 0 if every check passes and the contract holds, or there is no next version; 1 if not.

    Raises:
        CannotPrepare: there is no environment.
    """
    if version == NEXT and (version := newest()) == needed_version():
        print(f"MAX {version} is the newest: there is no next one to try.")
        return 0
    folder = environment(version)
    course = copy_of_the_course(folder / "course", version)
    # A process that has imported MAX says in MODULAR_… where its MAX is, and in PYTHONPATH which modules it uses.
    others = {name: value for name, value in os.environ.items() if not name.startswith(("MODULAR_", "PYTHONPATH"))}
    others |= {"XDG_CACHE_HOME": str(folder / "cache")}
    grade = ["cli", "grade", "--no-compile", "--steps", ",".join(step.task for step in steps)]
    print(f"The contract, with MAX {version}, and the grades of the solutions:", flush=True)
    ends = [
        subprocess.run([environments.python_of(folder), "-m", *line], cwd=course, env=others, check=False).returncode
        for line in (["checker.max_adapter.contract"], grade)
    ]
    return int(any(ends))


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
    """Copy the course to ``place``, solved, and asking for MAX ``version``."""
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    grading.copy_course(place)
    for step in all_steps():
        learners = place / step.learner_file.relative_to(ROOT)
        learners.parent.mkdir(exist_ok=True)
        shutil.copy(step.solution_file, learners)
    project = place / "pyproject.toml"
    project.write_text(project.read_text().replace(f"=={needed_version()}", f"=={version}"))
    return place
