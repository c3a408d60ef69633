"""A check in a terminal: which lines there are, and where one is empty."""

from checker.course.reading import Location
from checker.parent.effects import Explanation, Row, Words, WordsKind
from checker.parent.printer import Printer
from checker.stages import Mark
from checker.terminal import Terminal

ROW = Row(Mark.FAIL, "attention_scores", "line 3: It returns the scores.", line=3)
WHY = Explanation("It is off by a factor of 2.", "attention_scores", Location(3, "return 2 * scores"))
SAID, LEAD = Words("Every check draws new numbers."), Words("f and g are each wrong. Begin with f:", WordsKind.LEAD)
ASIDE = Words("(The pass is not kept.)", aside=True)
NUMBERS = [Words(line, WordsKind.SHOWN) for line in ("yours      1", "expected   2")]
PRINTED = Words("hello", WordsKind.PRINTED)


def shown(capsys, *items):
    """What a terminal shows of these parts of a check."""
    printer = Printer(Terminal(["attention_scores"]))
    for item in items:
        printer.show(item)
    return capsys.readouterr().out


def test_the_first_line_is_the_file_and_an_empty_one_follows(capsys):
    Printer(Terminal()).begin("steps/step_01.py")
    assert capsys.readouterr().out == "steps/step_01.py\n\n"


def test_rows_and_what_the_file_prints_stand_together(capsys):
    row = "  fail      attention_scores  line 3: It returns the scores.\n"
    assert shown(capsys, ROW, PRINTED, ROW) == f"{row}  | hello\n{row}"


def test_an_explanation_names_the_function_and_shows_the_line(capsys):
    place = "".join(f"    {line}\n" for line in WHY.location.as_lines())
    assert shown(capsys, ROW, WHY).endswith(f"\n\nattention_scores: {WHY.sentence}\n{place}")
    assert shown(capsys, Explanation(WHY.sentence)) == f"\n{WHY.sentence}\n", "of no function, and no line"


def test_words_stand_apart_but_for_the_first_and_an_aside(capsys):
    assert shown(capsys, SAID, LEAD, ASIDE) == f"{SAID.text}\n\n{LEAD.text}\n{ASIDE.text}\n"


def test_numbers_stand_apart_and_together(capsys):
    assert shown(capsys, ROW, *NUMBERS).endswith("scores.\n\nyours      1\nexpected   2\n")
