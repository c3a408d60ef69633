"""``warm``: what it compiles, at once and in which order, and that it can be stopped."""

import contextlib
import re
import time

import psutil
import pytest

from cli import warm
from cli.warm import SERVING, Warming, Work
from play.serving.options import CannotServe
from tests.dev.terminal import Terminal

pytestmark = pytest.mark.slow

QUICK, OTHER = Work("one that is quick", ("this",), 1), Work("another", ("keyword",), 1)
FAILING = Work("one that fails", ("no_such_module",), 1)


def test_every_work_is_carried_out_the_first_alone_and_what_failed_is_told(capsys, monkeypatch):
    warming, together = Warming(3), []
    do_all = warming.do_all
    monkeypatch.setattr(warming, "do_all", lambda todo, *more: together.append(list(todo)) or do_all(todo, *more))
    warming.compile([QUICK, FAILING, OTHER])
    assert together == [[QUICK.what], [FAILING.what, OTHER.what]]
    shown = capsys.readouterr().out
    assert all(re.search(rf"^  {work.what} \(\d+ s\)$", shown, re.MULTILINE) for work in (QUICK, OTHER, FAILING))
    assert "No module named no_such_module" in shown


def test_the_server_is_compiled_where_it_is_installed(monkeypatch):
    def reject():
        raise CannotServe("there is none")

    assert SERVING in warm.all_work()
    monkeypatch.setattr(warm, "check_version", reject)
    assert SERVING not in warm.all_work()


def test_a_terminal_shows_a_bar_a_file_does_not_and_a_wrong_solution_is_told(course):
    with contextlib.closing(Terminal(course.root, "-m", "cli", "warm", "w01")) as terminal:
        shown = terminal.rest()
    assert re.search(r"\d+% \d:\d\d:\d\d the checks of the solutions", shown)
    solution = course.root / "solutions" / "warmup_01.py"
    solution.write_text(solution.read_text().replace("return query @", "return 2 * query @"))
    run = course.python("-m", "cli", "warm", "w01")
    assert (run.returncode, "%" in run.stdout) == (1, False)
    assert "  w01: " in run.stdout
    for out in (shown, run.stdout):
        assert re.search(r"  solutions/warmup_01\.py \(\d s\)", out)


def test_ctrl_c_ends_it_with_what_it_started(course):
    with contextlib.closing(Terminal(course.root, "-m", "cli", "warm")) as terminal:
        terminal.expect("Ctrl-C stops it")
        running, deadline = psutil.Process(terminal.pid), time.monotonic() + 20
        while not (children := running.children(recursive=True)):
            assert time.monotonic() < deadline
        terminal.send("\x03")
        shown = terminal.rest()
        assert (terminal.exitstatus, "Traceback" in shown) == (130, False), shown
    assert psutil.wait_procs(children, timeout=5)[1] == []
