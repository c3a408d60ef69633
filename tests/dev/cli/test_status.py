"""``status``: every state of a step, and which step is next."""

import json
import os
import re
from collections import Counter

import pytest

from checker.course import progress, standings
from checker.course.source import Source
from checker.course.standings import NOT_COMPILED, Standing, StepState
from checker.course.steps import all_steps, find_step
from checker.terminal import Terminal
from cli import status
from cli.status import list_all
from tests.dev.helpers.commands import run, states

pytestmark = pytest.mark.slow


def test_every_state_of_a_step(course):
    assert states(course) == {step.task: "untouched" for step in all_steps()}
    course.write("w01")
    course.check("w01", "--solution")
    assert states(course)["w01"] == "in progress (4 of 4 blanks, not checked)"
    course.check("w01")
    course.fill("w02", "project")
    course.fill("s07", "_split_heads", "_attn")
    course.write("s02", edits={"def causal_mask(": "def causal_mask(("})
    course.path("s03").unlink()
    course.path("s04").write_bytes(b"\xff")
    after = states(course)
    wanted = {
        "w01": "done",
        "w02": r"in progress \(1 of \d blanks\)",
        "s07": r"in progress \(2 of 7 blanks\)",
        "s02": r"in progress \(line \d+: not Python\)",
        "s03": "missing: `./run skeletons` writes it anew",
        "s04": r"in progress \(not UTF-8 text\)",
        "s06": "untouched",
    }
    assert {task: state for task, state in wanted.items() if not re.fullmatch(state, after[task])} == {}
    assert f"\n1 of {len(all_steps())} done; fast path: 0 of 9.\nNext: steps/" in run(course, "status")


def test_every_file_is_read_once(monkeypatch):
    read, times = standings.open_file, Counter()
    monkeypatch.setattr(standings, "open_file", lambda step, file: times.update([step]) or read(step, file))
    list_all(Terminal(quiet=True))
    assert times == Counter(all_steps())


def test_it_says_that_a_pass_without_compiling_counts_however_a_step_words_that(monkeypatch, capsys):
    here = f"{NOT_COMPILED} here"
    standings = [Standing(step, StepState.DONE, here, uncompiled=True) for step in all_steps()]
    monkeypatch.setattr(status, "all_standings", lambda: standings)
    list_all(Terminal())
    assert f"\n`{NOT_COMPILED}` counts as done.\n" in capsys.readouterr().out


def test_what_is_next(course):
    """What was saved last of what is in progress; else the first that has changed; else what follows the last pass."""
    nexts = r"^(?:Next|On the fast path): steps/(\w+)|^(The fast path is done): "

    def next_steps():
        return [each or words for each, words in re.findall(nexts, run(course, "status"), re.MULTILINE)]

    assert next_steps() == ["step_01", "step_03"]
    passed = {}
    for step in all_steps():
        code = progress.digest_of_code(step, step.read_solution())
        passed[step.name] = {"code": code, "check": progress.digest_of_check(step), "compiled": step.task != "s12"}
    (course.root / ".course").mkdir()
    (course.root / ".course" / "progress.json").write_text(json.dumps({"hints": {}, "pass": passed, "fail": {}}))
    for task in ("s03", "s04", "s02", "s07", "s08", "s09", "s10", "s11"):
        course.write(task)
    assert next_steps() == ["step_12", "step_12"]
    assert "counts as done" not in run(course, "status")
    course.write("s12")
    shown = run(course, "status")
    assert "\n9 of 35 done; fast path: 9 of 9.\n`pass, not compiled` counts as done.\n" in shown
    assert "\nThe fast path is done: `./run generate" in shown
    assert next_steps() == ["The fast path is done", "step_13"]
    for task in ("s09", "s04"):  # the later one is saved first
        course.write(task, find_step(task).read_solution().text + "\nNOTE = 1\n")
    assert next_steps() == ["step_04", "step_04"]
    course.fill("w02", "project")
    os.utime(course.path("w02"), (1, 1))
    assert next_steps() == ["step_04", "step_04"], "it was saved last"


def test_a_step_that_passed_and_no_longer_fits_says_which_function_changed(course):
    """As after an update of the course; the file stays, also beside the new skeleton."""
    course.write(
        "s08", edits={"norm: Callable[[Tensor], Tensor], sub": "eps: float, norm: Callable[[Tensor], Tensor], sub"}
    )
    course.write("s09")
    passed = {}
    for task in ("s08", "s09"):
        step, source = find_step(task), Source(course.path(task).read_text())
        passed[step.name] = {"code": progress.digest_of_code(step, source), "check": "the old one", "compiled": True}
    (course.root / ".course").mkdir()
    (course.root / ".course" / "progress.json").write_text(json.dumps({"hints": {}, "pass": passed, "fail": {}}))
    after, file = states(course), course.path("s08").read_text()
    assert after["s08"] == "done, but its check has changed since (see pre_norm_residual)"
    assert after["s09"] == "done, but its check has changed since"
    run(course, "reset", "s08", "--yes")
    (copy,) = (course.root / "steps").glob("step_08.kept-*.py")
    assert copy.read_text() == file
