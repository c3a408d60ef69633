"""Of many rows that are alike, the first ones and a count are shown."""

from dataclasses import replace

import pytest

from checker.course.steps import find_step
from checker.parent.check import Check
from checker.parent.effects import Row, Words, WordsKind
from checker.parent.folding import Folding
from checker.parent.records import RecordView
from checker.parent.state import State
from checker.parent.view import View
from checker.protocol.events import ClaimEnded, Interrupted, Reason
from checker.stages import Mark
from tests.dev.helpers.checks import BEGUN, LONG, NOT_EXPLAINED, OPENED, S07

HOLDING = [Row(Mark.PASS, "one", f"Claim {number}.") for number in range(1, 7)]
FAILING = [Row(Mark.FAIL, "one", f"Claim {number}.", group="It is off.") for number in range(1, 4)]
FOUR = ["Claim 1.", "Claim 2.", "Claim 3.", "Claim 4."]

#: What there is to show -> what is shown at once, and what once the check is over.
ALIKE = {
    "six hold": (HOLDING, FOUR, ["2 more claims about it hold."]),
    "five hold": (HOLDING[:5], FOUR, ["Claim 5."]),
    "then another function's": ([*HOLDING[:5], replace(HOLDING[0], about="g")], [*FOUR, "Claim 5.", "Claim 1."], []),
    "it prints after five": ([*HOLDING[:5], Words("2", WordsKind.PRINTED)], [*FOUR, "Claim 5.", "2"], []),
    "two fail for one reason": (FAILING[:2], [], ["Claim 1.", "Claim 2."]),
    "three fail for one reason": (FAILING, [], ["Claim 1. (2 more claims fail for the same reason.)"]),
    "the third for another": ([*FAILING[:2], replace(FAILING[2], group="")], ["Claim 1.", "Claim 2."], ["Claim 3."]),
}


def lines(items):
    return [item.text if isinstance(item, Words) else item.sentence for item in items]


@pytest.mark.parametrize(("items", "shown", "rest"), ALIKE.values(), ids=ALIKE)
def test_of_many_rows_that_are_alike_the_first_ones_and_a_count_are_shown(items, shown, rest):
    folding, on_page = Folding(View.folds), Folding(RecordView.folds)
    assert lines(each for item in items for each in folding.add(item)) == shown
    assert lines(folding.rest()) == rest
    assert folding.rest() == []
    shown_there = lines(each for item in items for each in on_page.add(item)) + lines(on_page.rest())
    assert shown_there == (shown + rest if items[0].mark == Mark.FAIL else lines(items)), "it folds those that pass"


def claimed(row):
    return ClaimEnded(row.sentence, row.about, row.sentence, row.mark, Reason(row.group))


WAITING = {
    "compiling takes long": ([*map(claimed, HOLDING[:5]), BEGUN, LONG], [*FOUR, "Claim 5.", "your module"]),
    "it is over": ([*map(claimed, FAILING), Interrupted()], [*ALIKE["three fail for one reason"][2], NOT_EXPLAINED]),
}


@pytest.mark.parametrize(("events", "shown"), WAITING.values(), ids=WAITING)
def test_a_row_that_waits_is_shown_before_a_line_moves_and_once_the_check_is_over(monkeypatch, events, shown):
    view, seen = View(), []
    monkeypatch.setattr(view, "show", lambda item: seen.extend(lines([item])))
    monkeypatch.setattr(view, "show_compiling", lambda name, seconds, compiler: seen.append(name))
    check = Check(find_step("s07"), view, offers=S07.offers)
    check.state = State(S07)
    for event in [OPENED, *events]:
        monkeypatch.setattr(check, "seconds", lambda event=event: 5.0 if event is LONG else 2.0)
        check.handle(event)
    assert seen == shown
    rows = [item for item in check.items if isinstance(item, Row)]
    assert len(rows) == sum(isinstance(event, ClaimEnded) for event in events), "another program gets all"
