"""Code that was put together, tried for a diagnosis."""

from checker.child import trials
from checker.course.steps import Step
from checker.stages import Stage


def test_code_that_cannot_be_run_is_no_subject_of_a_trial(monkeypatch):
    tried = []
    monkeypatch.setattr(trials, "run_claims", lambda to_run, send: tried.append(to_run))
    codes = {name: compile(text, name, "exec") for name, text in (("runs", "x = 1"), ("exits", "raise SystemExit"))}
    only = {"runs": ["a"], "exits": ["a"]}
    trials.ClaimTrials(Step("step_07"), Stage.DRAWN, [5]).run(codes, only)
    (to_run,) = tried
    assert {name: module.x for name, module in to_run.subjects.items()} == {"runs": 1}
    assert (to_run.stage, to_run.seeds, to_run.only, to_run.show) == (Stage.DRAWN, [5], only, False)
