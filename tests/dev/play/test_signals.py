"""Ctrl-C ends whatever the program does, also in a call of C, and the programs that it runs."""

import io
import os
import signal
import time

import psutil
import pytest

from checker.errors import INTERRUPTED
from checker.files import ROOT
from checker.max_adapter.kernel_store import kernel_groups
from play.signals import ENDINGS
from tests.dev.helpers.terminal import Terminal, started

SOON = 30  # seconds, on a busy machine
KERNELS = f"{len(kernel_groups()['model'])} kernels"  # of the steps that build the model

DOING = {
    "a call of C": ('hashlib.pbkdf2_hmac("sha256", b"", b"", 2**31 - 1)', ""),  # which no signal interrupts
    "Python": ("while True: time.time()", "closed\n"),
    "waiting": ("sys.stdin.readline()", "closed\n"),
    "an import": ("sys.path.append(sys.argv[1]); import endless", ""),  # of an extension, which an exception crashes
    "what is put off": ("with signals.putting_off_signals(): time.sleep(99)", ""),
    "closing": ("try: time.sleep(99)\n        finally: time.sleep(99)", ""),
}
PROGRAM = """
import hashlib, sys, time
from play import signals
with signals.exiting_on_signals(lambda by: print("stopped by", by)):
    try:
        print("begun", flush=True)
        {doing}
    finally:
        print("closed")
"""


@pytest.mark.slow
@pytest.mark.sampled
@pytest.mark.parametrize("number", ENDINGS)
@pytest.mark.parametrize("what", DOING)
def test_a_signal_ends_it_soon_and_what_can_be_closed_in_time_is_closed(what, number, tmp_path):
    doing, closed = DOING[what]
    (tmp_path / "endless.py").write_text("while True: pass")
    with started(ROOT, "-c", PROGRAM.format(doing=doing), str(tmp_path)) as process:
        assert process.stdout.readline() == "begun\n"
        time.sleep(1)  # it is in the middle of it
        process.send_signal(number)
        shown, errors = process.communicate(timeout=60)
    assert (shown, errors, process.returncode) == (f"{closed}stopped by {ENDINGS[number]}\n", "", 128 + number)


@pytest.mark.slow
def test_a_second_signal_does_not_stop_the_first(tmp_path):
    (tmp_path / "endless.py").write_text("while True: pass")
    program = PROGRAM.format(doing=DOING["an import"][0])
    again = program.replace("lambda by: print", "lambda by: signals.os.kill(signals.os.getpid(), 2) or print")
    assert again != program
    with started(ROOT, "-c", again, str(tmp_path)) as process:
        assert process.stdout.readline() == "begun\n"
        time.sleep(1)
        process.send_signal(signal.SIGTERM)
        shown, errors = process.communicate(timeout=30)
    assert (shown, errors, process.returncode) == ("stopped by SIGTERM\n", "", 128 + signal.SIGTERM)


@pytest.mark.slow
def test_what_a_caller_lets_a_program_ignore_stays_ignored():
    with started(ROOT, "-c", PROGRAM.format(doing="sys.stdin.readline()"), by=("nohup",)) as process:
        assert process.stdout.readline() == "begun\n"
        process.send_signal(signal.SIGHUP)
        assert process.communicate("\n", timeout=60)[0] == "closed\n"
    assert process.returncode == 0


@pytest.mark.slow
def test_ctrl_c_while_max_compiles_leaves_a_terminal_that_prints_and_no_file(course, monkeypatch, tmp_path):
    monkeypatch.setenv("MODULAR_CACHE_DIR", str(tmp_path / "empty"))
    with Terminal(course.root, "-m", "cli", "attention", "Call me") as terminal:
        terminal.logfile_read = raw = io.StringIO()
        terminal.expect(f"compiling {KERNELS}")
        pressed = time.monotonic()
        terminal.send("\x03")
        terminal.expect(f"attention: stopped by Ctrl-C while MAX compiled {KERNELS}", seconds=30)
        rest = terminal.rest()
    assert rest.rstrip().endswith("; the next run starts that over")
    assert "compiling" not in rest
    assert time.monotonic() - pressed < 10  # MAX compiles for a minute
    assert terminal.exitstatus == INTERRUPTED
    assert raw.getvalue().rfind("\x1b[?25h") > raw.getvalue().rfind("\x1b[?25l")
    assert not (course.root / "attention.html").exists()


@pytest.mark.slow
@pytest.mark.parametrize("ignored", [False, True])
def test_a_terminal_that_closes_ends_a_server_unless_nohup_has_started_it(ignored):
    code = "import time; from play import signals; signals.restore_default_signals(); print(flush=True); time.sleep(99)"
    with started(ROOT, "-c", code, by=("nohup",) if ignored else ()) as server:
        server.stdout.readline()
        for number in (signal.SIGHUP, signal.SIGTERM):
            os.kill(server.pid, number)
        assert server.wait(SOON) == -(signal.SIGTERM if ignored else signal.SIGHUP)


COMPILING = """
import subprocess, sys
from play.signals import raising_on_signals, restore_default_signals
restore_default_signals()
with raising_on_signals():
    subprocess.run([sys.executable, "-c", "import os, time; print(os.getpid(), flush=True); time.sleep(999)"])
"""


@pytest.mark.slow
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, -signal.SIGINT), (signal.SIGHUP, 129)])
def test_a_program_that_a_command_runs_ends_with_it(number, status):
    with started(ROOT, "-c", COMPILING) as command:
        program = psutil.Process(int(command.stdout.readline()))
        command.send_signal(number)
        assert command.wait(SOON) == status
        program.wait(SOON)
