"""The process of a check: what it prints is shown or said to be cut, and what it has computed is measured."""

import signal
import subprocess
import sys
import time
from dataclasses import replace

import psutil
import pytest

from checker.course.source import Source
from checker.parent.child_process import Child, thread_seconds
from checker.protocol.events import ClaimBegan, Interrupted, Printed, StageEnded, Tick
from checker.protocol.processes import StartedProcess
from checker.stages import Stage
from tests.dev.helpers.checks import JOB

#: What is printed -> the last line that is shown of it.
OUTPUT = {
    "100 MB in a line": ("print('x' * 100_000_000)", f"  | {'x' * 10_000} … (99,990,000 more bytes)"),
    "100 MB in lines": ("print(('x' * 99 + '\\n') * 1_000_000)", "  | … and 999,796 more lines, then:"),
    "no end of line": ("print('hello', end='')", "  | hello"),
    "200 lines": ("print('hello\\n' * 199)", "  | hello"),
}


def write_with(course, line):
    """Write a right warm-up 01 that runs a line when it is imported."""
    course.write("w01", edits={"import numpy as np\n": f"import numpy as np\n{line}\n"})


@pytest.mark.parametrize(("printing", "last"), OUTPUT.values(), ids=OUTPUT)
def test_output_of_any_length_is_shown_or_said_to_be_cut(course, printing, last):
    write_with(course, printing)
    run = course.check("w01", status=0)
    assert last in run.stdout.splitlines()
    assert len(run.stdout) < 3_000_000
    assert ("…" in run.stdout) == ("…" in last)


def job_of(course):
    """The work of a check of warm-up 01."""
    return replace(JOB, step="warmup_01", path="steps/warmup_01.py", source=Source(course.path("w01").read_text()))


def test_what_it_printed_before_its_end_is_heard_after_it(course):
    write_with(course, "print('hello')")
    with Child() as child:
        events = child.run(job_of(course))
        next(events)
        child.process.popen.wait()
        assert "hello" in [event.text for event in events if isinstance(event, Printed)]


def test_what_it_has_printed_until_ctrl_c_is_heard(course):
    write_with(course, "import time; print('hello\\n' * 206, end='half', flush=True); time.sleep(60)")
    job = job_of(course)
    with Child() as child:
        *_, cut, one, two, three, four, half, end = child.run(
            job, is_interrupted=lambda: child.output.lines.line == b"half"
        )
    assert (cut, half, end) == (Printed("… and 2 more lines, then:"), Printed("half"), Interrupted())
    assert {one, two, three, four} == {Printed("hello")}


SAYS_MUCH_AT_ONCE = """
import os, time
os.write(2, b"one\\ntwo\\n")
os.write(1, b'{"event": "ClaimBegan", "sentence": "G."}\\n{"event": "StageEnded", "stage": "tracing"}\\n')
time.sleep(60)
"""


@pytest.mark.parametrize("after", [Printed("one"), ClaimBegan("G.")])
def test_what_was_read_before_ctrl_c_is_handled(monkeypatch, after):
    """The end of a stage may be among it, by which a pass is saved."""
    monkeypatch.setattr(
        "checker.parent.child_process.StartedProcess",
        lambda command, printed: StartedProcess([sys.executable, "-c", SAYS_MUCH_AT_ONCE], printed),
    )
    heard = []
    with Child() as child:
        for event in child.run(JOB, is_interrupted=lambda: after in heard):
            heard.append(event)
    follows = [event for event in heard[heard.index(after) :] if not isinstance(event, Tick)]
    assert heard[-1] == Interrupted()
    assert follows[1] == {Printed("one"): Printed("two"), ClaimBegan("G."): StageEnded(Stage.TRACING)}[after]


SAYS_NO_LINE = """
import signal, time
signal.signal(signal.SIGVTALRM, signal.SIG_IGN)
while True:
    print("{}", flush=True)
    time.sleep(0.01)
"""


def test_a_child_that_says_everything_but_its_line_is_not_listened_to_for_long(monkeypatch):
    monkeypatch.setattr("checker.parent.child_process.ANSWER_SECONDS", 0.5)
    monkeypatch.setattr(
        "checker.parent.child_process.StartedProcess",
        lambda command, printed: StartedProcess([sys.executable, "-c", SAYS_NO_LINE], printed),
    )
    with Child() as child:
        child.process.receive()  # from now on, it takes no notice of the signal
        assert child._running(JOB) is None


def test_a_file_that_no_pipe_holds_waits_for_a_child_that_reads_nothing_yet():
    with Child() as child:
        child.process.send_signal(signal.SIGSTOP)
        events = child.run(replace(JOB, source=Source("#" * 1_000_000)))
        assert isinstance(next(events), Tick)


COMPUTES_IN_ANOTHER_THREAD = """
import hashlib, threading
threading.Thread(target=lambda: hashlib.pbkdf2_hmac("sha256", b"", b"", 10**9)).start()
"""


def test_only_the_thread_that_runs_the_file_counts():
    """MAX's threads compute while they wait; this one has another thread compute, which lets go of Python's lock."""
    with subprocess.Popen([sys.executable, "-c", COMPUTES_IN_ANOTHER_THREAD]) as process:
        deadline = time.monotonic() + 30
        while _of_the_process(process.pid) < 1 and time.monotonic() < deadline:
            time.sleep(0.1)
        own, of_all = thread_seconds(process.pid), _of_the_process(process.pid)
        process.kill()
    assert of_all >= 1
    assert own < of_all / 2 or sys.platform == "darwin"
    assert thread_seconds(process.pid) == 0.0  # it has ended


def _of_the_process(pid):
    times = psutil.Process(pid).cpu_times()
    return times.user + times.system
