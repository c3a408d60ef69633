"""``grade``: all steps of a checkout, which may hold anything, and of which only the steps are taken."""

import json
import os
import shutil
import subprocess
import sys
import time

import jsonschema
import psutil
import pytest

from checker.course.paths import ROOT
from checker.course.skeletons import expected
from checker.course.steps import all_steps, find_step
from cli.grading import workplace
from cli.grading.grade import NO, NOT_BEGUN, YES, Grade, Way, check, grade_all
from cli.grading.running import status_of
from cli.grading.submission import NoSubmission, take
from cli.grading.workplace import CourseChanged, Workplace
from tests.dev.terminal import ended

pytestmark = pytest.mark.slow

SCHEMAS = [
    json.loads((ROOT / folder / f"{name}.schema.json").read_text())
    for folder, name in (("cli/grading", "grades"), ("checker/session", "verdict"))
]
ENDS = "raise SystemExit('this file must not run')\n"
QUICK = Way(compile_=False)


@pytest.fixture
def checkout(tmp_path):
    """A checkout with untouched steps, whose other files are a student's own."""
    (tmp_path / "steps").mkdir()
    for step in all_steps():
        path_of(tmp_path, step.task).write_text(expected(step))
    for beside in ("conftest.py", "max/__init__.py", "checker/__init__.py", "sitecustomize.py", "tests/conftest.py"):
        (tmp_path / beside).parent.mkdir(exist_ok=True)
        (tmp_path / beside).write_text(ENDS)
    return tmp_path


def path_of(checkout, task):
    return checkout / "steps" / find_step(task).learner_file.name


def solution(task):
    return find_step(task).solution_file.read_text()


def grade(checkout, *arguments, **options):
    return subprocess.run(
        [sys.executable, "-m", "cli", "grade", str(checkout), *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        **options,
    )


def is_worker(process):
    try:
        return "checker.claims.worker" in process.cmdline()
    except psutil.Error:  # it has just ended
        return False


WRITES = """
from pathlib import Path
for place in ("tests/test_warmup_05.py", "conftest.py", "max/__init__.py"):
    Path(place).parent.mkdir(exist_ok=True)
    Path(place).write_text("raise SystemExit")
"""


@pytest.mark.slow
def test_a_hostile_checkout(checkout, monkeypatch):
    """Every step that is no honest one has a line that says so, and none changes the grade of another."""
    steps = checkout / "steps"
    path_of(checkout, "w01").unlink()
    path_of(checkout, "w01").symlink_to(find_step("w01").solution_file)
    os.truncate(path_of(checkout, "w02"), 1 << 30)
    path_of(checkout, "w03").write_text(f"{solution('w03')}\nwhile True: pass\n")
    path_of(checkout, "w04").write_text(solution("w04") + WRITES)
    path_of(checkout, "w05").write_text(solution("w05"))
    path_of(checkout, "w06").unlink()
    path_of(checkout, "w08").write_text(f"{solution('w08')}\nimport os\nos.kill(os.getppid(), 9)\n")
    path_of(checkout, "s01").unlink()
    path_of(checkout, "s01").mkdir()
    (steps / "conftest.py").write_text(ENDS)
    shutil.copytree(checkout / "max", steps / "max")
    (steps / "warmup_05.kept-1.py").write_text("")
    (steps / "\x1b[2J\n").write_text("")
    monkeypatch.setenv("COURSE_QUIET_SECONDS", "1")
    taken, told = take(checkout), []
    assert taken.left_out == [r"steps/\x1b[2J\n", "steps/conftest.py", "steps/max"]
    grades = grade_all(
        taken, QUICK, [step for step in all_steps() if step.task < "s02" or step.task[0] == "w"], told.append
    )
    assert grades == told
    wanted = {
        "w01": (NO, "The file is a link, and none is followed."),
        "w02": (NO, "The file has 1,073,741,824 bytes, and a step has a few thousand."),
        "w03": (NO, "No verdict: timed out after 1 s while the file was loaded."),
        "w04": (NO, "No verdict: while it was checked, conftest.py and 2 other files changed."),
        "w05": (YES, ""),
        "w06": (NOT_BEGUN, "The file is missing."),
        "w07": (NOT_BEGUN, ""),
        "w08": (NO, "No verdict: the check ended without one, with exit status -9."),
        "s01": (NO, "This is a folder, not a file."),
    }
    assert [grade.step.task for grade in grades] == list(wanted)
    for grade, (verdict, why) in zip(grades, wanted.values(), strict=True):
        assert grade.verdict == verdict, grade
        assert grade.why.startswith(why), grade
        assert bool(why) == bool(grade.why)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda steps: steps.write_text(""), "is a file; it must be the folder"),
        (lambda steps: steps.symlink_to(ROOT / "solutions"), "is a link, and none is followed"),
        (lambda steps: None, "does not exist; it must be the folder"),
    ],
    ids=["file", "link", "nothing"],
)
def test_a_checkout_without_a_folder_of_steps(checkout, make, said):
    shutil.rmtree(checkout / "steps")
    make(checkout / "steps")
    with pytest.raises(NoSubmission, match=said):
        take(checkout)
    with pytest.raises(NoSubmission, match="is not a folder"):
        take(checkout / "conftest.py")


