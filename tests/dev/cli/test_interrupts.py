"""Ctrl-C works even if the program that starts the tool ignores it: ``nohup … &``, a job of a script, some CI runners.

One thing cannot be helped: while ``./run`` sets up ``.venv``, the first time, it is a shell that runs, and a shell
that was started with Ctrl-C ignored cannot take it back.
"""

import os
import signal
import subprocess
import sys

import pytest

from checker.course.paths import ROOT
from checker.course.steps import find_step
from play.training import interrupts
from tests.dev.terminal import ended

pytestmark = pytest.mark.slow

IGNORING = ("sh", "-c", 'trap "" INT; exec "$@"', "sh")  # starts its arguments with Ctrl-C ignored
IN_C = """
import hashlib
from play.training import interrupts
with interrupts.at_once(lambda: print("stopped")):
    print("begun", flush=True)
    hashlib.pbkdf2_hmac("sha256", b"", b"", 2**31 - 1)  # which no signal interrupts
"""


def starting(folder, *line):
    """Start a program that prints what a test reads."""
    path = os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])
    mine = {"PATH": path, "PYTHONPATH": str(folder), "PYTHONUNBUFFERED": "1", "NO_COLOR": "1"}
    pipe = subprocess.PIPE
    options = {"stdin": pipe, "stdout": pipe, "stderr": subprocess.STDOUT, "text": True, "start_new_session": True}
    return ended(subprocess.Popen(line, cwd=folder, env=os.environ | mine, **options))


@pytest.mark.parametrize(
    ("task", "under_way", "last"),
    [
        ("w05", "hangs", "Interrupted: there is no verdict. Run it again; what MAX has compiled is kept."),
        ("watch w01", "Ctrl-C ends this.", "`./run watch` goes on with the first step that is not done."),
    ],
)
def test_ctrl_c_ends_what_run_was_told_to_do(course, task, under_way, last):
    course.write("w05", f"{find_step('w05').solution_file.read_text()}\nprint('hangs')\nwhile True: pass\n")
    with starting(course.root, *IGNORING, sys.executable, "-m", "cli.tasks", *task.split()) as runner:
        while under_way not in (line := runner.stdout.readline()):
            assert line
        os.killpg(runner.pid, signal.SIGINT)
        shown = runner.communicate(timeout=60)[0]
    assert runner.returncode == 130
    assert shown.strip().endswith(last)
    assert "Traceback" not in shown


def test_ctrl_c_ends_a_call_of_c_at_once_where_that_is_asked_for():
    with starting(ROOT, sys.executable, "-c", IN_C) as process:
        assert process.stdout.readline() == "begun\n"
        process.send_signal(signal.SIGINT)
        assert process.stdout.read() == "stopped\n"
    assert process.returncode == interrupts.INTERRUPTED
