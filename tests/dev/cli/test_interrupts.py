"""Ctrl-C during what Python cannot interrupt."""

import signal

import pytest

from checker.course.steps import ROOT
from play.training import interrupts
from tests.dev.terminal import started

pytestmark = pytest.mark.slow

IN_C = """
import hashlib
from play.training import interrupts
with interrupts.at_once(lambda: print("stopped")):
    print("begun", flush=True)
    hashlib.pbkdf2_hmac("sha256", b"", b"", 2**31 - 1)  # which no signal interrupts
"""


def test_ctrl_c_ends_a_call_of_c_at_once_where_that_is_asked_for():
    with started(ROOT, "-c", IN_C) as process:
        assert process.stdout.readline() == "begun\n"
        process.send_signal(signal.SIGINT)
        assert process.stdout.read() == "stopped\n"
    assert process.returncode == interrupts.INTERRUPTED
