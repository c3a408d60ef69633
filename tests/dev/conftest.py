"""What the tests of the tool share."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from checker.paths import ROOT, find_step
from checker.skeletons import expected

PARTS = (
    "checker",
    "models",
    "play",
    "solutions",
    "steps",
    "tests",
    "pixi.toml",
    "pyproject.toml",
    "requirements",
    "run",
)


class Course:
    """A copy of the course that a test may work in as a learner does."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def write(self, step: str, source: str | None = None, edits: dict[str, str] | None = None) -> None:
        """Put ``source``, or the edited solution, where the learner's file of a step is."""
        name = find_step(step)
        source = source if source is not None else name.solution_file.read_text()
        for old, new in (edits or {}).items():
            assert old in source
            source = source.replace(old, new)
        (self.root / "steps" / f"{name.name}.py").write_text(source)

    def fill(self, step: str, *labels: str) -> None:
        """Write the skeleton of a step with the blanks named in ``labels`` filled in."""
        from checker.blanks import find_blanks

        solution = find_step(step).solution_file.read_text()
        source = expected(find_step(step))
        for blank in find_blanks(solution):
            if blank.label in labels:
                lines = solution.splitlines(keepends=True)
                todo = lines[blank.first - 1].replace("# ", "# TODO: ", 1)
                indent = todo[: -len(todo.lstrip())]
                body = "".join(lines[blank.first - 1 : blank.last])
                source = source.replace(f"{todo}{indent}raise NotImplementedError\n", body)
        self.write(step, source)

    def line_of(self, step: str, text: str) -> int:
        """The number of the only line of a learner's file that has ``text``."""
        lines = (self.root / "steps" / f"{find_step(step).name}.py").read_text().splitlines()
        (number,) = [number for number, line in enumerate(lines, start=1) if text in line]
        return number

    def check(self, *arguments: str, timeout: int = 300) -> subprocess.CompletedProcess[str]:
        """Run the check as a learner does."""
        return self.python("-m", "checker", *arguments, timeout=timeout)

    def python(self, *arguments: str, timeout: int = 300) -> subprocess.CompletedProcess[str]:
        """Run Python in the copy."""
        environment = os.environ | {"COLUMNS": "500", "NO_COLOR": "1"}
        command = [sys.executable, *arguments]
        return subprocess.run(
            command, cwd=self.root, env=environment, capture_output=True, text=True, timeout=timeout, check=False
        )


@pytest.fixture
def course(tmp_path: Path) -> Course:
    """A copy of the course with untouched skeletons."""
    root = tmp_path / "course"
    root.mkdir()
    for part in PARTS:
        source = ROOT / part
        if source.is_dir():
            shutil.copytree(source, root / part, ignore=shutil.ignore_patterns("__pycache__", "dev", "*.kept-*"))
        else:
            shutil.copy2(source, root / part)
    for path in (root / "steps").glob("*.py"):
        path.write_text(expected(find_step(path.stem)))
    return Course(root)
