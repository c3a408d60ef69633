"""What the tests of the tool share."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from checker import interrupts
from checker.paths import ROOT
from tests.course import Course

interrupts.restore()  # what the tests start, and send signals to, is to begin as in a terminal


@pytest.fixture
def course(tmp_path: Path) -> Course:
    """A copy of the course with untouched skeletons."""
    return Course(tmp_path / "course")


@pytest.fixture(scope="session")
def book(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the book as mdBook builds it now; a fault in a chapter, or a warning, fails here."""
    folder = tmp_path_factory.mktemp("book")
    tools = Path(sys.executable).parent
    environment = os.environ | {"PATH": os.pathsep.join([str(tools), os.environ.get("PATH", "")])}
    command = [shutil.which("mdbook", path=environment["PATH"]) or "mdbook", "build", "book", "--dest-dir", str(folder)]
    run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    said = run.stdout + run.stderr
    assert run.returncode == 0, said
    assert "WARN" not in said, said
    return folder
