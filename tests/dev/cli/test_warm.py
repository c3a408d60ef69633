"""``warm``: what it compiles, and that it says what failed and can be stopped."""

import asyncio
import re
import time

import psutil
import pytest

from checker.errors import UserError
from cli import warm
from cli.warm import SERVING, Work
from tests.dev.terminal import Terminal

pytestmark = pytest.mark.slow


def test_stages_come_one_after_another_and_what_failed_is_told(capsys):
    works = [Work(module, (module,)) for module in ("this", "no_such_module", "keyword")]
    assert asyncio.run(warm.carry_out(works[:1], works[1:])) == [works[1]]
    shown = capsys.readouterr().out
    first, *others = re.findall(r"^  (\w+) \(\d+ s\)$", shown, re.MULTILINE)
    assert (first, sorted(others)) == ("this", ["keyword", "no_such_module"])
    assert "No module named no_such_module" in shown


def test_the_server_is_compiled_where_it_is_installed(monkeypatch):
    def reject():
        raise UserError("there is none")

    assert SERVING in warm.all_work()
    monkeypatch.setattr(warm, "check_version", reject)
    assert SERVING not in warm.all_work()


def test_a_terminal_shows_a_bar_a_file_does_not_and_a_wrong_solution_is_told(course):
    with Terminal(course.root, "-m", "cli", "warm", "w01") as terminal:
        shown = terminal.rest()
    assert re.search(r"1/1 \d:\d\d:\d\d solutions/warmup_01.py", shown)
    solution = course.root / "solutions" / "warmup_01.py"
    solution.write_text(solution.read_text().replace("return query @", "return 2 * query @"))
    run = course.check("warm", "w01", status=1)
    assert "1/1" not in run.stdout
    assert "  fail      attention_scores" in run.stdout
    for out in (shown, run.stdout):
        assert re.search(r"  solutions/warmup_01\.py \(\d s\)", out)


def test_what_is_stopped_ends_with_what_it_has_started():
    sleeping = Work("sleep", ("timeit", "import subprocess; subprocess.run(['sleep', '98.7'])"))
    with pytest.raises(TimeoutError):
        asyncio.run(asyncio.wait_for(warm.carry_out([sleeping]), 2))
    assert not any("98.7" in (each.info["cmdline"] or ()) for each in psutil.process_iter(["cmdline"]))


def test_ctrl_c_ends_it_with_what_it_started(course):
    with Terminal(course.root, "-m", "cli", "warm") as terminal:
        terminal.expect("Ctrl-C stops it")
        running, deadline = psutil.Process(terminal.pid), time.monotonic() + 20
        while not (children := running.children(recursive=True)):
            assert time.monotonic() < deadline
        terminal.send("\x03")
        shown = terminal.rest()
        assert (terminal.exitstatus, "Traceback" in shown) == (130, False), shown
    assert psutil.wait_procs(children, timeout=5)[1] == []
