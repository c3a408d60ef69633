"""``warm``: what it compiles, at once and in which order, and that it can be stopped."""

import contextlib
import importlib.util
import re
import time
from pathlib import Path

import psutil
import pytest

from checker.course.steps import find_step
from checker.session.printer import Printer
from cli import warm
from cli.warm import FIRST, GRAPHS, SERVING, Warming, Work, carry_out
from play.serving.options import CannotServe
from tests.dev.terminal import Terminal

pytestmark = pytest.mark.slow

QUICK, OTHER = Work("one that is quick", ("this",), 1), Work("another", ("keyword",), 1)
FAILING = Work("one that fails", ("no_such_module",), 1)
ENDLESS = Work("one that does not end", ("http.server", "0"), 1)


@pytest.fixture
def warming():
    return Warming(Printer(), [QUICK, OTHER, FAILING], [])


def children():
    return set(psutil.Process().children(recursive=True))


def test_every_work_is_carried_out_and_what_failed_is_told(warming, capsys):
    ((work, said),) = carry_out([QUICK, FAILING, OTHER], 2, warming)
    assert work is FAILING
    assert "No module named no_such_module" in said
    assert set(warming.seconds) == {QUICK.what, OTHER.what, FAILING.what}
    assert warming.left == []
    lines = capsys.readouterr().out.splitlines()
    assert sorted(re.sub(r" \(\d+ s\)$", "", line).strip() for line in lines) == sorted(warming.seconds)


def test_what_is_running_ends_with_it(warming):
    before = children()
    running = carry_out([ENDLESS, FAILING], 2, warming)
    assert next(running)[0] is FAILING
    assert children() > before
    running.close()  # as Ctrl-C does
    assert children() <= before


def test_without_a_server_it_is_not_compiled(monkeypatch):
    def refuse():
        raise CannotServe("there is none")

    assert SERVING in warm.all_work(checks_only=False)
    monkeypatch.setattr(warm, "check_version", refuse)
    assert SERVING not in warm.all_work(checks_only=False)
    assert GRAPHS in warm.all_work(checks_only=False)


def test_only_what_the_checks_need():
    first, *others = warm.all_work(checks_only=True)
    assert first is FIRST
    assert {work.command[0] for work in others} == {"checker.claims.staging"}


def test_what_two_processes_must_not_compile_at_once_comes_first_and_alone(warming, monkeypatch):
    together = []
    monkeypatch.setattr(warm, "carry_out", lambda works, jobs, warming: together.append(list(works)) or iter(()))
    warm.compile_all(works := warm.all_work(checks_only=False), 2, warming)
    assert together == [[FIRST], works[1:]]
    assert set(works[1:]) >= {GRAPHS, SERVING}


def test_the_functions_in_mojo_are_compiled_where_max_looks_for_them(capsys):
    """The whole file: a process that imports MAX while it is written ends with "invalid ELF header"."""
    warm.compile_missing([FIRST])
    assert re.search(r"  the functions of MAX in Mojo \(\d+ s\)", capsys.readouterr().out)
    package = Path(importlib.util.find_spec("max").submodule_search_locations[0], "_kv_cache_ops")
    assert list(package.glob("__mojocache__/kv_cache_ops.hash-*.so"))


def test_a_terminal_shows_a_bar_and_a_file_does_not(course):
    with contextlib.closing(Terminal(course.root, "-m", "cli", "warm", "w01", "--report")) as terminal:
        shown = terminal.rest()
    assert re.search(r"\d+% \d:\d\d:\d\d the checks of the solutions", shown)
    said = course.python("-m", "cli", "warm", "w01", "--report").stdout
    assert "%" not in said
    for out in (shown, said):
        assert re.search(r"  solutions/warmup_01\.py \(\d s\)$", out, re.MULTILINE)
        assert re.search(r"^ +\d\.\d  solutions/warmup_01\.py$", out, re.MULTILINE)


def test_a_solution_that_is_refused_is_told(course):
    solution = course.root / "solutions" / "warmup_01.py"
    solution.write_text(find_step("w01").solution_file.read_text().replace("return query @", "return 2 * query @"))
    run = course.python("-m", "cli", "warm", "w01")
    assert run.returncode == 1
    assert "w01: " in run.stdout


def test_ctrl_c_ends_it_with_what_it_started(course):
    with contextlib.closing(Terminal(course.root, "-m", "cli", "warm", "s02")) as terminal:
        terminal.expect("Ctrl-C stops it")
        time.sleep(0.3)
        terminal.send("\x03")
        shown = terminal.rest()
        assert (terminal.exitstatus, "Traceback" in shown) == (130, False), shown
