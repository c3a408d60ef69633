"""``grade``: all steps of a checkout, which may hold anything, and of which only the steps are taken."""

import contextlib
import json
import os
import time

import jsonschema
import psutil
import pytest

from checker.course.skeletons import skeleton_of
from checker.course.steps import all_steps, find_step
from checker.files import ROOT
from cli import grade
from cli.grade import why_no_pass
from tests.dev.helpers.terminal import started
from tools.course_copy import python

pytestmark = pytest.mark.slow

SCHEMA, OF_CHECK = (
    json.loads((ROOT / name).read_text()) for name in ("cli/grades.schema.json", "checker/parent/verdict.schema.json")
)
GRADE = (ROOT, "-m", "cli", "grade")
ENDS = "raise SystemExit('this file must not run')\n"
#: Writes over the check of the next step.
WRITES = "\nfrom pathlib import Path\nPath('tests/test_warmup_05.py').write_text('raise SystemExit')\n"


def solution(task):
    return find_step(task).read_solution().text


@pytest.fixture
def checkout(tmp_path):
    """A checkout whose other files are a student's own, and whose steps are what students leave."""
    for beside in ("conftest.py", "max/__init__.py", "checker/__init__.py", "sitecustomize.py", "tests/conftest.py"):
        (tmp_path / beside).parent.mkdir(exist_ok=True)
        (tmp_path / beside).write_text(ENDS)
    (tmp_path / "steps").mkdir()
    for name in ("conftest.py", "warmup_05.kept-1.py", ".hidden"):
        (tmp_path / "steps" / name).write_text(ENDS)
    files = {step.task: tmp_path / "steps" / step.learner_file.name for step in all_steps()}
    for task, file in files.items():
        file.write_text(skeleton_of(find_step(task)))
    os.truncate(files["w02"], 1 << 30)
    files["w03"].write_text(f"{solution('w03')}\nwhile True: pass\n")
    files["w04"].write_text(solution("w04") + WRITES)
    files["w05"].write_text(f"{solution('w05')}\nfrom . import warmup_04\nfrom helper import twice\nimport mine.more\n")
    (tmp_path / "steps" / "helper.py").write_text("def twice(x):\n    return 2 * x\n")
    (tmp_path / "steps" / "hunt_tools.py").write_text("found = True\n")
    (tmp_path / "steps" / "hunt_w01.py").write_text(ENDS)
    (tmp_path / "steps" / "mine").mkdir()
    (tmp_path / "steps" / "mine" / "more.py").write_text("from helper import twice\nimport hunt_tools\n")
    files["w06"].unlink()
    files["w07"].write_text(solution("w07").replace("return", "return 0 *", 1))
    files["w08"].write_text(f"{solution('w08')}\nimport os\nos.kill(os.getppid(), 9)\n")
    files["s01"].unlink()
    files["s01"].mkdir()
    files["s21"].write_text(f"{solution('s21')}\0")
    return tmp_path


def test_whatever_a_checkout_holds_every_step_has_its_own_grade(checkout):
    graded = {
        "w01": ("not begun", ""),
        "w02": ("fail", "The file has 1,073,741,824 bytes, and a step has a few thousand."),
        "w03": ("fail", "No verdict: timed out"),
        "w04": ("pass", ""),
        "w05": ("pass", ""),  # what the last one writes is its own copy
        "w06": ("not begun", "The file is missing."),
        "w07": ("fail", "Cache.n_head: Outside the blanks, "),
        "w08": ("fail", "No verdict: the check ended without one, with exit status -9"),
        "s01": ("fail", "This is a folder, not a file. Move it away; `./run skeletons` in its clone"),
        "s07": ("not begun", ""),
        "s21": ("fail", "The file is not Mojo: it contains null bytes."),
    }
    options = ("--json", "--seed", "3", "--no-compile", "--steps", ",".join(graded))
    done = python(*GRADE, checkout, *options, status=1, COURSE_QUIET_SECONDS="3")
    report = json.loads(done.stdout)
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.validate(report, SCHEMA)
    assert report["counts"] == {"pass": 2, "fail": 6, "not begun": 3}
    for step, (task, (verdict, why)) in zip(report["steps"], graded.items(), strict=True):
        assert (step["task"], step["verdict"]) == (task, verdict)
        assert step["why"].startswith(why)
        if task in ("w04", "w07"):
            jsonschema.validate(step["check"], OF_CHECK)
            drawn_from = 3 if verdict == "pass" else None  # numbers are drawn once the recorded ones are right
            assert step["check"]["seed"] == drawn_from


def test_the_table_the_exit_status_and_calls_that_cannot_be_carried_out(checkout):
    for arguments, status, words in (
        ((checkout, "--problems", "--steps", "w05"), 0, f"graded by the course in {ROOT} ("),
        ((checkout, "--problems", "--steps", "w05,w01"), 1, "1 of 2"),  # not begun, but named
        ((checkout, "--problems", "--steps", "w07"), 1, "steps/warmup_07.py:"),
        ((checkout / "max",), 2, "is not a folder; name a checkout"),
    ):
        done = python(*GRADE, *arguments, status=status)
        assert words in done.stdout + done.stderr


@pytest.mark.parametrize(("limit", "status"), [("1.5", 1), ("600", 143)], ids=["its limit", "SIGTERM"])
def test_a_check_that_goes_on_is_ended_with_all_it_started(checkout, tmp_path_factory, limit, status):
    temporary = tmp_path_factory.mktemp("temporary")
    with started(*GRADE, checkout, "--steps", "w03", "--limit", limit, TMPDIR=str(temporary)) as grading:
        seen, deadline = set(), time.monotonic() + 30
        while not any("checker.child.main" in line for _, line in seen):
            assert time.monotonic() < deadline, "no check was begun"
            for process in psutil.Process(grading.pid).children(recursive=True):
                with contextlib.suppress(psutil.Error):  # it has just ended
                    seen.add((process, " ".join(process.cmdline())))
            time.sleep(0.02)
        if status == 143:
            grading.terminate()
        output, _ = grading.communicate(timeout=60)
        assert grading.returncode == status
        assert ("the check took longer than 1.5 seconds." in output) is (status == 1)
    assert psutil.wait_procs([process for process, _ in seen], timeout=5)[1] == []
    assert list(temporary.glob("grade-*")) == []


def test_max_may_compile_for_half_of_the_limit_so_that_the_check_can_say_so(monkeypatch, tmp_path):
    asked = {}
    monkeypatch.setattr(grade, "run_module", lambda *line, **options: asked.update(options))
    assert grade.run_check(find_step("s17"), tmp_path, [], 600).reason.endswith(" check took longer than 600 seconds.")
    assert asked["seconds"] == 2 * float(asked["environment"]["COURSE_COMPILE_SECONDS"]) == 600


def test_a_grade_says_how_many_reasons_it_leaves_out():
    reasons = [{"about": about, "sentence": "It is wrong.", "line": 1} for about in ("_attn", "forward")]
    verdict = {"verdict": "fail", "task": "s07", "file": "steps/step_07.py", "explanations": reasons, "rows": []}
    assert why_no_pass(verdict) == "_attn: It is wrong. (The first of 2 reasons; `./run s07` shows all.)"
    assert why_no_pass(verdict | {"explanations": reasons[:1]}) == "_attn: It is wrong."
