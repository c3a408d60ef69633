"""A check as one object of JSON: what ends it in any way, ``verdict.schema.json`` describes."""

import json

import jsonschema
import pytest

from checker.course import progress
from checker.course.steps import ROOT, find_step
from checker.session.printer import View
from checker.session.records import verdict_record
from checker.session.session import Session
from checker.session.state import FAILED, PASSED, State
from tests.dev.checker.session.test_advance import CHECKS, PLAN

SCHEMA = json.loads((ROOT / "checker" / "session" / "verdict.schema.json").read_text())


@pytest.mark.parametrize("events", [events for events, _ in CHECKS.values()], ids=CHECKS)
def test_a_verdict_is_an_object_that_the_schema_describes(events, monkeypatch):
    for name in ("note_pass", "note_failure"):
        monkeypatch.setattr(progress, name, lambda *arguments, **options: None)
    session = Session(find_step("s07"), View())
    session.state = State(PLAN)
    for event in events:
        session.hear(event)
    if session.verdict:
        record = json.loads(json.dumps(verdict_record(session)))
        jsonschema.validate(record, SCHEMA)
        assert record["verdict"] == {PASSED: "pass", FAILED: "fail"}.get(session.verdict.status, "interrupted")
