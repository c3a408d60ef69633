"""The conditions for serving: the installed version of MAX, and whose modules every process of the server runs."""

from __future__ import annotations

import functools
import importlib.metadata
import os
from dataclasses import dataclass
from pathlib import Path

from checker.course.installed import needed_version
from checker.course.steps import QUANTIZATION
from play.own_steps import use_mine

#: In the environment of the server and of the processes that it starts: whose modules run, if not the reference's.
MODULES = "GPT2_MODULES"
MINE, FILL_IN, ANYWAY = "mine", "fill-in", "anyway"

#: In the same environment, if linear layers are to run by the kernel of ``play/kernels``.
KERNELS = "GPT2_KERNELS"

#: In the same environment, the format that matrices are rounded to, if they are.
QUANTIZE = "GPT2_QUANTIZE"


#: At most, of a text that waits, in all processes of a server; ``tests/dev/play/test_serve.py`` measures it.
WAITING_MB = 0.25
LONGEST = 86_400  # seconds: a day, for a request or for the end of the server


class CannotServe(Exception):
    """The server cannot be started; the message says what to do."""


@dataclass(frozen=True)
class Options:
    """What to serve, where, to whom, and how much.

    Raises:
        CannotServe: an option makes no sense.
    """

    model: str | Path  # a folder, or a name that step 13 knows
    host: str
    port: int
    device: str
    batch: int  # texts that run at once
    queue: int  # texts that wait; each takes less than WAITING_MB
    time_limit: float  # seconds that a request may take
    grace: float  # seconds that running requests have once a signal asks the server to end
    restart: bool  # start the model again when its process ends
    no_prefix_cache: bool  # compute every prompt anew
    log_json: bool
    verbose: bool

    def __post_init__(self) -> None:
        if self.batch < 1:
            raise CannotServe(f"--batch {self.batch} allows no request to run; give 1 or more")
        if self.queue < 0:
            raise CannotServe(f"--queue {self.queue} cannot be; give 0 or more")
        if not 0 < self.time_limit <= LONGEST:
            raise CannotServe(f"--time-limit {self.time_limit:g} cannot be; give a number above 0, up to {LONGEST} s")
        if not 0 <= self.grace <= LONGEST:
            raise CannotServe(f"--grace {self.grace:g} cannot be; give a number from 0 to {LONGEST} s")


def check_version() -> None:
    """Refuse a MAX that ``play/serving/max`` was not written for: its interfaces have moved with every release so far.

    Raises:
        CannotServe: another version is installed, or MAX without its server.
    """
    version, needed = importlib.metadata.version("max"), needed_version()
    if version != needed:
        raise CannotServe(
            f"play/serving is written for MAX {needed}, and {version} is installed; "
            f"install max[serve]=={needed}, or bring play/serving up to date"
        )
    try:
        importlib.metadata.version("fastapi")
    except importlib.metadata.PackageNotFoundError as error:
        raise CannotServe(f"MAX's server is not installed; `./run serve` installs max[serve]=={needed}") from error


@functools.cache
def choose_modules() -> list[str]:
    """Let solutions mean the learner's steps if the environment says so; return what to tell the user about that.

    Call it in every process of the server, before any solution is imported.

    Raises:
        NotWritten: steps are not complete, and the reference may not stand in.
        CheckFailed: the last check of a step failed, and it may not run anyway.
    """
    chosen = os.environ.get(MODULES, "").split()
    more = [QUANTIZATION] if QUANTIZE in os.environ else []
    return use_mine(fill_in=FILL_IN in chosen, anyway=ANYWAY in chosen, more=more) if chosen else []
