"""The file in which hints, checks and hunts are saved: what is damaged in it is left out, and nothing else."""

import json

import pytest

from checker.course import progress_file
from checker.course.progress import note_hints
from checker.course.progress_file import HuntProgress, LastPass, Progress, changing_progress, read_progress
from checker.course.steps import find_step


@pytest.fixture(autouse=True)
def file(monkeypatch, tmp_path):
    """A file that is not there yet."""
    monkeypatch.setattr(progress_file, "FILE", tmp_path / "progress.json")
    return progress_file.FILE


def test_what_is_saved_is_read_again():
    hunts = HuntProgress(mistake="The mask is wrong.", began=1.5, seen=["The mask is wrong."])
    with changing_progress() as progress:
        progress.hints["step_01"], progress.passes["step_02"] = 2, LastPass("1", "2", compiled=True)
        progress.failures["step_03"], progress.hunts["step_04"] = "3", hunts
    assert read_progress() == progress
    assert progress.hunts == {"step_04": hunts}


@pytest.mark.parametrize("seen", ['"x"', "null", "[2]", "{}", "1.5"])
def test_a_damaged_count_of_hints_is_none(file, seen):
    file.write_text(f'{{"hints": {{"warmup_01": {seen}, "warmup_02": 2}}}}')
    assert read_progress().hints == {"warmup_02": 2}
    note_hints(find_step("w01"), 1)
    assert read_progress().hints == {"warmup_01": 1, "warmup_02": 2}


def test_a_file_that_cannot_be_read_is_not_written_over(file):
    file.symlink_to(file)  # to itself
    assert read_progress() == Progress({}, {}, {}, {})
    with pytest.raises(OSError, match="symbolic links"):
        note_hints(find_step("w01"), 1)
    assert file.is_symlink()


#: What is missing or damaged beside a pass.
BESIDE = [
    '"fail": {}',
    '"hints": 3',
    '"hints": {}, "pass": {"step_01": 3}',
    '"pass": {"step_01": {"code": 1, "check": "2", "compiled": true}}',
    '"hunts": {"step_01": 3}',
    '"fail": {"step_01": []}',
]


@pytest.mark.parametrize("beside", BESIDE)
def test_what_is_damaged_takes_no_pass_along(file, beside):
    kept = json.loads(f"{{{beside}}}")
    kept["pass"] = {"step_02": {"code": "1", "check": "2", "compiled": True}, **kept.get("pass", {})}
    file.write_text(json.dumps(kept))
    assert read_progress() == Progress({}, {"step_02": LastPass("1", "2", compiled=True)}, {}, {})


@pytest.mark.parametrize(("part", "damaged"), [("seen", 3), ("seen", [3]), ("found", "many"), ("began", None)])
def test_hunts_in_which_something_is_damaged_count_as_none(file, part, damaged):
    with changing_progress() as progress:
        progress.hunts["step_01"] = progress.hunts["step_02"] = HuntProgress(found=1)
    kept = json.loads(file.read_text())
    kept["hunts"]["step_01"][part] = damaged
    file.write_text(json.dumps(kept))
    assert read_progress().hunts == {"step_02": HuntProgress(found=1, seen=[])}
