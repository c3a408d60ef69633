"""A learner's file may do anything; none of it is a yes."""

import os
import signal
import subprocess
import sys
import time

import psutil
import pytest

from tests.dev.terminal import ended

pytestmark = pytest.mark.slow

FAKE = "Pass (0.1 s). Compare with solutions/solution_07.py."

HOSTILE_AT_IMPORT = {
    "sys.exit": "import sys\nsys.exit(0)\n",
    "os._exit": "import os\nos._exit(0)\n",
    "kills its process group": "import os, signal\nos.killpg(0, signal.SIGKILL)\n",
    "prints a fake verdict": f"import os\nprint({FAKE!r}, flush=True)\nos._exit(0)\n",
    "imports the answer": "from solutions.solution_07 import *\n",
    "reads the answer": "exec(open('solutions/solution_07.py').read())\n",
    "loads the answer by its path": "import runpy\nglobals().update(runpy.run_path('solutions/solution_07.py'))\n",
}


@pytest.mark.parametrize("source", HOSTILE_AT_IMPORT.values(), ids=HOSTILE_AT_IMPORT)
def test_at_import(course, source):
    blanks = "def _split_heads(): ...\n"
    course.write("s07", f"{source}\nclass GPT2MultiHeadAttention:\n    {blanks}")
    run = course.check("s07")
    assert run.returncode == 1
    assert "Compare with" not in run.stdout.replace(f"| {FAKE}", "")
    assert "No verdict" in run.stdout or " no " in run.stdout


WHILE_ATTENDING = {
    "import sys; sys.exit(0)": "Your code ends the program",
    "import os; os._exit(0)": "the process ended during this claim: Given query",
    "while True: pass": "timed out after 3 s during this claim: Given query",
}


@pytest.mark.parametrize(("line", "advice"), WHILE_ATTENDING.items())
def test_while_attending(course, monkeypatch, line, advice):
    monkeypatch.setenv("COURSE_QUIET_SECONDS", "3")  # instead of 10
    course.write(
        "s07", edits={"        weights = F.softmax(scores)": f"        {line}\n        weights = F.softmax(scores)"}
    )
    run = course.check("s07")
    assert run.returncode == 1
    assert "Compare with" not in run.stdout
    assert advice in " ".join(run.stdout.split())
    assert line.startswith("import os") or f"line {course.line_of('s07', line)}: {line}" in run.stdout


def test_the_answer_is_named(course):
    course.write(
        "s07", HOSTILE_AT_IMPORT["imports the answer"] + "class GPT2MultiHeadAttention:\n    def forward(self): ...\n"
    )
    assert "solutions/solution_07.py, the answer to this step" in course.check("s07").stdout


def test_earlier_solutions_may_be_imported(course):
    course.write("s07")
    assert "from solutions.solution_02 import" in (course.root / "steps" / "step_07.py").read_text()
    assert course.check("s07", "--no-compile").returncode == 0


def test_a_check_that_is_cut_short_is_no_yes(course):
    """Claims that never ran are missed, though none said no."""
    course.write(
        "s07",
        edits={
            "        query, key, value = F.split": "        raise KeyboardInterrupt\n        query, key, value = F.split"
        },
    )
    run = course.check("s07", "--no-compile")
    assert run.returncode == 1
    assert "Compare with" not in run.stdout


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL], ids=lambda end: end.name)
def test_a_check_that_is_killed_leaves_no_child(course, end):
    course.write("w01", edits={"return query @ np.swapaxes(key, -2, -1)": "while True: pass"})
    pipe = subprocess.PIPE
    command = [sys.executable, "-u", "-m", "cli", "w01"]
    with ended(
        subprocess.Popen(command, cwd=course.root, env=os.environ, stdout=pipe, stderr=pipe, text=True)
    ) as check:
        deadline = time.monotonic() + 30
        while not (children := psutil.Process(check.pid).children(recursive=True)) and time.monotonic() < deadline:
            time.sleep(0.02)
        time.sleep(0.5)  # by now it is in the loop
        check.send_signal(end)
        check.wait(timeout=30)
        _, alive = psutil.wait_procs(children, timeout=2)
        running = [child for child in alive if child.status() != psutil.STATUS_ZOMBIE]  # init may be slow to reap
    assert children
    assert running == []
