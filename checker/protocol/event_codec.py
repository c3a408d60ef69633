"""The events of a child as messages, which ``processes`` carries to the parent: write and read them."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, get_args

from checker.compiling import Compiler
from checker.course.reading import Location
from checker.protocol.events import Event, FromChild, Mark, Stage
from checker.protocol.processes import Message, message_of

EVENT_TYPES: dict[str, Any] = {event_type.__name__: event_type for event_type in get_args(FromChild)}


def encode(event: FromChild) -> Message:
    """Return an event as a message."""
    return {"event": type(event).__name__, **asdict(event)}


def decode(line: bytes) -> Event | None:
    """Return the event on a line, or None if the line has none."""
    message = message_of(line) or {}
    try:
        event_type = EVENT_TYPES[message.pop("event")]
        if location := message.get("location"):
            message["location"] = Location(**location)
        if "mark" in message:
            message["mark"] = Mark(message["mark"])
        if "stage" in message:
            message["stage"] = Stage(message["stage"])
        if "compiler" in message:
            message["compiler"] = Compiler(message["compiler"])
        return event_type(**message)
    except (KeyError, TypeError, ValueError):
        return None
