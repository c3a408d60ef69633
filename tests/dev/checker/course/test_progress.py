"""What is saved of hints, checks and hunts: what is damaged in the file is left out, and nothing else."""

import json
import shutil

import pytest

from checker.course import progress
from checker.course.progress import (
    LastPass,
    Progress,
    SavedHunts,
    as_object,
    changing_progress,
    note_hints,
    progress_in,
    read_progress,
)
from checker.course.skeletons import skeleton_of
from checker.course.source import Source
from checker.course.steps import Step, find_step
from tests.dev.helpers.commands import run


@pytest.fixture(autouse=True)
def file(monkeypatch, tmp_path):
    """A file that is not there yet."""
    monkeypatch.setattr(progress, "FILE", tmp_path / "progress.json")
    return progress.FILE


def test_what_is_saved_is_read_again():
    hunts = SavedHunts(mistake="The mask is wrong.", began=1.5, seen=["The mask is wrong."])
    with changing_progress() as saved:
        saved.hints["step_01"], saved.passes["step_02"] = 2, LastPass("1", "2", compiled=True)
        saved.failures["step_03"], saved.hunts["step_04"] = "3", hunts
    assert read_progress() == saved
    assert saved.hunts == {"step_04": hunts}


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
    '"hunts": {"step_01": {"of another version": 1}}',
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
    with changing_progress() as saved:
        saved.hunts["step_01"] = saved.hunts["step_02"] = SavedHunts(found=1)
    kept = json.loads(file.read_text())
    kept["hunts"]["step_01"][part] = damaged
    file.write_text(json.dumps(kept))
    assert read_progress().hunts == {"step_02": SavedHunts(found=1, seen=[])}


@pytest.mark.slow
def test_progress_that_is_damaged_or_cannot_be_kept(course):
    file = course.root / ".course" / "progress.json"
    file.parent.mkdir()
    file.write_text('{"hints": 3, "pass": {}}')
    assert run(course, "hint", "w01").startswith("Hint 1")
    assert json.loads(file.read_text())["hints"] == {"warmup_01": 1}
    shutil.rmtree(file.parent)
    file.parent.write_text("in the way")
    assert "(The next call shows this one again: .course/progress.json" in run(course, "hint", "w01")


def test_what_is_forgotten_of_a_step_can_be_saved_again():
    with changing_progress() as saved:
        saved.hints.update(warmup_01=2, warmup_02=1)
        saved.passes["warmup_01"] = LastPass("1", "2", compiled=True)
        saved.hunts["warmup_01"] = SavedHunts(found=1, seen=[])
    forgotten = progress.forget(find_step("w01"))
    assert read_progress() == Progress({"warmup_02": 1}, {}, {}, saved.hunts)
    note_hints(find_step("w02"), 3)
    progress.save_again(progress_in(as_object(forgotten)))
    passes = {"warmup_01": LastPass("1", "2", compiled=True)}
    assert read_progress() == Progress({"warmup_01": 2, "warmup_02": 3}, passes, {}, saved.hunts)


W01 = find_step("w01")
RIGHT = W01.read_solution().text

#: What becomes of the file while it is checked, and while it is compiled then -> whether its pass is kept as compiled.
MEANWHILE = {
    "nothing": (RIGHT, RIGHT, True),
    "a note is added": (f"{RIGHT}# a note\n", RIGHT, True),
    "it is edited while it is compiled": (RIGHT, f"{RIGHT}NOTE = 1\n", True),
    "it is reset": (skeleton_of(W01), skeleton_of(W01), None),
    "it is reset while it is compiled": (RIGHT, skeleton_of(W01), None),
    "it is reset and begun": (RIGHT, "attention = None\n", None),
    "it is reset, which is undone": (RIGHT, RIGHT, True),
}


@pytest.mark.parametrize("name", MEANWHILE)
def test_a_reset_forgets_the_pass_of_a_check_that_goes_on(monkeypatch, tmp_path, name):
    while_checked, while_compiled, is_compiled = MEANWHILE[name]
    file = tmp_path / "warmup_01.py"
    monkeypatch.setattr(Step, "learner_file", file)
    for text, compiled in ((while_checked, False), (while_compiled, True)):
        file.write_text(text)
        if "reset" in name:
            progress.forget(W01)
        is_kept = progress.note_pass(W01, Source(RIGHT), compiled=compiled)
    last = read_progress().passes.get(W01.name)
    assert (last and last.compiled) is is_compiled
    assert is_kept is (is_compiled is not None)


#: What came of checking a file again that has passed -> whether it counts as passed and as failed then.
AGAIN = {
    "a claim fails": (RIGHT, True, (False, True)),
    "it crashes": (RIGHT, False, (True, False)),
    "another text crashes": ("attention = None\n", False, (True, True)),
}


@pytest.mark.parametrize(("source", "takes_back", "counts"), AGAIN.values(), ids=AGAIN)
def test_a_crash_takes_back_no_pass_of_the_same_code(monkeypatch, tmp_path, source, takes_back, counts):
    monkeypatch.setattr(Step, "learner_file", tmp_path / "warmup_01.py")
    W01.learner_file.write_text(RIGHT)
    progress.note_pass(W01, Source(RIGHT), compiled=True)
    progress.note_failure(W01, Source(source), takes_back=takes_back)
    assert (W01.name in read_progress().passes, W01.name in read_progress().failures) == counts
