"""``hint``: one hint more at every call, and the last only if it is asked for."""

import re

import pytest

from tests.dev.helpers.commands import run
from tests.dev.helpers.terminal import Terminal

pytestmark = pytest.mark.slow


def test_every_call_gives_one_hint_more_and_the_last_is_asked_for(course):
    assert re.match(r"Hint 1 of 3: the idea\n\s* • `attention_scores`: ", run(course, "hint", "w01"))
    assert run(course, "hint", "w01").startswith("Hint 2 of 3: the operation\n")
    for arguments in ((), ("--all",)):
        unanswered = run(course, "hint", "w01", *arguments, status=2)
        assert 'The last hint, 3 of 3, "the line", gives away what to write. Add --yes to see it.' in unanswered
        assert "return query @" not in unanswered
    for answer, is_shown in (("\n", False), ("y\n", True)):
        with Terminal(course.root, "-m", "cli", "hint", "w01") as terminal:
            terminal.expect("gives away what to write. Show it? [y/N] ")
            terminal.send(answer)
            assert ("return query @" in terminal.rest()) is is_shown
    assert run(course, "hint", "w01").startswith("You have seen all 3 hints of w01; --all shows them again.")
    assert re.findall(r"^Hint (\d)", run(course, "hint", "w01", "--all"), re.MULTILINE) == ["1", "2", "3"]
    chapters = course.root / "book" / "src"
    chapters.unlink()
    assert "where the hints are, is missing" in run(course, "hint", "07", status=2)
    chapters.mkdir()
    (chapters / "step_07.md").write_text("# Step 07\n")
    assert "book/src/step_07.md has no hints" in run(course, "hint", "07", status=2)
