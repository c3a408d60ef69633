"""``warm``: what it compiles, at once and in which order, and that it can be stopped."""

import contextlib
import re
import time

import psutil
import pytest

from checker.session.printer import Printer
from cli import warm
from cli.warm import FIRST, GRAPHS, SERVING, Warming, Work
from play.serving.options import CannotServe
from tests.dev.terminal import Terminal

pytestmark = pytest.mark.slow

QUICK, OTHER = Work("one that is quick", ("this",), 1), Work("another", ("keyword",), 1)
FAILING = Work("one that fails", ("no_such_module",), 1)
ENDLESS = Work("one that does not end", ("http.server", "0"), 1)


def test_every_work_is_carried_out_the_first_alone_and_what_failed_is_told(capsys, monkeypatch):
    warming, together = Warming(Printer(), 2, 3), []
    do_all = warming.do_all
    monkeypatch.setattr(warming, "do_all", lambda todo, shares: together.append(list(todo)) or do_all(todo, shares))
    warming.compile([QUICK, FAILING, OTHER])
    assert together == [[QUICK.what], [FAILING.what, OTHER.what]]
    assert set(warming.seconds) == {QUICK.what, OTHER.what, FAILING.what}
    shown = capsys.readouterr().out
    assert all(re.search(rf"^  {what} \(\d+ s\)$", shown, re.MULTILINE) for what in warming.seconds)
    assert "No module named no_such_module" in shown


def test_what_is_running_ends_with_it():
    def children():
        return set(psutil.Process().children(recursive=True))

    before, warming = children(), Warming(Printer(), 2, 2)
    running = warming.do_all({work.what: lambda work=work: warm.compile_one(work) for work in (ENDLESS, FAILING)}, {})
    assert next(running)[0] == FAILING.what
    while not children() > before:
        time.sleep(0.05)
    running.close()  # as Ctrl-C does
    deadline = time.monotonic() + 10
    while children() > before and time.monotonic() < deadline:
        time.sleep(0.05)
    assert children() <= before


def test_the_server_is_compiled_where_it_is_installed_and_only_checks_on_demand(monkeypatch):
    def reject():
        raise CannotServe("there is none")

    assert SERVING in warm.all_work(checks_only=False)
    monkeypatch.setattr(warm, "check_version", reject)
    assert SERVING not in warm.all_work(checks_only=False)
    first, *others = warm.all_work(checks_only=True)
    assert first is FIRST
    assert {work.command[0] for work in others} == {"checker.claims.staging"}
    assert GRAPHS in others


def test_a_terminal_shows_a_bar_a_file_does_not_and_a_wrong_solution_is_told(course):
    with contextlib.closing(Terminal(course.root, "-m", "cli", "warm", "w01", "--report")) as terminal:
        shown = terminal.rest()
    assert re.search(r"\d+% \d:\d\d:\d\d the checks of the solutions", shown)
    solution = course.root / "solutions" / "warmup_01.py"
    solution.write_text(solution.read_text().replace("return query @", "return 2 * query @"))
    run = course.python("-m", "cli", "warm", "w01", "--report")
    assert (run.returncode, "%" in run.stdout) == (1, False)
    assert "  w01: " in run.stdout
    for out in (shown, run.stdout):
        assert re.search(r"  solutions/warmup_01\.py \(\d s\)", out)
        assert re.search(r"^ +\d\.\d  solutions/warmup_01\.py$", out, re.MULTILINE)


def test_ctrl_c_ends_it_with_what_it_started(course):
    with contextlib.closing(Terminal(course.root, "-m", "cli", "warm", "s02")) as terminal:
        terminal.expect("Ctrl-C stops it")
        time.sleep(0.3)
        terminal.send("\x03")
        shown = terminal.rest()
        assert (terminal.exitstatus, "Traceback" in shown) == (130, False), shown
