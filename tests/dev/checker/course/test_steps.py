"""How a person may name a step, and which files are one."""

import pytest

from checker.course import steps
from checker.course.steps import MODEL, Step, all_steps, claims_of, find_step, steps_up_to
from checker.stages import ClaimKind


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


def test_a_claim_has_the_kind_that_its_marker_says_and_another_decorator_is_refused(monkeypatch, tmp_path):
    monkeypatch.setattr(steps, "TESTS", tmp_path)
    claim = "@about('f')\n{}def test_f(): pass\n"
    (tmp_path / "test_step_90.py").write_text(claim.format("@pytest.mark.compiled\n"))
    assert claims_of(Step("step_90")) == {"test_f": ClaimKind.COMPILED}
    (tmp_path / "test_step_91.py").write_text(claim.format("@pytest.mark.compiled()\n"))
    with pytest.raises(ValueError, match=r"test_step_91.py: test_f has @pytest.mark.compiled\(\)"):
        claims_of(Step("step_91"))
