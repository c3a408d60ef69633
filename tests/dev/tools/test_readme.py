"""Every number and every command of the README is this repository's own."""

import json
import re
from xml.etree import ElementTree

import pytest

from checker.course.attempts import load_attempts
from checker.course.paths import ROOT
from checker.course.steps import all_steps, find_step
from cli.tasks import tasks
from tools.book_maker.drawing.terminal import MISTAKE, PICTURE, STEP

README = (ROOT / "README.md").read_text()
SVG = "{http://www.w3.org/2000/svg}"
PAGES = {name: (ROOT / name).read_text() for name in ("README.md", "CONTRIBUTING.md")}

CI = (ROOT / ".ci" / "run").read_text()

#: Tasks that .ci/run does not run, and why.
NOT_IN_CI = {
    "ablate": "takes minutes; by night test_book.py runs it, for ablations.md, and compares what it prints",
    "book": "serves until it is stopped; test_page.py starts it and stops it",
    "book-watch": "serves until it is stopped; test_book.py starts it and stops it",
    "serve": "serves until it is stopped; test_serve.py starts it and stops it",
    "watch": "checks at every save until it is stopped; test_watch.py starts it and stops it",
    "bench": "compiles the 124M model four times and wants an idle machine; test_benchmarks.py runs its parts on small ones",
    "bench-peers": "installs 5 GB, and wants an idle machine; test_peers.py runs what is installed on a small model",
    "bench-kernels": "compiles for minutes, and wants an idle machine; test_kernels.py tries it on short cases",
    "bench-modern": "compiles for many minutes, and wants an idle machine; test_modern.py tries what it times",
    "bench-serve": "takes many minutes, and wants an idle machine",
    "bench-train": "compiles for minutes, and wants an idle machine; test_benchmarks.py tries what it times",
    "bench-page": "wants an idle machine and a browser; test_page_in_browser.py does what it times",
    "bench-watch": "wants an idle machine; test_watch.py saves files and waits for verdicts",
    "nightly": "compiles for minutes, on top of all that ./run test does",
    "book-check": "finds what book-build finds, without building",
    "book-figures": "draws what book-build draws, as files",
    "book-widgets": "writes the files that test_widgets.py compares, and one is timed on an idle machine",
    "readme-picture": "writes the file that test_readme.py compares",
    "compiling": "compiles for an hour; ./run nightly does it",
    "mutants": "takes hours; test_mutants.py makes and grades some",
    "evaluate": "takes minutes; test_models.py compares what it recorded",
    "evaluate-small": "compiles for minutes; test_small_weights.py compares what it recorded",
    "evaluate-writing": "prints what a model writes; test_models.py compares the figures of texts",
    "period-texts": "downloads 11 MB; test_period_texts.py unpacks what it makes itself",
    "train": "compiles for minutes; test_loop.py trains a model of NumPy, and ./run nightly a small one from end to end",
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
    """Each in a row of its own, or in one of several, `w01` to `w05`, with the files of the first and the last."""
    tasks, files = {}, {}
    for step in all_steps():
        tasks[step.task], files[step.task] = len(tasks), f"steps/{step.learner_file.name}"
    listed = []
    for first, last, file, end in re.findall(
        r"^\| `\./run (\w\d\d)`(?: to `(\w\d\d)`)? \|.*\| `(\S+)`(?: to `(\d\d)`)? \|$", README, re.MULTILINE
    ):
        assert file == files[first]
        assert end == last[1:]
        listed += list(tasks)[tasks[first] : tasks[last or first] + 1]
    assert listed == list(tasks)


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


def test_it_is_short():
    assert len(README.splitlines()) <= 80


@pytest.fixture
def said(course):
    course.spoil(STEP, MISTAKE)
    return in_one_line(course.check(STEP).stdout)


@pytest.mark.slow
def test_the_picture_is_what_the_check_says(said):
    drawn = [element.text for element in ElementTree.parse(PICTURE).iter(f"{SVG}text")]
    assert in_one_line(" ".join(drawn)) == f"$ ./run {STEP} {said}", "If that is right: ./run readme-picture"
    (alternative,) = re.findall(rf"!\[(.*)\]\({PICTURE.relative_to(ROOT)}\)", README)
    assert alternative.partition("the mistake: ")[2] in said


def test_the_picture_loads_nothing_and_has_colors_for_light_and_for_dark():
    drawn = PICTURE.read_text()
    assert re.findall(r"https?://[^\"]*", drawn) == ["http://www.w3.org/2000/svg"]
    assert not re.search(r"@import|@font-face|href|url\((?!#)", drawn)
    light, dark = drawn[: drawn.index("</style>")].split("@media (prefers-color-scheme: dark)")
    rule = r"\.([\w-]+)(?: > rect)? \{ fill: (#\w+)"
    light, dark = (dict(re.findall(rule, colors)) for colors in (light, dark))
    assert set(dark) - set(light) == {"terminal-chrome"}  # on a light page the window has its color as an attribute
    assert all(dark[name] != color for name, color in light.items())


def test_the_times_are_measured():
    measured, by_step = (
        json.loads((ROOT / "tools" / "benchmarks" / "figures" / name).read_text())["seconds"]
        for name in ("loop.json", "steps.json")
    )
    assert "In about two seconds (a few more for step 21" in README
    for verdict in ("the numeric verdict on a right answer", "the mistake in a wrong answer is named"):
        assert measured[verdict] < 2
    new_text = by_step.pop("s21, a new text")
    assert len(by_step) == len(all_steps())
    assert max(by_step.values()) < 3 < new_text < 10
    assert "once, in about a minute" in README
    assert round(measured["the very first numeric verdict, nothing cached"] / 60) == 1


def test_the_counts_are_those_of_the_tables():
    attempts = load_attempts(find_step("07"))
    accepted, refused = len(attempts.alternatives), len(attempts.mistakes)
    assert f"{accepted} alternatives are accepted and {refused} spoiled solutions refused" in in_one_line(README)


def test_the_size_of_the_environment_is_the_one_that_run_announces():
    announced = re.search(r"about a minute and ([\d.]+ GB)", (ROOT / "run").read_text())[1]
    assert f"({announced})" in README
