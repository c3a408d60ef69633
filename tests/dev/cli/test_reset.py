"""``reset``: a step begins anew, and nothing is lost."""

import re

import pytest

from checker.course.skeletons import skeleton_of
from checker.course.steps import find_step
from tests.dev.helpers.commands import run, states
from tests.dev.helpers.terminal import Terminal

pytestmark = pytest.mark.slow


def test_reset_keeps_the_file_and_begins_anew(course):
    for content in (b"", b"\xff\0not text", find_step("w01").solution_file.read_bytes()):  # within a second or so
        course.path("w01").write_bytes(content)
        done = run(course, "reset", "w01")  # there is nobody to ask, and nothing is lost
        copy = re.search(r"Your steps/warmup_01.py is kept as (steps/warmup_01.kept-\d{8}-\d{6}(?:-\d)?.py).\n", done)
        assert (course.root / copy[1]).read_bytes() == content
        assert course.path("w01").read_text() == skeleton_of(find_step("w01"))
    assert len([*course.path("w01").parent.glob("*.kept-*")]) == 3
    run(course, "hint", "w01")
    assert run(course, "reset", "w01") == "steps/warmup_01.py is untouched.\n"
    assert run(course, "hint", "w01").startswith("Hint 1")
    course.write("w01", "mine = 1\n")
    for answer, is_reset in (("nonsense\n", False), ("yes\n", True)):
        with Terminal(course.root, "-m", "cli", "reset", "--all") as terminal:
            question = " ".join(terminal.expect("[y/N] ").split())
            assert "in place of steps/warmup_01.py. What is there now is kept" in question
            terminal.send(answer)
            assert ("Nothing was changed." in terminal.rest()) is not is_reset
    course.path("w01").unlink()
    assert "steps/warmup_01.py was missing." in run(course, "reset", "--all")
    assert set(states(course).values()) == {"untouched"}
    for arguments in ([], ["07", "--all"]):
        assert "say which step" in run(course, "reset", *arguments, status=2)


def test_a_file_that_is_linked_from_elsewhere_begins_anew_there(course):
    file, elsewhere = course.path("w01"), course.root / "elsewhere.py"
    elsewhere.write_text("mine = 1\n")
    file.unlink()
    file.symlink_to(elsewhere)
    run(course, "reset", "w01")
    assert file.is_symlink()
    assert elsewhere.read_text() == skeleton_of(find_step("w01"))
