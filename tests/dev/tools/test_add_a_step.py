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

    surveyed = course.python("-m", "tools", "kernels", "98")
    assert (surveyed.returncode, surveyed.stderr) == (0, "")
    attempts = course.root / "tests" / "attempts" / "step_98.py"
    attempts.write_text(ATTEMPTS.replace("x**2", "x * 2").replace("x + x", "x + 2"))
    surveyed = course.python("-m", "tools", "kernels", "98")
    assert surveyed.returncode == 1
    assert "step_98: The numbers are squared, not doubled. was a mistake was accepted" in surveyed.stderr
    assert "step_98: a sum was refused: " in surveyed.stderr
    attempts.write_text(ATTEMPTS)

    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    command, page = ["mdbook", "build", "book"], course.root / "book" / "html" / "step_98.html"
    subprocess.run(command, cwd=course.root, env=os.environ | {"PATH": path}, check=True, capture_output=True)
    assert "names 1 mistake" in page.read_text()
    assert "The numbers are squared, not doubled." in page.read_text()
