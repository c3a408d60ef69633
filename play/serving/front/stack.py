"""The order in which a request passes through the parts of the front, decided here alone.

Probes come first: they are answered whatever else is wrong, need no key, and fill no log. Then the record begins, so
every other answer has an id and is counted, refusals too. A stranger is sent away before anything of the request is
read. Only a valid request takes a place, and its validation says how many. The clock of a request runs from there on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from play.serving.front.admission import Admission, Places
from play.serving.front.answers import App
from play.serving.front.keys import Guard, Keys
from play.serving.front.probes import Probes
from play.serving.front.recording import Record, Recording
from play.serving.front.running import Running
from play.serving.front.standing import Standing
from play.serving.front.validating import Validation
from play.serving.validation import ModelLimits


@dataclass(frozen=True)
class Watching:
    """What those that watch the server get.

    Args:
        listeners: called with the record of each request.
        batches: returns how many batches the model has run.
        page: returns what ``/metrics`` says, and the type of that text.
    """

    listeners: tuple[Callable[[Record], None], ...]
    batches: Callable[[], float]
    page: Callable[[], tuple[bytes, str]]


def stacked(
    running: Running, standing: Standing, places: Places, limits: ModelLimits, keys: Keys | None, watching: Watching
) -> App:
    """Return the application that the server's clients see, whose last part is ``running``."""
    app: App = Admission(running, standing, places)
    app = Validation(app, limits)
    if keys is not None:
        app = Guard(app, keys)
    app = Recording(app, *watching.listeners)
    return Probes(app, standing, places, watching.batches, watching.page)
