"""The events of a child as messages, which ``processes`` carries to the parent: write and read them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any, get_args

from checker.compiling import Compiler
from checker.course.reading import Location
from checker.protocol.events import Event, FromChild, Reason
from checker.protocol.processes import Message, message_of
from checker.stages import Mark, Stage

EVENT_TYPES: dict[str, Any] = {event_type.__name__: event_type for event_type in get_args(FromChild)}


def _location(value: dict[str, Any] | None) -> Location | None:
    """Return a place in the file, which an event may lack."""
    return Location(**value) if value else None


def _reason(value: dict[str, Any]) -> Reason:
    """Return why a claim does not pass."""
    return Reason(**{**value, "location": _location(value["location"])})


#: The fields of events whose values JSON does not know -> what makes such a value of what it has for it.
READ_BY: dict[str, Callable[[Any], object]] = {
    "location": _location,
    "mark": Mark,
    "why": _reason,
    "stage": Stage,
    "compiler": Compiler,
}


def encode(event: FromChild) -> Message:
    """Return an event as a message."""
    return {"event": type(event).__name__, **asdict(event)}


def decode(line: bytes) -> Event | None:
    """Return the event on a line, or None if the line has none."""
    message = message_of(line) or {}
    try:
        event_type = EVENT_TYPES[message.pop("event")]
        for name in READ_BY.keys() & message.keys():
            message[name] = READ_BY[name](message[name])
        return event_type(**message)
    except (KeyError, TypeError, ValueError):
        return None
