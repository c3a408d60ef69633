"""A file that is written is whole, and what is kept compiled stays for as long as somebody uses it."""

import os
import time

import pytest

from checker.files import UNUSED_SECONDS, remove_unused, replace_learners_file, replacing, use_if_kept


def test_what_is_kept_stays_for_as_long_as_somebody_uses_it(tmp_path):
    used, unused, other = (tmp_path / name for name in ("used.so", "unused.so", "other.txt"))
    left_by_a_kill = tmp_path / "unused.so.123.unfinished"
    for file in (used, unused, other, left_by_a_kill):
        file.touch()
        os.utime(file, (0, time.time() - UNUSED_SECONDS - 60))
    assert use_if_kept(used)
    assert not use_if_kept(tmp_path / "missing.so")
    remove_unused(tmp_path, "*.so")
    assert sorted(tmp_path.iterdir()) == [other, used]


def test_a_learners_file_that_is_written_anew_keeps_its_link_and_its_mode(tmp_path):
    file, link = tmp_path / "elsewhere.py", tmp_path / "step.py"
    file.write_text("old")
    file.chmod(0o640)
    link.symlink_to(file)
    replace_learners_file(link, b"new")
    assert link.is_symlink()
    assert (file.read_text(), file.stat().st_mode & 0o777) == ("new", 0o640)
    replace_learners_file(tmp_path / "another.py", b"new")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["another.py", "elsewhere.py", "step.py"]


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
