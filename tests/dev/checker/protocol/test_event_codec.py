"""What a line of a child's says, which may come from the learner's file: an event, or nothing."""

import json

import pytest

from checker.course.reading import Location
from checker.protocol.event_codec import decode, encode
from checker.protocol.events import ClaimEnded, Mark

CLAIMED = ClaimEnded("test_one", "one", "One is right.", Mark.PASS, location=Location(3, "f()", more=["line 2"]))
NO_EVENTS = ["hello", "[]", "{}", '{"event": "Other"}', '{"event": []}', '{"event": {}}', '{"event": "ClaimEnded"}']


def test_an_event_is_read_as_it_was_written():
    assert decode(json.dumps(encode(CLAIMED)).encode()) == CLAIMED


@pytest.mark.parametrize("line", NO_EVENTS)
def test_any_other_line_is_no_event(line):
    assert decode(line.encode()) is None
