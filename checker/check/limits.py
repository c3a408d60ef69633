"""How long a child may be silent: the limits, and whether one is reached. Nothing is measured here.

A busy machine must not refuse a right file. So a limit on computing is reached only when the thread that runs the
learner's file has itself computed for so long: MAX's threads compute while they wait, so the time of the whole process
says nothing. Waiting has a limit of its own, which grows with the number of programs that want the processor.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from checker.events import Doing, Limit

COMPUTE_SECONDS = 10.0  # without an event, of the thread that runs the file
WAIT_SECONDS = 60.0  # without an event, while that thread computes less
START_SECONDS = 120.0  # for importing MAX from a cold disk
FOR_A_SOLUTION = 12  # times the limits of a learner's file: a slow machine is all that can be wrong


@dataclass(frozen=True)
class Limits:
    """How many seconds may pass between two events of a child.

    Attributes:
        computing: of processor time, used by the thread that runs the file.
        waiting: while that thread computes less.
        starting: of processor time, until the first event; MAX may be imported from a cold disk.
        compiling: while one thing is compiled; None is without a limit, for a person who can press Ctrl-C.
    """

    computing: float
    waiting: float
    starting: float
    compiling: float | None


@dataclass(frozen=True)
class Spent:
    """What has passed since the last event.

    Attributes:
        seconds: by the clock.
        computed: seconds of processor time of the thread that runs the file.
        load: how many programs want the processor, for each core.
    """

    seconds: float
    computed: float
    load: float


def limits_of(*, solution: bool = False, compiling: float | None = None) -> Limits:
    """Return the limits of a check; ``COURSE_QUIET_SECONDS``, which tests set, changes all in proportion.

    Args:
        solution: whether the reference solution is graded.
        compiling: the limit on compiling one thing; else ``COURSE_COMPILE_SECONDS``, or none.
    """
    quiet, compiles = os.environ.get("COURSE_QUIET_SECONDS"), os.environ.get("COURSE_COMPILE_SECONDS")
    patience = (float(quiet) / COMPUTE_SECONDS if quiet else 1.0) * (FOR_A_SOLUTION if solution else 1)
    return Limits(
        patience * COMPUTE_SECONDS,
        patience * WAIT_SECONDS,
        patience * START_SECONDS,
        float(compiles) if compiles else compiling,
    )


def reached(limits: Limits, doing: Doing, spent: Spent) -> tuple[Limit, float] | None:
    """Return the limit that a child has reached and its seconds, or None.

    Args:
        limits: the limits.
        doing: what the child is doing.
        spent: what has passed since the child was last heard.
    """
    if doing is Doing.COMPILING:
        is_over = limits.compiling is not None and spent.seconds > limits.compiling
        return (Limit.COMPILING, limits.compiling or 0.0) if is_over else None
    is_starting = doing is Doing.STARTING
    computing = limits.starting if is_starting else limits.computing
    if min(spent.computed, spent.seconds) > computing:
        return (Limit.STARTING if is_starting else Limit.COMPUTING), computing
    waiting = max(limits.waiting, computing) * max(1.0, spent.load)
    if spent.seconds > waiting:
        return (Limit.STARTING if is_starting else Limit.WAITING), waiting
    return None
