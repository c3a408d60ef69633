"""``warm``: what it compiles, and that it says what failed and can be stopped."""

import asyncio
import re
import signal
import time

import psutil
import pytest

from checker.device import DeviceKind
from checker.errors import UserError
from cli import warm
from cli.warm import WarmUpPart
from play.smollm2 import cached_file
from tests.dev.helpers.terminal import Terminal

pytestmark = pytest.mark.slow


def test_rounds_come_one_after_another_and_what_failed_is_told(capsys):
    works = [WarmUpPart(module, (module,)) for module in ("this", "no_such_module", "keyword")]
    assert asyncio.run(warm.carry_out(works[:1], works[1:])) == [works[1]]
    shown = capsys.readouterr().out
    first, *others = re.findall(r"^  (\w+) \(\d+ s\)$", shown, re.MULTILINE)
    assert (first, sorted(others)) == ("this", ["keyword", "no_such_module"])
    assert "No module named no_such_module" in shown


def test_what_cannot_be_compiled_is_a_failure_too(monkeypatch):
    monkeypatch.setattr(warm, "all_parts", lambda: [WarmUpPart("no such module", ("no_such_module",))])
    monkeypatch.setattr(warm, "all_steps", lambda: [])
    assert warm.warm_up([], DeviceKind.CPU) == 1


def test_the_model_that_answers_is_compiled_once_it_is_fetched_and_as_it_is_served_if_a_server_is(
    monkeypatch, tmp_path
):
    def refuse():
        raise UserError("no server")

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(warm, "check_version", lambda: None)
    assert not {warm.TALKING, warm.TALKING_SERVED} & {*warm.all_parts()}
    cached_file().parent.mkdir()
    cached_file().touch()
    assert {warm.TALKING, warm.SERVING, warm.TALKING_SERVED} <= {*warm.all_parts()}
    monkeypatch.setattr(warm, "check_version", refuse)
    assert {warm.TALKING, warm.SERVING, warm.TALKING_SERVED} & {*warm.all_parts()} == {warm.TALKING}


def test_a_terminal_shows_a_bar_and_a_wrong_solution_is_told(course):
    with Terminal(course.root, "-m", "cli", "warm", "w01") as terminal:
        assert re.search(r"1/1 \d:\d\d:\d\d solutions/warmup_01.py", terminal.rest())
    solution = course.root / "solutions" / "warmup_01.py"
    solution.write_text(solution.read_text().replace("return query @", "return 2 * query @"))
    run = course.check("warm", "w01", status=1)
    assert "  fail      attention_scores" in run.stdout
    assert re.search(r"^  solutions/warmup_01\.py \(\d s\)", run.stdout, re.MULTILINE)


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGHUP, 129)])
def test_ctrl_c_or_a_closed_terminal_ends_it_with_what_it_started(course, number, status):
    with Terminal(course.root, "-m", "cli", "warm") as terminal:
        terminal.expect("Ctrl-C stops it")
        running, deadline = psutil.Process(terminal.pid), time.monotonic() + 20
        while not (children := running.children(recursive=True)):
            assert time.monotonic() < deadline
        terminal.kill(number)
        shown = terminal.rest()
        assert (terminal.exitstatus, "Traceback" in shown) == (status, False), shown
    assert psutil.wait_procs(children, timeout=5)[1] == []
