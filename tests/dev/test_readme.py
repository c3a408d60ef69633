"""The README and the page on troubleshooting say what the tools do."""

import re
from xml.etree import ElementTree

import pytest

from checker.course.languages import PYTHON
from checker.course.steps import FAST_PATH, find_step
from checker.diagnosis.mistakes import load_attempts
from checker.files import ROOT
from checker.max_adapter.max_errors import ADVICE
from play.book.chapters import SRC
from tools.book_maker.drawing.terminal import MISTAKE, PICTURE, STEP, terminal
from tools.book_maker.values.book_values import environment_gb, loop

README = (ROOT / "README.md").read_text()
TROUBLESHOOTING = (SRC / "troubleshooting.md").read_text()


def in_one_line(text):
    return " ".join(text.split())


def test_the_fast_path_is_shown():
    for text in README, (SRC / "introduction.md").read_text():
        assert " → ".join(find_step(task).number for task in FAST_PATH) in re.sub(
            r"\[(\d\d)\]\([^)]*\)", r"\1", in_one_line(text)
        )


@pytest.mark.slow
def test_the_picture_is_what_the_check_prints(course):
    course.spoil(STEP, MISTAKE)
    printed = in_one_line(course.check(STEP).stdout)
    drawn = ["".join(line.itertext()) for line in ElementTree.parse(PICTURE).iter("{http://www.w3.org/2000/svg}text")]
    assert in_one_line(" ".join(drawn)) == f"$ ./run {STEP} {printed}", "If that is right: ./run readme-picture"
    (alternative,) = re.findall(rf"!\[(.*)\]\({PICTURE.relative_to(ROOT)}\)", README)
    assert alternative.partition("the mistake: ")[2] in printed


def test_the_picture_loads_nothing_and_has_colors_for_light_and_for_dark():
    drawn = terminal("ls", ["\x1b[31mfail\x1b[0m"])
    assert '<tspan class="color-1">fail</tspan>' in drawn
    assert re.findall(r"https?://[^\"]*", drawn) == ["http://www.w3.org/2000/svg"]
    rules = drawn[: drawn.index("</style>")].split("@media (prefers-color-scheme: dark)")
    light, dark = (dict(re.findall(r"(\S+) \{ fill: (#\w+)", colors)) for colors in rules)
    assert ".color-1" in light
    assert set(light) == set(dark)
    assert not set(light.values()) & set(dark.values())


def test_its_numbers_are_those_of_the_tables():
    attempts, text = load_attempts(find_step("07")), in_one_line(README)
    alternatives, mistakes = len(attempts.alternatives), len(attempts.mistakes)
    assert f"accepts {alternatives} other ways to write it and refuses {mistakes} wrong ones" in text
    assert f"({environment_gb} GB)" in text
    measured = loop["seconds"]
    assert "in about two seconds" in text
    assert measured["the numeric verdict on a right answer"] < 2
    assert measured["the mistake in a wrong answer is named"] < 2
    assert "once, in a minute or two" in text
    assert round(measured["the very first numeric verdict, nothing cached"] / 60) == 1


def test_the_page_on_troubleshooting_quotes_what_is_printed_now():
    files = [path for folder in ("checker", "cli", "play", "solutions") for path in (ROOT / folder).rglob("*.py")]
    sources = "\n".join(path.read_text() for path in [ROOT / "run", *files]).replace("{stop}", PYTHON.stop_statement)
    quoted = [
        message for message in re.findall(r"^\*\*`([^`]+)`", TROUBLESHOOTING, re.MULTILINE) if "()" not in message
    ]
    assert len(quoted) > 10
    for message in quoted:
        for part in message.split("…"):
            assert part.strip() in sources, f"nothing says {part.strip()!r} any more, of {message!r}"


def test_the_page_on_troubleshooting_shows_every_advice_of_a_check():
    shown = in_one_line(TROUBLESHOOTING)
    for advice in ADVICE.values():
        choices = [advice] if isinstance(advice, str) else [*advice.values()]  # which one depends on the statement
        missing = f"add to the attempts in troubleshooting.md one that is answered by one of: {choices}"
        assert any(choice in shown for choice in choices), missing
