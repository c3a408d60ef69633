"""Nobody waits for a compiler: a module that can be traced passes. What a command says while MAX compiles for it."""

import json
import os
import random
import signal

import psutil
import pytest

from tests.dev.helpers.terminal import Terminal

pytestmark = pytest.mark.slow

LAST_LINE = "return centered * F.rsqrt(variance + self.eps) * self.weight + self.bias"
#: Right for the sizes of an array, and another function for those of a graph.
WRONG_WHEN_COMPILED = "return {right} if str(x.shape[0]).isdigit() else x"
MAY_GO_ON = "You may go on: Ctrl-C keeps the pass."


@pytest.fixture
def in_ones_own_way():
    """Step 03's answer and next to nothing, which no machine has compiled before."""
    return {LAST_LINE: f"{LAST_LINE} + {random.random()} * 1e-9"}


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
    assert (terminal.exitstatus, terminal.signalstatus) == (0, None)
    assert "pass, not compiled" in course.check("status").stdout


def test_a_failure_that_only_the_compiler_finds_takes_the_pass_back(course, kept):
    """Watch goes on meanwhile; the command that it names finds the same, and compiles nothing once more."""
    right = LAST_LINE.removeprefix("return ")
    course.write("s03", edits={LAST_LINE: f"{WRONG_WHEN_COMPILED.format(right=right)} + {random.random()} * 1e-9"})
    with Terminal(course.root, "-m", "cli", "watch", "s03") as terminal:
        assert "s03 is done. Press n for s04" in terminal.expect("q quit")
        terminal.send("n")
        assert "steps/step_04.py" in terminal.expect("q quit")
        assert not kept()["compiled"]
        terminal.expect("s03 is no longer done: once compiled, it is wrong.", seconds=600)  # at a low priority
        terminal.expect("`./run s03` shows it.")
        assert not kept()
    run = course.check("s03", status=1)
    assert "Pass: the outputs match Hugging Face's" in run.stdout
    assert "  fail      compiled" in run.stdout
    assert "please report it, with steps/step_03.py. The pass is taken back." in " ".join(run.stdout.split())
    assert not kept()


@pytest.mark.parametrize(
    ("step", "edits", "words"),
    [
        ("s03", {LAST_LINE: "x = x + 0 * int(x.shape[0])\n        " + LAST_LINE}, "this size is a symbol"),
        (
            "s07",
            {"F.softmax(scores + mask, axis=-1)": "F.softmax((scores + mask).T, axis=-2).T"},
            "MAX compiles no softmax over a negative axis other than -1. Count the axis from the front",
        ),
        (
            "s14",  # with numbers for lengths, it is right
            {"causal[total - sequence_length :]": "causal[-sequence_length:]"},
            "write in line 40: mask = causal[causal.shape[0] - sequence_length:]",
        ),
    ],
)
def test_what_cannot_be_traced_or_is_known_to_be_refused_is_no_pass(course, step, edits, words):
    course.write(step, edits=edits)
    run = course.check(step, status=1)
    assert "  fail      compiled" in run.stdout
    assert words in " ".join(run.stdout.split())
    assert MAY_GO_ON not in run.stdout
    assert "please report it" not in run.stdout
    assert ("Pass: " in run.stdout) == ("The pass is taken back." in run.stdout)


def test_a_save_of_the_same_step_ends_its_compilation_and_quitting_all(course, in_ones_own_way, kept):
    course.write("s03", edits=in_ones_own_way)
    terminal = Terminal(course.root, "-m", "cli", "watch", "s03")
    terminal.expect("q quit")
    compiling = workers_below(terminal.pid)
    assert any(os.getpriority(os.PRIO_PROCESS, pid) > 0 for pid in compiling)
    course.write("s03", edits={LAST_LINE: "return x"})
    assert "  fail      forward" in terminal.expect("q quit")
    left = workers_below(terminal.pid)
    assert len(compiling - left) == 2  # it, and the one that was ready
    assert not kept()["compiled"]
    terminal.send("q")
    terminal.rest()
    for pid in compiling | left:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, signal.SIG_DFL)


def workers_below(pid):
    return {child.pid for child in psutil.Process(pid).children() if "checker.child.main" in child.cmdline()}
