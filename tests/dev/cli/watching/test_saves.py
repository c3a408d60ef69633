"""Which files were saved, whatever the editor does to save them."""

import threading

import pytest

from checker.course.steps import find_step
from cli.watching.saves import Saves

FIRST, SECOND = find_step("w01"), find_step("w02")


@pytest.fixture
def files(tmp_path):
    """A file for each of two steps."""
    files = {step: tmp_path / step.learner_file.name for step in (FIRST, SECOND)}
    for file in files.values():
        file.write_text("before\n")
    return files


def test_a_save_is_told_once_and_so_is_a_file_that_comes_or_goes(files, tmp_path):
    saves, new = Saves(files), tmp_path / "new"
    assert saves.look() == set()
    files[FIRST].write_text("longer than before\n")
    assert [saves.look(), saves.look()] == [{FIRST}, set()]
    new.write_text("before\n")
    new.replace(files[SECOND])  # as editors do that write a new file beside it
    assert saves.look() == {SECOND}
    for file in files.values():
        file.unlink()
    assert saves.look() == {FIRST, SECOND}
    files[FIRST].write_text("before\n")
    assert saves.look() == {FIRST}


def test_what_a_check_reads_was_seen_even_while_an_editor_replaces_it(files, monkeypatch):
    saves = Saves(files)
    monkeypatch.setattr("cli.watching.saves.REPLACE_SECONDS", 30)
    files[FIRST].write_text("")
    writing = threading.Timer(0.1, files[FIRST].write_text, ["after it was emptied\n"])
    writing.start()
    saves.settle(FIRST)
    assert files[FIRST].read_text() == "after it was emptied\n"
    writing.join()
    assert saves.look() == set()
    files[SECOND].unlink()
    monkeypatch.setattr("cli.watching.saves.REPLACE_SECONDS", 0.1)
    saves.settle(SECOND)  # it does not wait for ever
    assert saves.look() == set()
