"""Nobody waits for a compiler: a module that has the right numbers and can be traced passes."""

import json
import os
import random
import signal
from types import SimpleNamespace

import pytest

from checker.course.steps import find_step
from checker.events import FAIL
from checker.session.verdict import CheckState, Verdict
from cli.watch.background import in_one_line
from tests.dev.terminal import Terminal

pytestmark = pytest.mark.slow

ONE_LINE = "return F.layer_norm(x, gamma=self.weight, beta=self.bias, epsilon=self.eps)"
IN_WORDS = """centered = x - x.mean(-1)
        variance = (centered * centered).mean(-1)
        return centered * F.rsqrt(variance + self.eps) * self.weight + self.bias"""
#: Right for the sizes of an array, and another function for those of a graph.
WRONG_WHEN_COMPILED = "return {right} if str(x.shape[0]).isdigit() else x"
UNTRACEABLE = "return {right} + 0 * int(x.shape[0])"
STEP = find_step("s03")
MAY_GO_ON = "You may go on: Ctrl-C keeps the pass."


@pytest.fixture
def in_ones_own_way():
    """Step 03's answer in other words, which no machine has compiled before."""
    return {ONE_LINE: f"{IN_WORDS} + {random.random()} * 1e-9"}


@pytest.fixture
def kept(course):
    """What the course has kept of step 03's pass."""
    return lambda: json.loads((course.root / ".course" / "progress.json").read_text())["pass"].get("step_03")


def test_ctrl_c_while_max_compiles_keeps_the_pass(course, in_ones_own_way, kept):
    course.write("s03", edits=in_ones_own_way)
    terminal = Terminal(course.root, "-m", "cli", "s03")
    shown = terminal.expect(MAY_GO_ON)
    assert "Pass: the outputs match Hugging Face's" in shown
    assert not kept()["compiled"]
    terminal.sendintr()
    assert terminal.rest().rstrip().endswith("The pass is kept, as `pass, not compiled`.")
    assert terminal.exitstatus == 0
    assert "pass, not compiled" in course.python("-m", "cli", "status").stdout


def test_what_is_compiled_at_once_is_told_in_one_pass(course, kept):
    course.write("s03")
    run = course.check("s03")
    assert run.returncode == 0
    assert MAY_GO_ON not in run.stdout
    assert kept()["compiled"]


def test_a_failure_that_only_the_compiler_finds_takes_the_pass_back(course, kept):
    right = ONE_LINE.removeprefix("return ")
    course.write("s03", edits={ONE_LINE: f"{WRONG_WHEN_COMPILED.format(right=right)} + {random.random()} * 1e-9"})
    run = course.check("s03")
    assert run.returncode == 1
    assert "Pass: the outputs match Hugging Face's" in run.stdout
    assert "  fail      compiled" in run.stdout
    report = course.root / ".course" / "report-step_03.txt"
    assert "please report it, with .course/report-step_03.txt. The pass is taken back." in " ".join(run.stdout.split())
    assert report.read_text().endswith((course.root / "steps" / "step_03.py").read_text())
    assert not kept()


def test_what_cannot_be_traced_is_no_yes(course):
    right = ONE_LINE.removeprefix("return ")
    course.write("s03", edits={ONE_LINE: UNTRACEABLE.format(right=right)})
    run = course.check("s03")
    assert run.returncode == 1
    assert "  fail      compiled" in run.stdout
    assert MAY_GO_ON not in run.stdout
    assert "please report it" not in run.stdout


def test_what_the_compiler_is_known_to_refuse_is_no_yes(course):
    """A right answer, whose softmax is over the axis before the last of the transposed scores."""
    course.write("s07", edits={"F.softmax(scores)": "F.softmax(scores.transpose(-2, -1), axis=-2).transpose(-2, -1)"})
    run = course.check("s07")
    assert run.returncode == 1
    said = " ".join(run.stdout.split())
    assert "MAX compiles no softmax over a negative axis other than -1. Count the axis from the front" in said
    assert MAY_GO_ON not in said
    assert "please report it" not in said
    course.write("s07", edits={"F.softmax(scores)": "F.softmax(scores.transpose(-2, -1), axis=2).transpose(-2, -1)"})
    assert course.check("s07", "--no-compile").returncode == 0


def test_watch_goes_on_while_max_compiles(course, in_ones_own_way, kept):
    course.write("s03", edits=in_ones_own_way)
    terminal = Terminal(course.root, "-m", "cli", "watch", "s03")
    try:
        shown = terminal.expect("q quit")
        assert "s03 is done. Press n for s04" in shown
        terminal.send("n")
        assert "steps/step_04.py" in terminal.expect("q quit")
        assert not kept()["compiled"]
        terminal.expect("s03 is compiled too, and gives the same numbers", seconds=300)
        assert kept()["compiled"]
    finally:
        terminal.close()


def test_a_save_of_the_same_step_ends_its_compilation(course, in_ones_own_way, kept):
    course.write("s03", edits=in_ones_own_way)
    terminal = Terminal(course.root, "-m", "cli", "watch", "s03")
    try:
        terminal.expect("q quit")
        compiling = workers_below(terminal.pid)
        course.write("s03", edits={ONE_LINE: "return x"})
        assert "  fail      forward" in terminal.expect("q quit")
        assert len(compiling - workers_below(terminal.pid)) == 2  # it, and the one that was ready
        assert not kept()["compiled"]
    finally:
        terminal.close()


def test_a_check_that_is_left_for_the_step_being_compiled_is_ended(course, in_ones_own_way):
    course.write("s03", edits=in_ones_own_way)
    endless = {"hidden_states = self.c_fc(hidden_states)": "while True: pass"}
    course.write("s04", edits=endless)
    terminal = Terminal(course.root, "-m", "cli", "watch", "s03")
    try:
        terminal.expect("q quit")
        terminal.send("n")
        terminal.expect("  pass      __init__")
        terminal.send("p")
        terminal.expect("q quit")
        assert len(workers_below(terminal.pid)) == 2  # s03's, which is compiled again, and the one that is ready
    finally:
        terminal.close()


def test_a_compiler_that_gives_up_takes_no_yes_back():
    died, refused = CheckState(), CheckState(outcomes={"test_compiled": FAIL})
    said = {
        state.has_failed: in_one_line(SimpleNamespace(step=STEP, state=state, conclude=lambda: Verdict(1)))
        for state in (died, refused)
    }
    assert said[False].startswith("s03 is not compiled; its pass is kept.")
    assert said[True].startswith("s03 is no longer done: once compiled, it is wrong.")


def test_quitting_ends_what_is_compiled(course, in_ones_own_way):
    course.write("s03", edits=in_ones_own_way)
    terminal = Terminal(course.root, "-m", "cli", "watch", "s03")
    terminal.expect("q quit")
    compiling = workers_below(terminal.pid)
    assert any(os.getpriority(os.PRIO_PROCESS, pid) > 0 for pid in compiling)
    terminal.send("q")
    terminal.rest()
    for pid in compiling:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, signal.SIG_DFL)


def workers_below(pid):
    import psutil

    return {child.pid for child in psutil.Process(pid).children() if "checker.claims.worker" in child.cmdline()}
