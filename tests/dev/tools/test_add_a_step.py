"""A step that is added to a copy (solution, claims, attempts, chapter, task) is picked up with no other edit."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from checker.course.paths import ROOT

pytestmark = pytest.mark.slow

SOLUTION = '''\
"""Step 98: doubling, which this test has made up."""

from __future__ import annotations

import numpy as np


def doubled(x: np.ndarray) -> np.ndarray:  # [n] -> [n]
    """Return twice every number."""
    # Multiply by two. (1 line)
    return 2 * x
'''
CLAIMS = '''\
"""Step 98, doubling: what is claimed."""

import numpy as np

from checker.claims import about, equal


@about("doubled")
def test_doubled(step):
    """Every number is there twice."""
    equal(step.doubled(np.array([1.0, -2.5])), np.array([2.0, -5.0]), whose="the right number")
'''
ATTEMPTS = '''\
"""Step 98: what people write instead."""

MISTAKES = {"The numbers are squared, not doubled.": {"2 * x": "x**2"}}
ALTERNATIVES = {"a sum": {"2 * x": "x + x"}}
HABITS = {}
'''
CHAPTER = """\
# Step 98: doubling

The check of `./run s98` names {{= mistakes("98") }} mistake.

{{skeleton 98}}

{{mistakes 98}}

## Hints

<details class="hint">
<summary>Hint 1 of 1: the idea</summary>

Twice is `2 *`.

</details>
"""
TASK = """
[tasks.s98]
cmd = "python -m cli s98"
description = "Check steps/step_98.py: doubling"
"""


@pytest.fixture
def with_step(course):
    """The copy, with the step added to it by the five files that CONTRIBUTING names."""
    root = course.root
    (root / "solutions" / "solution_98.py").write_text(SOLUTION)
    (root / "tests" / "test_step_98.py").write_text(CLAIMS)
    (root / "tests" / "attempts" / "step_98.py").write_text(ATTEMPTS)
    shutil.copytree(ROOT / "book", root / "book", ignore=shutil.ignore_patterns("html", "__pycache__"))
    (root / "book" / "src" / "step_98.md").write_text(CHAPTER)
    with (root / "book" / "src" / "SUMMARY.md").open("a") as summary:
        summary.write("\n- [Step 98: doubling](step_98.md)\n")
    with (root / "pixi.toml").open("a") as manifest:
        manifest.write(TASK)
    assert course.python("-m", "cli", "skeletons").returncode == 0
    return course


def test_every_part_of_the_tool_knows_it(with_step):
    course, learner = with_step, with_step.root / "steps" / "step_98.py"
    assert "# TODO: Multiply by two. (1 line)" in learner.read_text()

    untouched = course.check("s98")
    assert untouched.returncode == 1
    assert "todo      doubled" in untouched.stdout

    survey = "from checker.course.steps import find_step; from tools.surveys.survey import subjects_of, survey; "
    survey += "step = find_step('98'); surveyed = list(survey(step, subjects_of(step), record=True)); "
    survey += "print(sum(each.accepted for each in surveyed), *(each.named for each in surveyed if not each.accepted))"
    assert course.python("-c", survey).stdout == "2 ['The numbers are squared, not doubled.']\n"

    learner.write_text(SOLUTION.replace("2 * x", "x**2"))
    spoiled = course.check("s98")
    assert spoiled.returncode == 1
    assert "doubled: The numbers are squared, not doubled." in spoiled.stdout

    learner.write_text(SOLUTION.replace("2 * x", "x + x"))
    assert course.check("s98").returncode == 0
    assert "s98  done" in course.python("-m", "cli", "status").stdout
    assert "Twice is `2 *`." in course.python("-m", "cli", "hint", "98", "--yes").stdout
    assert "return x + x" in course.python("-m", "cli", "compare", "98").stdout
    assert "s98" in course.python("-m", "cli.tasks").stdout

    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    command, page = ["mdbook", "build", "book"], course.root / "book" / "html" / "step_98.html"
    subprocess.run(command, cwd=course.root, env=os.environ | {"PATH": path}, check=True, capture_output=True)
    assert "names 1 mistake" in page.read_text()
    assert "The numbers are squared, not doubled." in page.read_text()
