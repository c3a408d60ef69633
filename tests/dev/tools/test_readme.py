"""Every number and every command of the README is this repository's own."""

import json
import re
from xml.etree import ElementTree

import pytest

from checker.course.attempts import load_attempts
from checker.course.paths import ROOT
from checker.course.steps import all_steps, find_step
from tools.book_maker.drawing.terminal import MISTAKE, PICTURE, STEP

README = (ROOT / "README.md").read_text()
SVG = "{http://www.w3.org/2000/svg}"


def in_one_line(text):
    return " ".join(text.split())


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
