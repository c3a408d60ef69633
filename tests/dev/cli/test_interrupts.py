"""Ctrl-C works even if the program that starts the tool ignores it: ``nohup … &``, a job of a script, some CI runners.

One thing cannot be helped: while ``./run`` sets up ``.venv``, the first time, it is a shell that runs, and a shell
that was started with Ctrl-C ignored cannot take it back.
"""

import contextlib
import io
import os
import select
import signal
import subprocess
import sys
import time

import pytest
from rich.console import Console

from checker import interrupts
from checker.course.paths import ROOT
from checker.events import Tick
from checker.session.printer import Printer
from tests.dev.terminal import ended

pytestmark = pytest.mark.slow

IGNORING = ("sh", "-c", 'trap "" INT; exec "$@"', "sh")  # starts its arguments with Ctrl-C ignored

#: Tasks, what they say when they are well under way, and the last that they say after Ctrl-C.
ENDLESS = {
    "s07": ("_merge_heads", "Interrupted: there is no verdict. Run it again; what MAX has compiled is kept."),
    "watch w01": ("Ctrl-C ends this.", "`./run watch` goes on with the first step that is not done."),
}


@pytest.fixture
def ignoring(course):
    """Start ``python ARGUMENTS`` in the course as ``nohup … &`` does, in a group of its own; its input stays open."""
    course.write("s07", edits={"        weights = F.softmax(scores)": "        while True: pass"})
    path = os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])
    mine = {"PATH": path, "PYTHONPATH": str(course.root), "PYTHONUNBUFFERED": "1", "NO_COLOR": "1"}
    groups = []

    def start(*arguments):
        process = subprocess.Popen(
            [*IGNORING, sys.executable, *arguments],
            cwd=course.root,
            env=os.environ | mine,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        groups.append(process.pid)
        return ended(process)

    yield start
    for group in groups:
        with contextlib.suppress(OSError):
            os.killpg(group, signal.SIGKILL)


def read_until(words, stream):
    """Read what a program says up to ``words``, which need not end a line."""
    said, deadline = "", time.monotonic() + 300  # on a new machine, MAX compiles first
    while words not in said:
        assert select.select([stream], [], [], max(0, deadline - time.monotonic()))[0], f"it said only:\n{said}"
        more = os.read(stream.fileno(), 1 << 16).decode()
        assert more, f"it ended without saying {words!r}, but:\n{said}"
        said += more


@pytest.mark.parametrize("task", ENDLESS)
def test_ctrl_c_ends_what_run_was_told_to_do(ignoring, task):
    under_way, last = ENDLESS[task]
    with ignoring("-m", "cli.tasks", *task.split()) as runner:
        read_until(under_way, runner.stdout)
        os.killpg(runner.pid, signal.SIGINT)
        said = runner.communicate(timeout=60)[0]
    assert runner.returncode == 130
    assert said.strip().endswith(last)
    assert "Traceback" not in said


def test_a_handler_that_someone_has_chosen_stays():
    chosen = signal.signal(signal.SIGINT, lambda *arguments: None)
    try:
        mine = signal.getsignal(signal.SIGINT)
        interrupts.restore()
        assert signal.getsignal(signal.SIGINT) is mine
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        interrupts.restore()
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, chosen)


IN_C = """
import hashlib, sys
from checker import interrupts
from checker.course.paths import ROOT
with interrupts.at_once(lambda: print("stopped")):
    print("begun", flush=True)
    hashlib.pbkdf2_hmac("sha256", b"", b"", 2**31 - 1)  # which no signal interrupts
"""


def test_ctrl_c_ends_a_call_of_c_at_once_where_that_is_asked_for():
    process = subprocess.Popen([sys.executable, "-c", IN_C], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    with process:
        assert process.stdout.readline() == "begun\n"
        process.send_signal(signal.SIGINT)
        assert process.stdout.read() == "stopped\n"
    assert process.returncode == interrupts.INTERRUPTED


def test_what_must_not_be_left_half_done_is_done_before_ctrl_c():
    done, before = [], signal.getsignal(signal.SIGINT)  # MAX's handler, where another test has begun to use MAX

    @interrupts.put_off()
    def work():
        signal.raise_signal(signal.SIGINT)
        done.append("the rest")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == ["the rest"]
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize("where", ["set_live", "show_cursor", "push_render_hook"])
def test_ctrl_c_while_the_line_about_the_compiler_appears_leaves_a_terminal_that_works(monkeypatch, where):
    printer, shown = Printer(), io.StringIO()
    printer.console = Console(file=shown, force_terminal=True)
    interrupted = getattr(printer.console, where)

    def interrupt_and_go_on(*arguments):
        signal.raise_signal(signal.SIGINT)
        return interrupted(*arguments)

    printer.compiling = ("a graph", time.monotonic() - 60)
    with monkeypatch.context() as once:
        once.setattr(printer.console, where, interrupt_and_go_on)
        with pytest.raises(KeyboardInterrupt):
            printer.progress(Tick())
    printer.close()
    printer.line("The pass is kept.")
    *_, last = shown.getvalue().split("\x1b[?25h")
    assert "compiling a graph" in shown.getvalue()
    assert last.endswith("The pass is kept.\n")
    assert "\x1b[?25l" not in last
