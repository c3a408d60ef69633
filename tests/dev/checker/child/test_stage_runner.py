"""Which claims are tried one after another, what is explained, and what is sent: claims are not run, but answer."""

import sys
from dataclasses import replace
from types import ModuleType, SimpleNamespace

import pytest

from checker.child import stage_runner
from checker.child.stage_runner import SUBJECT, ClaimTrials, StageRunner
from checker.course.steps import Step
from checker.device import DeviceKind
from checker.diagnosis import diagnosing
from checker.outcomes import Outcome
from checker.protocol import events
from checker.protocol.events import Reason
from checker.protocol.job import Options
from checker.stages import Mark, Stage
from tests.dev.helpers.checks import JOB

CPU, GPU = DeviceKind
NUMBERS, DRAWN, TRACING, COMPILED, ON_GPU = Stage
STEP = Step("step_07")
SEED = 5
FINDING = events.Finding("b", "scale", Reason("It is off."))


def outcomes_of(answers):
    """Return the outcomes of claims that are called a, b, …: "P" passes, "F" fails, "W" waits, "T" is traced."""
    marks = {mark.name[0]: mark for mark in (Mark.PASS, Mark.FAIL, Mark.WAITS)} | {"T": Mark.TRACED}
    return {name: Outcome(marks[answer]) for name, answer in zip("abc", answers, strict=False)}


class StagesRun:
    """What happens if the claims of each stage answer so, and what a diagnosis is given, which runs nothing."""

    def __init__(self, monkeypatch, answers, devices=(CPU,)):
        self.answers, self.comparisons = answers, []
        self.tried, self.sent, self.diagnosed, self.is_silent = [], [], [], False
        monkeypatch.setattr(stage_runner, "run_claims", self.run_claims)
        monkeypatch.setattr(stage_runner, "drop_output", self.drop_output)
        monkeypatch.setattr(diagnosing, "Diagnostician", self.diagnostician)
        runtime = SimpleNamespace(devices=lambda: devices)
        monkeypatch.setitem(sys.modules, "checker.max_adapter.runtime", runtime)

    def drop_output(self):
        self.is_silent = True

    def run_claims(self, to_run, send):
        self.tried.append(to_run)
        only = to_run.only[SUBJECT] if to_run.only else "abc"
        answers = outcomes_of(self.answers[to_run.stage])
        return {SUBJECT: {name: outcome for name, outcome in answers.items() if name in only}}

    def diagnostician(self, step, trials, known_mistakes):
        def diagnose(outcomes, source, path, to_write):
            trials.send(events.ClaimBegan("It is tried again."))
            assert (self.is_silent, [*outcomes]) == (True, ["a", "b"])
            assert (source.text, path, to_write) == ("x = 1\n", "steps/step_07.py", ["merge"])
            self.diagnosed.append((trials.stage, known_mistakes.are_named, known_mistakes.answers != {}))
            outcomes = {number: SimpleNamespace(comparison=each) for number, each in enumerate(self.comparisons)}
            return SimpleNamespace(findings=[FINDING], blames=[SimpleNamespace(label="scale", outcomes=outcomes)])

        return SimpleNamespace(diagnose=diagnose)

    def run(self, *, tries_compiled_claims=True, **options):
        job = replace(JOB, seed=SEED, tries_compiled_claims=tries_compiled_claims, options=Options(**options))
        StageRunner(STEP, job, ModuleType("step_07"), ["merge"], self.sent.append).run()
        return [to_run.stage for to_run in self.tried]


@pytest.mark.parametrize(
    ("answers", "options", "stages"),
    [
        ({NUMBERS: "PF"}, {}, [NUMBERS]),
        ({NUMBERS: "PW"}, {}, [NUMBERS]),  # other numbers would say nothing of a file that is not written
        ({NUMBERS: "PP", DRAWN: "F"}, {}, [NUMBERS, DRAWN]),
        ({NUMBERS: "PP", DRAWN: "P"}, {"tries_compiled_claims": False}, [NUMBERS, DRAWN]),
        ({NUMBERS: "PP", DRAWN: "", TRACING: ""}, {}, [NUMBERS, DRAWN, TRACING]),  # it has none of these
        ({NUMBERS: "P", DRAWN: "P", TRACING: "PP"}, {}, [NUMBERS, DRAWN, TRACING]),  # all graphs are kept
        ({NUMBERS: "P", DRAWN: "P", TRACING: "TF"}, {}, [NUMBERS, DRAWN, TRACING]),
        ({NUMBERS: "P", DRAWN: "P", TRACING: "PT", COMPILED: "PP"}, {}, [NUMBERS, DRAWN, TRACING, COMPILED]),
    ],
)
def test_a_stage_follows_only_where_all_pass_before_it(monkeypatch, answers, options, stages):
    runs = StagesRun(monkeypatch, answers)
    assert runs.run(**options) == stages
    ended = [event for event in runs.sent if isinstance(event, events.StageEnded | events.CompiledTried)]
    assert ended == [*map(events.StageEnded, stages), *[events.CompiledTried()] * (TRACING in stages)]


