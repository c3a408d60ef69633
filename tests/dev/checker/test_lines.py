"""Messages between two processes of ours, whatever else one of them prints."""

import os
import signal
import subprocess
import sys
import time

import psutil
import pytest

from checker.lines import Lines, Worker

ECHO = """
from checker.lines import Employer
print("no message")
employer = Employer()
for message in employer.messages():
    print("nor this")
    employer.send({"heard": message["number"]})
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
from checker.lines import Employer
other = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
Employer().send({"other": other.pid})
"""


def test_messages_go_both_ways_and_what_is_printed_is_none():
    worker = Worker([sys.executable, "-c", ECHO], printed=subprocess.PIPE)
    assert worker.receive(seconds=60) is None  # printed before it knew where messages go
    for number in range(3):
        worker.send({"number": number})
    assert [worker.receive(seconds=60) for _ in range(3)] == [{"heard": number} for number in range(3)]
    assert worker.is_alive
    worker.stop()
    worker.stop()
    assert not worker.is_alive


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
    worker = Worker([sys.executable, "-c", program])
    begun = time.monotonic()
    worker.send({})
    assert worker.receive(seconds=5) is None
    worker.stop()
    assert time.monotonic() - begun < 30


def test_what_a_worker_has_started_ends_with_it_and_a_number_that_may_be_anothers_gets_no_signal(monkeypatch):
    worker = Worker([sys.executable, "-c", LEAVES_ANOTHER])
    other = psutil.Process(worker.receive(seconds=60)["other"])
    deadline = time.monotonic() + 60
    while worker.is_alive and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not worker.is_alive
    assert other.is_running()
    worker.stop()
    psutil.wait_procs([other], timeout=10)
    assert not other.is_running() or other.status() == psutil.STATUS_ZOMBIE
    for name in ("kill", "killpg"):
        monkeypatch.setattr(os, name, lambda number, sent: pytest.fail("it was reaped"))
    worker.kill()
    worker.send_signal(signal.SIGTERM)
    worker.stop()
    assert not worker.is_alive
