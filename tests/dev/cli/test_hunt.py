"""``hunt``: a mistake is found by what its check says, which does not name it; by its name; or not."""

import json
import re
import subprocess
import time

import jsonschema
import psutil
import pytest

from checker.course import progress
from checker.course.hunts import SENTENCES
from checker.course.steps import Step, find_step
from checker.diagnosis.hunt_copies import copies_of, sentences_with
from checker.diagnosis.mistakes import keys_of_mistakes, load_attempts
from checker.files import ROOT
from tests.dev.helpers.checks import SCHEMA
from tests.dev.helpers.commands import run, states
from tests.dev.helpers.steps import every_task
from tests.dev.helpers.terminal import started

pytestmark = pytest.mark.slow

W01 = find_step("w01")


def passed(course, step: Step) -> None:
    """Let the solution be the learner's file, which has passed."""
    course.write(step.task)
    code, check = progress.digest_of_code(step, step.read_solution()), progress.digest_of_check(step)
    kept = {"hints": {}, "fail": {}, "pass": {step.name: {"code": code, "check": check, "compiled": True}}}
    (course.root / ".course").mkdir()
    (course.root / ".course" / "progress.json").write_text(json.dumps(kept))


def hunted_for(course, step: Step) -> str:
    """The mistake that is hunted for."""
    saved = json.loads((course.root / ".course" / "progress.json").read_text())["hunts"][step.name]["mistake"]
    (mistake,) = [sentence for sentence, key in keys_of_mistakes(step).items() if key == saved]
    return mistake


@pytest.mark.sampled
@every_task
def test_a_check_names_no_mistake_until_it_is_repaired(step: Step, course, pytestconfig):
    passed(course, step)
    hunt, file = (
        ("hunt", step.task),
        course.root / "steps" / f"hunt_{step.task.removeprefix('s')}{step.language.suffix}",
    )
    begun = run(course, *hunt, "--seed", str(pytestconfig.option.seed), status=1)
    mistake = hunted_for(course, step)
    assert begun.startswith("This copy of the solution has one mistake in it.")
    assert file.read_text() == copies_of(step)[mistake]
    in_json = run(course, *hunt, "--json", status=1)
    jsonschema.validate(json.loads(in_json), SCHEMA)
    names = load_attempts(step).mistakes
    assert [name for name in names for said in (begun, json.loads(in_json)) if name in str(said)] == []
    assert {row["mark"] for row in json.loads(in_json)["rows"]} <= {"pass", "fail", "waits"}
    assert states(course)[step.task] == "done"
    file.write_text(step.read_solution().text)
    found = run(course, *hunt)
    assert "not compiled" not in found
    assert "Compare with" not in found
    assert found.endswith(f" s: {mistake}\n\n`./run hunt {step.task.removeprefix('s')}` begins another hunt.\n")


def test_a_hunt_that_is_terminated_closes_what_was_open_and_leaves_no_child(course):
    passed(course, W01)
    run(course, "hunt", "w01", status=1)
    looping = course.root / "looping"
    loop = f"open({str(looping)!r}, 'w').close(); sum(iter(int, 1))"
    right = W01.read_solution().text
    (course.root / "steps" / "hunt_w01.py").write_text(right.replace("return query @ np.swapaxes(key, -2, -1)", loop))
    with started(course.root, "-m", "cli", "hunt", "w01") as hunt:
        while not looping.exists() and hunt.poll() is None:
            time.sleep(0.05)
        children = psutil.Process(hunt.pid).children(recursive=True)
        hunt.terminate()
        _, errors = hunt.communicate(timeout=30)
    assert (hunt.returncode, errors) == (143, "")
    assert children
    assert psutil.wait_procs(children, timeout=5)[1] == []