def test_the_table_the_object_and_the_exit_status(checkout):
    path_of(checkout, "w01").write_text(solution("w01"))
    asked = ("--steps", "w01,w02", "--no-compile", "--seed", "3")
    done = grade(checkout, *asked, "--json")
    said = json.loads(done.stdout)
    jsonschema.Draft202012Validator.check_schema(SCHEMAS[0])
    jsonschema.validate(said, SCHEMAS[0])
    first, second = said["steps"]
    jsonschema.validate(first["check"], SCHEMAS[1])
    assert (first["verdict"], first["check"]["seed"]) == ("yes", 3)
    assert (second["verdict"], second["check"]) == ("not begun", None)
    assert (said["counts"], done.returncode) == ({"yes": 1, "no": 0, "not begun": 1}, 1), (
        "each that is named must be a yes"
    )
    missing = grade(checkout / "max")
    assert (missing.returncode, missing.stdout) == (2, "")
    assert missing.stderr.startswith("grade: ")


@pytest.mark.parametrize(
    ("verdicts", "all_required", "status"),
    [([YES, NOT_BEGUN], False, 0), ([YES, NO], False, 1), ([YES, YES], True, 0), ([YES, NOT_BEGUN], True, 1)],
)
def test_what_was_not_begun_is_no_no_unless_it_was_named(verdicts, all_required, status):
    steps = all_steps()
    grades = [Grade(step, verdict) for step, verdict in zip(steps, verdicts, strict=False)]
    assert status_of(grades, all_required=all_required) == status


def test_another_course_grades_with_its_own_checker(checkout, course):
    """The claims of this one may have been edited."""
    path_of(checkout, "w01").write_text(solution("w01").replace("return", "return 0 *", 1))
    (course.root / "tests" / "test_warmup_01.py").write_text("")
    done = course.check("grade", str(checkout), "--course", str(ROOT), "--steps", "w01", "--problems")
    assert done.returncode == 1, done.stderr
    assert f"graded by the course in {ROOT} (" in done.stdout
    assert "steps/warmup_01.py:" in done.stdout.splitlines()[-1]
    refused = course.check("grade", str(checkout), "--course", str(checkout))
    assert refused.returncode == 2
    assert "is not a clone of this course" in refused.stderr


def test_a_check_that_takes_too_long_is_ended_with_all_it_started(checkout):
    path_of(checkout, "w01").write_text(f"{solution('w01')}\nwhile True: pass\n")
    before = set(psutil.Process().children(recursive=True))
    with Workplace(take(checkout).texts) as place:
        verdict, why = check(find_step("w01"), place.place, Way(limit=1.5))
        assert verdict is None
        assert why == "the check took longer than 1.5 seconds."
    deadline = time.monotonic() + 5
    while left := set(psutil.Process().children(recursive=True)) - before:
        assert time.monotonic() < deadline, left
        time.sleep(0.05)
    assert not place.folder.exists()


@pytest.mark.slow
def test_grade_leaves_nothing_behind_when_it_is_terminated(checkout, tmp_path_factory):
    path_of(checkout, "w01").write_text(f"{solution('w01')}\nwhile True: pass\n")
    temporary = tmp_path_factory.mktemp("temporary")
    command = [sys.executable, "-m", "cli", "grade", str(checkout), "--steps", "w01"]
    with ended(subprocess.Popen(command, cwd=ROOT, env=os.environ | {"TMPDIR": str(temporary)}, text=True)) as grading:
        found = psutil.Process(grading.pid)
        deadline = time.monotonic() + 30
        while not any(map(is_worker, found.children(recursive=True))):
            assert time.monotonic() < deadline, "no check was begun"
            time.sleep(0.05)
        started = found.children(recursive=True)
        grading.terminate()
        assert grading.wait(20) == 143
        assert psutil.wait_procs(started, timeout=5)[1] == []
    assert list(temporary.iterdir()) == []


def test_a_course_that_a_step_has_changed_grades_no_more(tmp_path, monkeypatch):
    monkeypatch.setattr(workplace, "PARTS", ("cli", "pixi.toml"))
    (tmp_path / "cli").mkdir()
    (tmp_path / "cli" / "main.py").write_text("")
    (tmp_path / "pixi.toml").write_text("")
    (tmp_path / "steps").mkdir()
    with Workplace({}, tmp_path) as place:
        (tmp_path / "steps" / "step_07.py").write_text("the learner may go on meanwhile")
        (place.place / "cli" / "new.py").write_text("")
        first = place.place
        assert place.changes() == ["cli/new.py"]
        assert place.place != first, "the next step has a copy of its own"
        (place.place / "steps" / "__pycache__").mkdir()
        (place.place / "steps" / "__pycache__" / "step_01.pyc").write_text("")
        assert place.changes() == [], "Python may keep what it has compiled"
        assert not list((place.place / "steps").rglob("*.pyc")), "but it is not used again"
        (place.place / "cli" / "main.py").unlink()
        (place.place / "cli" / "main.py").symlink_to(tmp_path / "pixi.toml")
        assert place.changes() == ["cli/main.py"]
        (tmp_path / "cli" / "main.py").write_text("changed")
        with pytest.raises(CourseChanged, match=r"cli/main\.py was changed"):
            place.changes()
