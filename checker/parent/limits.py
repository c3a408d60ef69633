"""The limits on a child's silence, and whether one is reached; ``child_process`` measures it.

A busy machine must not refuse a right file. So the limit on computing counts only the processor time of the thread that
runs the learner's file: MAX's threads compute while they wait, so the time of the whole process says nothing. Waiting
has a limit of its own, which grows with the number of programs that want the processor.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass

from checker.errors import UserError
from checker.protocol.events import Activity, Limit

COMPUTE_SECONDS = 10.0  # without an event, of the thread that runs the file
WAIT_SECONDS = 60.0  # without an event, while that thread computes less
START_SECONDS = 120.0  # for importing MAX from a cold disk
FOR_A_SOLUTION = 12  # times the limits of a learner's file: only a slow machine can be to blame

COMPILE_VARIABLE, QUIET_VARIABLE = "COURSE_COMPILE_SECONDS", "COURSE_QUIET_SECONDS"  # see ``limits_of``


@dataclass(frozen=True)
class Limits:
    """How many seconds may pass between two events of a child.

    Attributes:
        compute_seconds: processor time of the thread that runs the file.
        wait_seconds: time by the clock, while that thread computes less.
        start_seconds: processor time, or time by the clock, until the first event: MAX may be on a cold disk.
        compile_seconds: time by the clock while one thing is compiled; None is no limit, as at a terminal, where a
            person can press Ctrl-C. The page and ``grade`` set one.
    """

    compute_seconds: float
    wait_seconds: float
    start_seconds: float
    compile_seconds: float | None


@dataclass(frozen=True)
class Silence:
    """The time since the last event of a child.

    Attributes:
        seconds: the time by the clock.
        compute_seconds: processor time of the thread that runs the file.
        load: how many programs want the processor, for each core.
    """

    seconds: float
    compute_seconds: float
    load: float


def limits_of(*, is_solution: bool = False, compile_seconds: float | None = None) -> Limits:
    """Return the limits of a check.

    Two variables of the environment change them: ``COURSE_COMPILE_SECONDS`` that on compiling, whatever else says of
    it, and ``COURSE_QUIET_SECONDS``, which tests set, that on computing, and two others in proportion.

    Args:
        is_solution: whether the reference solution is checked.
        compile_seconds: the limit on compiling one thing; None is none.

    Raises:
        UserError: one of the variables is no number of seconds.
    """
    patience = (_seconds_in(QUIET_VARIABLE) or COMPUTE_SECONDS) / COMPUTE_SECONDS
    if is_solution:
        patience *= FOR_A_SOLUTION
    return Limits(
        compute_seconds=patience * COMPUTE_SECONDS,
        wait_seconds=patience * WAIT_SECONDS,
        start_seconds=patience * START_SECONDS,
        compile_seconds=_seconds_in(COMPILE_VARIABLE) or compile_seconds,
    )


def _seconds_in(variable: str) -> float | None:
    """Return the seconds that a variable of the environment says; None if it is not set, or empty."""
    text = os.environ.get(variable)
    if not text:
        return None
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not seconds > 0:  # nor is NaN
        raise UserError(f"{variable} is {text}; give a number of seconds above 0, or unset it")
    return seconds


def limit_reached(limits: Limits, activity: Activity, silence: Silence) -> tuple[Limit, float] | None:
    """Return the limit that a child has reached, and its seconds; None if it has reached none.

    Args:
        limits: the limits.
        activity: the activity of the child.
        silence: the time since its last event.
    """
    if activity is Activity.COMPILING:
        if limits.compile_seconds is None or silence.seconds <= limits.compile_seconds:
            return None
        return Limit.COMPILING, limits.compile_seconds
    computed, load = min(silence.compute_seconds, silence.seconds), max(1.0, silence.load)
    if activity is Activity.STARTING:
        if computed > limits.start_seconds:
            return Limit.STARTING, limits.start_seconds
        start_seconds = limits.start_seconds * load
        return (Limit.STARTING, start_seconds) if silence.seconds > start_seconds else None
    if computed > limits.compute_seconds:
        return Limit.COMPUTING, limits.compute_seconds
    wait_seconds = limits.wait_seconds * load
    return (Limit.WAITING, wait_seconds) if silence.seconds > wait_seconds else None