def test_a_hunt_from_its_beginning_to_its_end(course):
    file, hunt = course.root / "steps" / "hunt_w01.py", ("hunt", "w01")
    course.write("w01", edits={"return query @": "return 2 * query @"})
    refused = "steps/warmup_01.py has not passed as it is now; `./run w01` checks it\n"
    assert run(course, *hunt, status=2).endswith(refused)
    assert run(course, *hunt, "--give-up", status=2) == "hunt: no hunt is on; `./run hunt w01` begins one\n"
    passed(course, W01)

    run(course, *hunt, status=1)
    file.write_text(file.read_text() + "\nMINE = 1\n")
    again = run(course, *hunt, "--new", status=1)
    (copy,) = file.parent.glob("hunt_w01.kept-*.py")
    assert again.startswith(f"What you had is kept as steps/{copy.name}.\n")
    assert "MINE" in copy.read_text()

    mistake = hunted_for(course, W01)
    sentences = sentences_with(W01, mistake)
    listed = run(course, *hunt, "--name")
    assert [line[3:] for line in listed.splitlines()[:SENTENCES]] == sentences
    right = sentences.index(mistake) + 1
    wrong = run(course, *hunt, "--name", str(right % SENTENCES + 1), status=1)
    assert wrong == "It is another one; that was guess 1.\n"
    named, then = json.loads(run(course, *hunt, "--name", str(right), "--json"))["said"]
    assert named.startswith("Named at guess 2, after ")
    assert named.endswith(f" s: {mistake}")
    assert then == "Now repair it: `./run hunt w01` checks the file, and --new begins another hunt."
    assert run(course, *hunt, "--name").startswith("Named at guess 2, after "), "there is nothing left to choose"
    assert hunted_for(course, W01) == mistake, "it goes on"
    run(course, *hunt, status=1)
    file.write_text(W01.read_solution().text)
    assert re.search(rf"\nRepaired after (\d+ min )?\d+ s: {re.escape(mistake)}\n", run(course, *hunt))

    run(course, *hunt, status=1)
    claims = course.root / "tests" / W01.check_file.name
    claims.write_text(f"{claims.read_text()}\n")  # what is recorded of mistakes is out of date now
    assert "what is recorded of them is out of date" in run(course, *hunt, "--name", status=2)
    given_up = run(course, *hunt, "--give-up")
    assert given_up.startswith("Given up after ")
    differing = [line for line in given_up.splitlines() if line.startswith(("- ", "+ "))]
    assert 0 < len(differing) < 8, "how it differs"
    assert "\nMistakes found in hunts: 0; named: 1; given up: 1.\n" in run(course, "status")


def test_a_copy_that_cannot_be_tried_is_told_by_its_own_name_with_a_way_out(course):
    step, file, hunt = find_step("s04"), course.root / "steps" / "hunt_04.py", ("hunt", "04")
    passed(course, step)
    assert run(course, *hunt, "--show", "nope", status=2).startswith("hunt: there is no function nope to show; choose ")
    assert not file.exists(), "it is refused at once"
    run(course, *hunt, status=1)
    assert run(course, *hunt, "--name", "9", status=2) == f"hunt: --name is 9; choose from 1 to {SENTENCES}\n"
    way_out = "`./run hunt 04 --new` puts another copy in its place, and keeps this one beside it.\n"
    renamed = file.read_text().replace("class GPT2MLP", "class MLP")
    for source, said in (
        ("", "there is no GPT2MLP in the file any more; write it, under this name\n"),
        (renamed, "there is no GPT2MLP in the file any more; it has MLP: call it GPT2MLP\n"),
        ("import (\n", "Line 1: invalid syntax."),
    ):
        file.write_text(source)
        told = run(course, *hunt, status=1)
        assert said in told
        assert told.endswith(way_out)
    file.unlink()
    assert run(course, *hunt, status=1).startswith("steps/hunt_04.py is gone, so another hunt begins.\n")


@pytest.mark.parametrize("options", [("--give-up", "--name", "2"), ("--give-up", "--new"), ("--new", "--name")])
def test_options_that_exclude_each_other_are_refused(course, options):
    said = run(course, "hunt", "w01", *options, status=2)
    assert said == "hunt: --name, --give-up and --new exclude each other; give one\n"


def test_nothing_else_looks_at_the_copy(course):
    passed(course, W01)
    run(course, "hunt", "w01", status=1)
    copy, mistaken = course.root / "steps" / "hunt_w01.py", (course.root / "steps" / "hunt_w01.py").read_text()
    for name, status in (("hunt_w01.py", 0), ("hunt_21.mojo", 0), ("hunt_tools.py", 1)):
        assert subprocess.run(["git", "check-ignore", "-q", f"steps/{name}"], cwd=ROOT).returncode == status
    copy.write_text("raise SystemExit('this file must not run')\n")
    assert "1 of 1 pass" in run(course, "grade", "--steps", "w01", "--no-compile")
    run(course, "skeletons", "--check", status=1)  # warm-up 01 is written
    run(course, "reset", "--all", "--yes")
    run(course, "skeletons")
    run(course, "skeletons", "--check")
    assert "must not run" in copy.read_text() != mistaken
