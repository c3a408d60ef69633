"""How a person may name a step."""

from checker.course.steps import all_steps, find_step


def test_an_unknown_step_lists_those_there_are(course):
    assert {find_step(text).name for text in ("07", "7", "s07", "step_07")} == {"step_07"}
    run = course.check("s99", status=2)
    assert [step.task for step in all_steps() if step.task not in run.stderr] == []
