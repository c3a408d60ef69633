"""Say which checks another MAX passes, in a copy of the course that asks for it.

The copy ``.venv-max-VERSION/course`` has the solutions as its steps. There ``./run`` makes an environment, as it does
for a learner; it is kept between runs, with the kernels that were compiled. Nothing in the checkout is touched.
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

from checker.course.steps import Step, all_steps
from checker.errors import UserError
from checker.files import ROOT
from checker.packages import needed_version
from tools.course_copy import Course

NEXT = "next"
OF_MAX = re.compile(r"^(max|mojo)\b.*\n", re.MULTILINE)  # the packages that belong to a version of MAX


def try_checks(version: str, steps: Sequence[Step]) -> int:
    """Grade solutions with MAX ``version``, and print the grades.

    Args:
        version: as on PyPI, ``26.6.0``; or ``next``, the newest that pip finds.
        steps: those to grade.

    Returns:
        The exit status: 0 if every check passes and the contract holds, or there is no next version; 1 if not.

    Raises:
        UserError: there is no environment with that version.
    """
    if version == NEXT:
        version = newest()
        if version == needed_version():
            print(f"MAX {version} is the newest: there is no next one to try.")
            return 0
    folder = ROOT / f".venv-max-{version}"
    course = copy_of_the_course(folder, version)
    # A process that has imported MAX says in MODULAR_… where its MAX is, and in PYTHONPATH which modules it uses.
    others = {name: value for name, value in os.environ.items() if not name.startswith(("MODULAR_", "PYTHONPATH"))}
    others |= {"NO_PIXI": "1", "XDG_CACHE_HOME": str(folder / "cache")}

    def run(*line: str, out: int | None = None) -> int:
        return subprocess.run(line, cwd=course, env=others, stdout=out, check=False).returncode

    if run("./run", out=subprocess.DEVNULL):  # which makes the environment, and lists the tasks
        raise UserError(f"there is no environment with MAX {version}; why is said above")
    print(f"The contract, with MAX {version}, and the grades of the solutions:", flush=True)
    contract = run(".venv/bin/python", "-m", "checker.max_adapter.try_hooks")
    grades = run("./run", "grade", "--no-compile", "--steps", ",".join(step.task for step in steps))
    return int(bool(contract or grades))


def newest() -> str:
    """Return the newest version of MAX that pip finds in its indexes, including pre-releases.

    Raises:
        UserError: pip finds none.
    """
    dry = ["--dry-run", "--ignore-installed", "--no-deps", "--pre", "--quiet", "--report", "-"]
    with tempfile.TemporaryDirectory() as folder:  # an environment with a pip, which one that uv has made lacks
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        install = [f"{folder}/bin/python", "-m", "pip", "install", *dry, "max"]
        asked = subprocess.run(install, stdout=subprocess.PIPE, env=os.environ, check=False)
    if asked.returncode:
        raise UserError("pip cannot say which MAX is the newest; it says why above")
    return json.loads(asked.stdout)["install"][0]["metadata"]["version"]


def copy_of_the_course(folder: Path, version: str) -> Path:
    """Make a copy of the course in a folder, solved, and asking for MAX ``version``; its environment stays."""
    place, kept = folder / "course", folder / "venv"
    if (place / ".venv").exists():
        (place / ".venv").rename(kept)
    shutil.rmtree(place, ignore_errors=True)
    course = Course(place)
    if kept.exists():
        kept.rename(place / ".venv")
    for step in all_steps():
        course.write(step.task)
    project, pins = place / "pyproject.toml", place / "requirements" / "learn.txt"
    project.write_text(project.read_text().replace(f"=={needed_version()}", f"=={version}"))
    pins.write_text(f"{OF_MAX.sub('', pins.read_text())}max=={version}\n")
    return place
