"""How a person may name a step, and which files are one."""

from checker.course import steps
from checker.course.steps import MODEL, all_steps, find_step, steps_up_to


def test_an_unknown_step_lists_those_there_are(course):
    assert {find_step(text).name for text in ("07", "7", "s07", "step_07", "step_07.py")} == {"step_07"}
    run = course.check("s99", status=2)
    assert [step.task for step in all_steps() if step.task not in run.stderr] == []


def test_what_a_merge_or_an_editor_leaves_is_no_step(monkeypatch, tmp_path):
    for name in ("solution_07.py", "solution_07.py.orig", "solution_21.mojo", "warmup_01.py.bak", "checkpoint.py"):
        (tmp_path / name).touch()
    monkeypatch.setattr(steps, "SOLUTIONS", tmp_path)
    assert [step.name for step in all_steps()] == ["step_07", "step_21"]


def test_the_steps_of_the_model_are_in_the_order_of_the_tutorial_without_warm_ups():
    tasks = [step.task for step in steps_up_to(MODEL)]
    assert tasks == ["s01", "s03", "s04", "s05", "s06", "s02", *(f"s{number:02}" for number in range(7, 14))]
