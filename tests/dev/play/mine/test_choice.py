"""Whose steps run, what is said about it, and that processes which are started run the same."""

from types import SimpleNamespace

import pytest

from checker.course.opening import OpenedFile
from checker.course.reading import Unreadable
from checker.course.source import Source
from checker.course.standings import Standing, StepState
from checker.course.steps import MODEL, SAMPLING, TRAINING, find_step
from play.mine import choice, stand_ins
from play.mine.choice import Chosen, OwnSteps


def test_only_steps_that_are_needed_are_asked_for_and_a_pass_of_another_file_is_no_pass(monkeypatch):
    states = {"s03": StepState.IN_PROGRESS, "s07": StepState.CHANGED, "s09": StepState.CHANGED}

    def standing_of(step):
        return Standing(step, states.get(step.task, StepState.DONE), "", by_its_check=step.task == "s09")

    monkeypatch.setattr(choice, "standing_of", standing_of)
    monkeypatch.setattr(choice, "is_complete", lambda step: step.task != "s13")
    parts = {"s02": {"causal_mask": "()"}}
    monkeypatch.setattr(choice, "incompatible_parts", lambda step, source: parts.get(step.task, {}))
    own = choice.choose_own_steps([MODEL], OwnSteps(fill_in=True))
    unchecked = "with {} unchecked ({}), so the results may be wrong; `./run {}` checks it"
    assert " ".join(step.task for step in own.steps) == "s01 s03 s04 s05 s06 s07 s08 s09 s10 s11"
    assert [*own.sentences] == [
        "the solutions stand in for s02, s13",
        unchecked.format("s03", "no check has passed yet", "s03"),
        unchecked.format("s07", "changed since its pass", "s07"),
        unchecked.format("s09", "done, but its check has changed since", "s09"),
    ]
    states |= {"s08": StepState.CHANGED}
    of_both = choice.choose_own_steps([MODEL], OwnSteps(fill_in=True)).sentences[2]
    assert of_both.startswith("with s07, s08 unchecked (changed since their pass), so")
    assert of_both.endswith("`./run s07` checks the first")
    failed = lambda step: Standing(step, StepState.IN_PROGRESS, "", failed=step.task == "s07")  # noqa: E731
    monkeypatch.setattr(choice, "standing_of", failed)
    with pytest.raises(ValueError, match=r"the last check of s07 failed; `./run s07` says why. Add --anyway"):
        choice.choose_own_steps([MODEL], OwnSteps(fill_in=True))
    sentences = choice.choose_own_steps([MODEL], OwnSteps(fill_in=True, anyway=True)).sentences
    assert sentences[1] == "with s07 in spite of a failed check, so expect wrong results"
    assert "s07" not in sentences[2]
    training = {step.task for step in choice.needed_by(TRAINING, SAMPLING)}
    assert training & {f"s{number}" for number in range(12, 21)} == {"s12", "s16", "s17", "s18", "s19", "s20"}


def test_a_process_that_is_started_runs_the_same_steps(monkeypatch):
    monkeypatch.setenv(choice.HANDED_ON, "")
    assert choice.handed_on() == Chosen()
    own = Chosen((find_step("03"), find_step("07")))
    own.hand_on()
    assert choice.handed_on() == own


def test_steps_stand_in_before_a_solution_is_imported_and_not_twice(monkeypatch):
    python = SimpleNamespace(meta_path=[], modules={})
    monkeypatch.setattr(stand_ins, "steps_by_file", {})
    monkeypatch.setattr(stand_ins, "sys", python)
    Chosen().install()
    assert python.meta_path == []
    for _ in range(2):
        Chosen((find_step("07"),)).install()
    assert len(python.meta_path) == 1
    python.modules["solutions.solution_03"] = None
    with pytest.raises(AssertionError, match="were imported too early"):
        Chosen((find_step("08"),)).install()


def test_a_step_that_cannot_be_read_is_not_called_unwritten(monkeypatch):
    def read(step, path):
        if step.task == "s07":
            raise Unreadable("The file is not Python: line 3: '(' was never closed.", "not Python")
        return OpenedFile(Source(""), 1, ())

    monkeypatch.setattr(choice, "open_file", read)
    monkeypatch.setattr(choice, "incompatible_parts", lambda step, source: {})
    monkeypatch.setattr(choice, "standing_of", lambda step: Standing(step, StepState.DONE, "done"))
    broken = "steps/step_07.py: The file is not Python: line 3: '(' was never closed. "
    with pytest.raises(ValueError, match="s07") as refused:
        choice.choose_own_steps([MODEL], OwnSteps())
    assert str(refused.value) == broken + "`./run s07` shows the place, and --fill-in lets the solution stand in"
    assert choice.choose_own_steps([MODEL], OwnSteps(fill_in=True)).sentences == ("the solutions stand in for s07",)
    assert choice.file_if_complete(find_step("07")) == Chosen((), (broken + "The solution stands in",))
