"""What a line of a child's says, which may come from the learner's file: an event, or nothing."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import get_type_hints

import pytest

from checker.course.reading import Location
from checker.protocol.event_codec import EVENT_TYPES, READ_BY, decode, encode
from checker.protocol.events import ClaimEnded, Reason
from checker.stages import Mark

WHY = Reason("It is off.", Location(3, "f()", more=["line 2"]))
CLAIMED = ClaimEnded("test_one", "one", "One is right.", Mark.FAIL, WHY)
PLAIN = (str, int, float, bool, str | None, Sequence[str], Mapping[str, str])  # types of fields that JSON knows
NO_EVENTS = ["hello", "[]", "{}", '{"event": "Other"}', '{"event": []}', '{"event": {}}', '{"event": "ClaimEnded"}']


def test_an_event_is_read_as_it_was_written():
    assert decode(json.dumps(encode(CLAIMED)).encode()) == CLAIMED


@pytest.mark.parametrize("event_type", EVENT_TYPES.values(), ids=EVENT_TYPES)
def test_each_field_that_json_does_not_know_is_read(event_type):
    """A kind that arrives as a plain text equals it, and fails only in a ``match``."""
    hints = get_type_hints(event_type)
    not_plain = {field.name for field in fields(event_type) if hints[field.name] not in PLAIN}
    assert not_plain <= READ_BY.keys()


@pytest.mark.parametrize("line", NO_EVENTS)
def test_any_other_line_is_no_event(line):
    assert decode(line.encode()) is None
