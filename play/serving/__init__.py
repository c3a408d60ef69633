"""GPT-2 behind MAX's OpenAI-compatible server. Everything that knows MAX's serving interfaces is in this package.

``cache`` has MAX's paged attention, ``architecture`` what MAX asks of a model, ``server`` starts MAX, and ``door``
looks at each request first. ``pages`` runs the model without a server, for the check of step 15.
"""

from __future__ import annotations

import functools
import importlib.metadata
import os

from checker.course.steps import Step
from play.modules import use_mine

#: The interfaces moved with every release so far; another version needs another look at this package.
MAX_VERSION = "26.7.0"

#: In the environment of the server and of the processes that it starts: whose modules run, if not the reference's.
MODULES = "GPT2_MODULES"
MINE, FILL_IN = "mine", "fill-in"


class CannotServe(Exception):
    """The server cannot be started; the message says what to do."""


def check_version() -> None:
    """Refuse a MAX that this package was not written for.

    Raises:
        CannotServe: another version is installed, or MAX without its server.
    """
    version = importlib.metadata.version("max")
    if version != MAX_VERSION:
        raise CannotServe(
            f"play/serving is written for MAX {MAX_VERSION}, and {version} is installed; "
            f"install max[serve]=={MAX_VERSION}, or bring play/serving up to date"
        )
    try:
        importlib.metadata.version("fastapi")
    except importlib.metadata.PackageNotFoundError as error:
        raise CannotServe(f"MAX's server is not installed; `./run serve` installs max[serve]=={MAX_VERSION}") from error


@functools.cache
def choose_modules() -> list[Step]:
    """Let solutions mean the learner's steps where the environment says so; returns those that stay the reference's.

    Every process of the server must do so before it imports a solution. Those that the server starts find their order
    in the environment, and carry it out as soon as they import this package.

    Raises:
        NotWritten: steps are not complete, and the reference is not to stand in.
    """
    chosen = os.environ.get(MODULES)
    return use_mine(fill_in=chosen == FILL_IN) if chosen else []


if MODULES in os.environ:
    choose_modules()
