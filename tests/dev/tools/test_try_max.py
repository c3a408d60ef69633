"""What ``try-max`` grades."""

import os
import re
import shutil
import sys
from pathlib import Path

from checker.course.steps import find_step
from tools import try_max


def test_solutions_are_graded_in_a_copy_that_asks_for_the_version(monkeypatch, tmp_path, capfd):
    """The environment is this one, with what it has compiled."""
    monkeypatch.setattr(try_max, "ROOT", tmp_path)
    folder = tmp_path / ".venv-max-1.2.3"
    course = try_max.copy_of_the_course(folder, "1.2.3")
    assert '"max==1.2.3"' in (course / "pyproject.toml").read_text()
    assert re.findall(r"^max\S*", (course / "requirements" / "learn.txt").read_text(), re.MULTILINE) == ["max==1.2.3"]
    (course / ".venv").mkdir()
    for path in Path(sys.prefix).glob("[!i]*"):  # all but installed-*.txt
        (course / ".venv" / path.name).symlink_to(path)
    shutil.copy(course / "requirements" / "learn.txt", course / ".venv" / "installed-learn.txt")
    (folder / "cache").symlink_to(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    assert try_max.try_checks("1.2.3", [find_step("w01"), find_step("s02")]) == 0
    printed = capfd.readouterr().out
    assert "all hooks into MAX fit" in printed
    assert re.findall(r"^  (\w\d\d)  (\w+) ", printed, re.MULTILINE) == [("w01", "pass"), ("s02", "pass")]
