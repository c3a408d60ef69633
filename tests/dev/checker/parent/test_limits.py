"""When a check takes too long: decided from what was spent, so that a busy machine refuses no right file."""

import os
import subprocess
import sys
from dataclasses import replace

import pytest

from checker.errors import UserError
from checker.parent.limits import FOR_A_SOLUTION, Limits, Silence, limit_reached, limits_of
from checker.protocol.events import Activity, Limit

LIMITS = Limits(compute_seconds=10, wait_seconds=60, start_seconds=120, compile_seconds=900)
NO_COMPILER_LIMIT = replace(LIMITS, compile_seconds=None)

#: What the child is doing and what it has spent (seconds, seconds computed, load of each core), and the limit reached.
CASES = {
    "an endless loop": (Activity.COMPUTING, Silence(11, 10.5, 1), (Limit.COMPUTING, 10)),
    "a right file that eight programs hold up": (Activity.COMPUTING, Silence(59, 7, 8), None),
    "an endless loop that eight programs hold up": (Activity.COMPUTING, Silence(90, 10.5, 8), (Limit.COMPUTING, 10)),
    "a file that sleeps": (Activity.COMPUTING, Silence(61, 0.1, 1), (Limit.WAITING, 60)),
    "a file that waits for what MAX computes on a busy machine": (Activity.COMPUTING, Silence(61, 0.1, 8), None),
    "a file that sleeps on a busy machine": (Activity.COMPUTING, Silence(481, 0.1, 8), (Limit.WAITING, 480)),
    "more computed than passed, as of several threads": (Activity.COMPUTING, Silence(6, 12, 1), None),
    "MAX, imported from a cold disk": (Activity.STARTING, Silence(119, 5, 1), None),
    "MAX, which cannot be imported": (Activity.STARTING, Silence(121, 5, 1), (Limit.STARTING, 120)),
    "MAX, whose import never ends": (Activity.STARTING, Silence(130, 125, 1), (Limit.STARTING, 120)),
    "MAX compiles": (Activity.COMPILING, Silence(899, 899, 1), None),
    "MAX compiles for too long": (Activity.COMPILING, Silence(901, 1, 1), (Limit.COMPILING, 900)),
}


@pytest.mark.parametrize(("activity", "silence", "limit"), CASES.values(), ids=CASES)
def test_a_limit_is_reached_by_what_was_spent(activity, silence, limit):
    assert limit_reached(LIMITS, activity, silence) == limit


def test_without_a_limit_max_may_compile_for_hours():
    assert limit_reached(NO_COMPILER_LIMIT, Activity.COMPILING, Silence(36_000, 36_000, 1)) is None


def test_a_solution_has_more_time_and_a_terminal_no_limit_on_compiling(monkeypatch):
    monkeypatch.delenv("COURSE_QUIET_SECONDS", raising=False)
    assert limits_of() == NO_COMPILER_LIMIT
    assert limits_of(is_solution=True).compute_seconds == FOR_A_SOLUTION * 10
    assert limits_of(compile_seconds=900).compile_seconds == 900
    monkeypatch.setenv("COURSE_COMPILE_SECONDS", "5")
    assert limits_of(is_solution=True).compile_seconds == 5
    monkeypatch.setenv("COURSE_QUIET_SECONDS", "2")
    assert (limits_of().compute_seconds, limits_of().wait_seconds) == (2, 12)
    for typed in ("abc", "nan", "-1", "0"):
        monkeypatch.setenv("COURSE_COMPILE_SECONDS", typed)
        with pytest.raises(UserError, match=f"^COURSE_COMPILE_SECONDS is {typed}; give a number of seconds above 0"):
            limits_of()


@pytest.mark.nightly
@pytest.mark.parametrize("step", ["w08", "s07", "s14", "s19"])
def test_a_busy_machine_refuses_no_right_file(course, monkeypatch, step):
    """Eight other programs want each core; the limits are those that a learner's file has."""
    monkeypatch.setenv("COURSE_QUIET_SECONDS", "10")
    course.write(step)
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(8 * (os.cpu_count() or 1))]
    try:
        course.check(step, "--no-compile", status=0)
    finally:
        for process in busy:
            process.kill()
            process.wait()
