"""Messages between two processes of ours, whatever else one of them prints, and the end of the one that was started."""

import os
import signal
import subprocess
import sys
import time

import psutil
import pytest

from checker.protocol.processes import Lines, StartedProcess

ECHO = """
from checker.protocol.processes import ParentProcess
print("no message")
parent = ParentProcess()
for message in parent.messages():
    print("nor this")
    parent.send({"heard": message["number"]})
"""
BAD = {
    "it has ended": "raise SystemExit(3)",
    "it says something else": "print('hello', flush=True)",
    "it says a list": "print('[1]', flush=True)",
    "it says too much": "import os\nwhile True: os.write(1, b'x' * 1_000_000)",
    "it says nothing": "import time; time.sleep(60)",
}
#: Ends before a program that it has started.
LEAVES_ANOTHER = """
import subprocess, sys
from checker.protocol.processes import ParentProcess
other = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
ParentProcess().send({"other": other.pid})
"""


def test_messages_go_both_ways_and_what_is_printed_is_none():
    started = StartedProcess([sys.executable, "-c", ECHO], printed=subprocess.PIPE)
    assert started.receive(seconds=60) is None  # printed before it knew where messages go
    for number in range(3):
        started.send({"number": number})
    assert [started.receive(seconds=60) for _ in range(3)] == [{"heard": number} for number in range(3)]
    assert started.is_alive
    started.stop()
    started.stop()
    assert not started.is_alive


def test_lines_come_once_they_are_complete_and_at_the_end_also_the_last():
    reading, writing = os.pipe()
    lines = Lines(reading)
    os.write(writing, b"one\ntwo\nthr")
    assert lines.read() == [b"one", b"two"]
    os.write(writing, b"ee")
    assert lines.read() == []
    os.close(writing)
    assert lines.read() == [b"three"]
    assert not lines.is_open
    os.close(reading)


@pytest.mark.parametrize("program", BAD.values(), ids=BAD)
def test_what_is_no_message_is_none_in_time(program):
    started = StartedProcess([sys.executable, "-c", program])
    begun = time.monotonic()
    started.send({})
    assert started.receive(seconds=5) is None
    started.stop()
    assert time.monotonic() - begun < 30


def test_what_a_process_has_started_ends_with_it_and_a_number_that_may_be_anothers_gets_no_signal(monkeypatch):
    started = StartedProcess([sys.executable, "-c", LEAVES_ANOTHER])
    other = psutil.Process(started.receive(seconds=60)["other"])
    deadline = time.monotonic() + 60
    while started.is_alive and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not started.is_alive
    assert other.is_running()
    started.stop()
    psutil.wait_procs([other], timeout=10)
    assert not other.is_running() or other.status() == psutil.STATUS_ZOMBIE
    for name in ("kill", "killpg"):
        monkeypatch.setattr(os, name, lambda number, sent: pytest.fail("it was reaped"))
    started.kill()
    started.send_signal(signal.SIGTERM)
    started.stop()
    assert not started.is_alive
