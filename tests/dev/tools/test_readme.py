"""Every number and every command of the README is this repository's own."""

import json
import re

import pytest

from checker.course.attempts import load_attempts
from checker.course.paths import ROOT
from checker.course.steps import all_steps, find_step
from checker.tasks import tasks
from tools.benchmarks.loop import as_markdown
from tools.benchmarks.speed import tables

FIGURES = ROOT / "tools" / "benchmarks" / "figures"
README = (ROOT / "README.md").read_text()
PAGES = {name: (ROOT / name).read_text() for name in ("README.md", "CONTRIBUTING.md")}

CI = (ROOT / ".ci" / "run").read_text()

#: Tasks that .ci/run does not run, and why.
NOT_IN_CI = {
    "book": "serves until it is stopped; test_book.py starts it and stops it",
    "serve": "serves until it is stopped; test_serve.py starts it and stops it",
    "watch": "checks at every save until it is stopped; test_watch.py starts it and stops it",
    "bench": "compiles the 124M model four times and wants an idle machine; test_benchmarks.py runs its parts on small ones",
    "bench-serve": "takes many minutes, and wants an idle machine",
    "bench-watch": "wants an idle machine; test_watch.py saves files and waits for verdicts",
    "nightly": "compiles for minutes, on top of all that ./run test does",
    "book-check": "finds what book-build finds, without building",
    "book-pictures": "needs a browser; test_book_browser.py looks at the same pages",
    "book-figures": "draws what book-build draws, as files",
    "mutants": "takes hours; test_mutants.py makes and grades some",
    "evaluate": "needs the text of Moby Dick, and minutes; test_models.py compares what it recorded",
    "sample": "writes with Hugging Face's generate, for the model's card",
    "try-max": "builds another environment and compiles everything in it",
    "kernels": "grades what test_checks.py grades, and writes the file that it compares",
    "references": "writes the files that test_references.py compares; that test runs the same functions",
    "lock": "needs uv and looks for newer versions",
}


def in_one_line(text):
    return " ".join(text.split())


@pytest.mark.parametrize("page", PAGES)
def test_every_command_is_a_task_that_ci_runs(page):
    named = set(re.findall(r"(?:\./run|pixi run) ([a-z][\w-]*)", PAGES[page]))
    assert named
    assert named <= set(tasks())
    for task in named - set(NOT_IN_CI) - {step.task for step in all_steps()}:
        assert re.search(rf"^\./run {task}\b", CI, re.MULTILINE), task


def test_every_step_is_listed():
    assert "| `./run w01` to `w05` |" in README
    for step in all_steps():
        if step.name.startswith("step"):
            assert f"| `./run {step.task}` |" in README
            assert f"| `steps/{step.name}.py` |" in README


def test_ci_runs_every_untouched_skeleton():
    (tasks_in_ci,) = re.findall(r"^for task in (.*); do$", CI, re.MULTILINE)
    assert tasks_in_ci.split() == [step.task for step in all_steps()]


def test_ci_begins_with_the_first_command_and_ends_with_the_tests_and_installs_nothing():
    first = re.search(r"```sh\n(.*)\n```", README)[1]
    ours = "`./run test` runs the project's own tests"
    assert ours in README
    run = [line for line in CI.splitlines() if re.match(r"(untouched )?\./run ", line)]
    assert (run[0], run[-1]) == (f"untouched {first}", ours.split("`")[1])
    assert CI.index('export HOME="$home" XDG_CACHE_HOME=') < CI.index(run[0])
    assert not re.search(r"\b(apt|apt-get|sudo|curl|pip install|uv|playwright)\b", CI)


def test_the_tables_are_the_last_benchmarks():
    assert as_markdown(json.loads((FIGURES / "loop.json").read_text())) in README
    speed = json.loads((FIGURES / "speed.json").read_text())
    for part in ("forward", "generation", "attention"):
        assert tables(speed)[part] in README
    assert speed["machine"] in README


def test_the_shown_verdict_is_what_the_check_says(course):
    course.write("s07", edits={"scores = scores + causal_mask": "_ = scores + causal_mask"})
    said = in_one_line(course.check("s07").stdout)
    shown = re.search(r"```text\n(.*?)```", README, re.DOTALL)[1]
    for block in shown.strip().split("\n\n"):
        assert in_one_line(block) in said


def test_the_counts_are_those_of_the_tables():
    attempts = load_attempts(find_step("07"))
    accepted, refused = len(attempts.alternatives), len(attempts.mistakes)
    assert f"{accepted} alternatives are accepted and {refused} spoiled solutions refused" in in_one_line(README)


def test_the_size_of_the_environment_is_the_one_that_run_announces():
    announced = re.search(r"about a minute and ([\d.]+ GB)", (ROOT / "run").read_text())[1]
    assert f"({announced})" in README
