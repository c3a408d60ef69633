"""Ctrl-C where the caller ignores it, and during what Python cannot interrupt."""

import os
import signal
import sys

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


def test_ctrl_c_ends_what_run_was_told_to_do(course):
    """The program that starts it ignores Ctrl-C: ``nohup … &``, a job of a script, some runners of CI."""
    ignoring = ("sh", "-c", 'trap "" INT; exec "$@"', "sh")
    path = os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])
    with started(course.root, "-m", "cli.tasks", "watch", "w01", by=ignoring, PATH=path) as runner:
        while "Ctrl-C ends this." not in (line := runner.stdout.readline()):
            assert line
        os.killpg(runner.pid, signal.SIGINT)
        shown = "".join(runner.communicate(timeout=60))
    assert runner.returncode == 130
    assert shown.strip().endswith("`./run watch` goes on with the first step that is not done.")


def test_ctrl_c_ends_a_call_of_c_at_once_where_that_is_asked_for():
    with started(ROOT, "-c", IN_C) as process:
        assert process.stdout.readline() == "begun\n"
        process.send_signal(signal.SIGINT)
        assert process.stdout.read() == "stopped\n"
    assert process.returncode == interrupts.INTERRUPTED