def test_only_what_was_traced_is_compiled_and_only_numbers_that_are_drawn_have_a_seed(monkeypatch):
    runs = StagesRun(monkeypatch, {NUMBERS: "P", DRAWN: "P", TRACING: "PTT", COMPILED: "PPP"})
    runs.run()
    by_stage = {to_run.stage: to_run for to_run in runs.tried}
    assert by_stage[TRACING].only is None
    assert by_stage[COMPILED].only == {SUBJECT: ["b", "c"]}
    assert [by_stage[stage].device for stage in (NUMBERS, DRAWN, TRACING, COMPILED)] == [None, None, CPU, CPU]
    assert by_stage[DRAWN].seeds == [SEED]
    assert all(to_run.to_write == ["merge"] for to_run in runs.tried)


@pytest.mark.parametrize(
    ("compiled", "named", "tries_gpu"),
    [("P", None, True), ("F", None, False), ("P", CPU, False), ("P", GPU, False)],
)
def test_a_gpu_is_tried_after_a_pass_unless_a_device_is_named(monkeypatch, compiled, named, tries_gpu):
    answers = {NUMBERS: "P", DRAWN: "P", TRACING: "T", COMPILED: compiled, ON_GPU: "P"}
    runs = StagesRun(monkeypatch, answers, devices=DeviceKind)
    assert (ON_GPU in runs.run(device=named)) == tries_gpu
    assert {to_run.device for to_run in runs.tried if to_run.stage == COMPILED} == {named or CPU}
    if tries_gpu:
        assert runs.tried[-1].device == GPU
        assert runs.sent[-2:] == [events.CompiledTried(), events.StageEnded(ON_GPU)], "it changes no verdict"


@pytest.mark.parametrize(
    ("answers", "hunt", "diagnosed"),  # at which stage, whether mistakes are named, and known by their answers
    [
        ({NUMBERS: "PF"}, False, (NUMBERS, True, True)),
        ({NUMBERS: "PF"}, True, (NUMBERS, False, False)),
        ({NUMBERS: "PP", DRAWN: "F"}, True, (DRAWN, False, False)),
        ({NUMBERS: "PP", DRAWN: "F"}, False, (DRAWN, True, False)),
    ],
)
def test_failures_are_explained_at_the_stage_at_which_they_came_in_silence(monkeypatch, answers, hunt, diagnosed):
    runs = StagesRun(monkeypatch, answers)
    runs.run(hunt=hunt)
    assert runs.diagnosed == [diagnosed]
    assert runs.sent[-2:] == [events.Busy(), FINDING]  # what is tried again is no outcome


@pytest.mark.parametrize("show", ["scale", "merge"])
def test_the_first_numbers_of_the_function_asked_for_are_shown(monkeypatch, show):
    monkeypatch.setattr("checker.numeric.showing.lines_of", lambda comparison: [comparison])
    runs = StagesRun(monkeypatch, {NUMBERS: "PF"})
    runs.comparisons = [None, "first", "second"]
    runs.run(show=show)
    assert runs.sent[-1] == events.NumbersCompared(show, ["first"] if show == "scale" else ())
    assert all(to_run.notes_inputs for to_run in runs.tried)


def test_code_that_cannot_be_run_is_no_subject_of_a_trial(monkeypatch):
    tried = []
    monkeypatch.setattr(stage_runner, "run_claims", lambda to_run, send: tried.append(to_run))
    codes = {name: compile(text, name, "exec") for name, text in (("runs", "x = 1"), ("exits", "raise SystemExit"))}
    only = {"runs": ["a"], "exits": ["a"]}
    ClaimTrials(STEP, DRAWN, [SEED]).run(codes, only)
    (to_run,) = tried
    assert {name: module.x for name, module in to_run.subjects.items()} == {"runs": 1}
    assert (to_run.stage, to_run.seeds, to_run.only, to_run.notes_inputs) == (DRAWN, [SEED], only, False)
