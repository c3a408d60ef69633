"""How a person may name a step, and what becomes of files that are written."""

import os
import time

import pytest

from checker.course import steps
from checker.course.steps import UNUSED_SECONDS, all_steps, find_step, is_kept, remove_unused, replacing


def test_an_unknown_step_lists_those_there_are(course):
    assert {find_step(text).name for text in ("07", "7", "s07", "step_07")} == {"step_07"}
    run = course.check("s99", status=2)
    assert [step.task for step in all_steps() if step.task not in run.stderr] == []


def test_what_a_merge_or_an_editor_leaves_is_no_step(monkeypatch, tmp_path):
    for name in ("solution_07.py", "solution_07.py.orig", "solution_21.mojo", "warmup_01.py.bak", "checkpoint.py"):
        (tmp_path / name).touch()
    monkeypatch.setattr(steps, "SOLUTIONS", tmp_path)
    assert [step.name for step in all_steps()] == ["step_07", "step_21"]


def test_what_is_kept_stays_for_as_long_as_somebody_uses_it(tmp_path):
    used, unused, other = (tmp_path / name for name in ("used.so", "unused.so", "other.txt"))
    for file in (used, unused, other):
        file.touch()
        os.utime(file, (0, time.time() - UNUSED_SECONDS - 60))
    assert is_kept(used)
    assert not is_kept(tmp_path / "missing.so")
    remove_unused(tmp_path, "*.so")
    assert sorted(tmp_path.iterdir()) == [other, used]


def write_half(file):
    with replacing(file) as new:
        new.write_text("half")
        raise OSError("the disk is full")


def test_a_file_that_cannot_be_written_to_its_end_is_as_it_was_and_alone(tmp_path):
    file = tmp_path / "file"
    file.write_text("old")
    with pytest.raises(OSError, match="full"):
        write_half(file)
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("file", "old")]
