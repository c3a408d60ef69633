"""In a terminal of any width, every command prints lines that fit, and no sentence a letter a line."""

import re

import pytest

from checker import terminal
from checker.course.steps import find_step
from checker.stages import Mark
from cli.grade import Grade, print_grade
from tests.dev.helpers.terminal import Terminal

SENTENCE = "Every query is scored against every key, in each sequence of a batch, and with more keys than queries."
ABOUT = "attention_backward_of_all"
WIDTHS = (12, 20, 30, 44, 60, 110)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize(
    "show",
    [
        lambda printer: printer.row(Mark.FAIL, ABOUT, SENTENCE),
        lambda printer: printer.row(Mark.FAIL, "", SENTENCE),
        lambda printer: print_grade(printer, Grade(find_step("w01"), Mark.FAIL, SENTENCE)),
    ],
    ids=["a row", "a row about the file", "a grade"],
)
def test_a_sentence_is_wrapped_by_words(capsys, width, show):
    printer = terminal.Terminal([ABOUT])
    printer.console.width = width
    show(printer)
    shown = capsys.readouterr().out
    assert SENTENCE in " ".join(shown.split())
    of_sentence = [line for line in shown.splitlines() if re.search("|".join(SENTENCE.split()), line)]
    assert len(of_sentence) <= 2 + len(SENTENCE) // min(width // 2, 12)


COMMANDS = {
    "w01": "Everything is off by one factor",
    "w08 --solution": "Pass (",
    "status": "Next:",
    "hint w01": "Hint 1",
    "compare w01 --anyway": "written differently",
    "grade --steps w01,w02": "1 of 2",
    "doctor": "checkout",
}


@pytest.mark.slow
@pytest.mark.sampled
@pytest.mark.parametrize("columns", [20, 44])
@pytest.mark.parametrize(("command", "words"), COMMANDS.items(), ids=COMMANDS)
def test_no_command_minds_a_narrow_terminal(course, command, words, columns):
    course.write("w01", edits={"return query @ ": "return 2 * query @ "})
    course.write("w02")
    with Terminal(course.root, "-m", "cli", *command.split(), columns=columns) as terminal:
        shown = terminal.rest(120)
    assert words in " ".join(shown.split())
    assert "Traceback" not in shown


@pytest.mark.slow
def test_watch_and_its_list_in_a_narrow_terminal(course):
    with Terminal(course.root, "-m", "cli", "watch", "w01", columns=20) as terminal:
        terminal.expect("q quit")
        terminal.send("l")
        terminal.expect("done; fast")
        terminal.expect("q quit")
        terminal.send("q")
        assert "Traceback" not in terminal.rest()
