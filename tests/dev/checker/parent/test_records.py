"""A check as one object of JSON, which ``verdict.schema.json`` describes, and its parts as they come."""

import json
from types import SimpleNamespace

import jsonschema
import pytest

from checker.compiling import Compiler
from checker.course import progress
from checker.course.steps import find_step
from checker.parent import records
from checker.parent.check import Check
from checker.parent.records import RecordView, verdict_record
from checker.parent.state import State
from checker.parent.view import View
from checker.protocol.events import StageEnded
from checker.stages import Stage
from tests.dev.helpers.checks import CHECKS, DIED, NUMBERS_RIGHT, ONE, ONE_FAILS, OPENED, OTHER, S07, SCHEMA

STATUSES = {"pass": 0, "fail": 1, "interrupted": 130}


@pytest.mark.parametrize(("events", "lines"), CHECKS.values(), ids=CHECKS)
def test_a_verdict_is_an_object_that_the_schema_describes(events, lines, monkeypatch):
    for name in ("note_pass", "note_failure"):
        monkeypatch.setattr(progress, name, lambda *arguments, **options: True)
    sent = []
    check = Check(find_step("s07"), RecordView(sent.append), offers=S07.offers)
    check.state = State(S07)
    for event in events:
        check.handle(event)
    leads = [record["text"] for record in sent if record["event"] == "lead"]
    assert leads == [line for line in lines if line.endswith(":")]
    if check.state.verdict:
        record = json.loads(json.dumps(verdict_record(check)))
        jsonschema.validate(record, SCHEMA)
        assert STATUSES[record["verdict"]] == check.state.verdict.status
        assert record["complete"] == ("saved: pass, compiled" in lines)
        assert [line for line in record["said"] if line.endswith(":")] == leads
        for row in record["rows"]:
            assert row["sentence"].startswith(f"line {row['line']}") == row["tells_line"]


SEEDS = {
    "a recorded number is wrong": ([OPENED, ONE_FAILS, OTHER, StageEnded(Stage.NUMBERS)], None),
    "it dies before others are drawn": ([OPENED, ONE], None),
    "it dies at what was drawn": ([OPENED, ONE, OTHER, StageEnded(Stage.NUMBERS)], 5),
    "a pass": (NUMBERS_RIGHT, 5),
}


@pytest.mark.parametrize(("events", "seed"), SEEDS.values(), ids=SEEDS)
def test_a_seed_is_told_where_numbers_were_drawn(monkeypatch, events, seed):
    monkeypatch.setattr(progress, "note_failure", lambda *arguments, **options: None)
    check = Check(find_step("s07"), View(), offers=S07.offers)
    check.state = State(S07)
    for event in [*events, DIED]:
        check.handle(event)
    assert verdict_record(check)["seed"] == seed


def test_what_is_being_compiled_is_told_once_a_second_until_it_ends(monkeypatch):
    told, clock = [], SimpleNamespace(now=100.0, monotonic=lambda: clock.now)
    monkeypatch.setattr(records, "time", clock)
    page = RecordView(lambda record: told.append(record["text"]))
    for clock.now, seconds in ((100.0, 2.0), (100.5, 2.5), (101.5, 3.5)):
        page.show_compiling("step 20's Update", seconds, Compiler.MAX)
    assert told == ["compiling step 20's Update, 2 s", "compiling step 20's Update, 4 s"]
    page.end_compiling("an operation inside it", seconds=3.5)
    assert told[2:] == [], "which was not shown"
    page.end_compiling("step 20's Update", seconds=1.8)  # as the child has measured it
    assert told[2:] == [""], "the page shows nothing any more"
    page.show_compiling("step 20's Train", 0.0, Compiler.MAX)
    assert told[3:] == ["compiling step 20's Train, 0 s"], "at once"
