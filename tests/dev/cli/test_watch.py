"""``watch`` in a terminal: it checks at every save, whatever the editor or the learner's file does."""

import contextlib
import os
import queue
import re
import signal
import subprocess
import sys
import time

import psutil
import pytest

from checker.course.skeletons import expected
from checker.course.steps import all_steps, find_step
from cli.watch import inputs, ready
from tests.dev.terminal import Terminal, ended

pytestmark = pytest.mark.slow

READY = "q quit"  # the last line when a verdict is complete
WRONG = {"return query @ ": "return 2 * query @ "}
RIGHT = find_step("w01").solution_file.read_text()
FUTURE = "from __future__ import annotations\n"


@pytest.fixture
def watching(course):
    """Starts ``watch`` in a terminal, and ends it after the test."""
    opened = []

    def start(*arguments, columns=100):
        opened.append(Terminal(course.root, "-m", "cli", "watch", *arguments, columns=columns))
        return opened[-1]

    yield start
    for terminal in opened:
        terminal.close()


def save(course, step, source):
    """Write a file in place, as simple editors do."""
    (course.root / "steps" / find_step(step).learner_file.name).write_text(source)


def beginning_with(lines):
    """The right answer, which does something else first."""
    assert RIGHT.count(FUTURE) == 1
    return RIGHT.replace(FUTURE, FUTURE + lines)


# ---------------------------------------------------------------- saves


def test_it_checks_at_every_save(course, watching):
    terminal = watching("w01")
    shown = terminal.expect(READY)
    assert "to write  attention_scores" in shown
    assert "Watching steps/warmup_01.py: save it to check it again." in shown
    course.write("w01", edits=WRONG)
    assert "  fail      attention_scores" in terminal.expect(READY)
    course.write("w01")
    shown = terminal.expect(READY)
    assert re.search(r"Yes \(\d\.\d s\)\. Compare with solutions/warmup_01\.py\.", shown)
    assert "w01 is done. Press n for w02, self-attention that can learn." in shown
    assert "  fail  " not in shown


def test_it_goes_on_where_the_learner_is(course, watching):
    course.write("w01")
    assert course.check("w01").returncode == 0
    terminal = watching()
    assert terminal.expect(READY).startswith("steps/warmup_02.py")
    terminal.close()  # else it checks what is written now, and it is done again
    course.write("w01", RIGHT + "CHANGED = True\n")
    assert watching().expect(READY).startswith("steps/warmup_01.py")


def test_when_everything_is_done_it_says_so(course):
    script = "from checker.course import progress, steps\nfor step in steps.all_steps():\n"
    script += "    step.learner_file.write_text('mine')\n    progress.note_pass(step, 'mine', compiled=True)"
    assert course.python("-c", script).returncode == 0
    done = course.python("-m", "cli", "watch")
    assert (done.returncode, done.stdout[:33]) == (0, "Every step and warm-up is done. `")


def in_place(path, content):
    path.write_text(content)


def renamed_over(path, content):
    new = path.with_name(".warmup_01.py.swp")
    new.write_text(content)
    os.replace(new, path)


def moved_away_and_written_anew(path, content):
    path.rename(path.with_name("warmup_01.py~"))
    time.sleep(0.1)
    path.write_text(content)


def emptied_first(path, content):
    with path.open("w") as file:
        file.flush()
        time.sleep(0.1)
        file.write(content)


def in_two_parts(path, content):
    with path.open("w") as file:
        file.write(content[: len(content) // 2])
        file.flush()
        time.sleep(0.5)
        file.write(content[len(content) // 2 :])


@pytest.mark.slow
@pytest.mark.parametrize(
    "write",
    [in_place, renamed_over, moved_away_and_written_anew, emptied_first, in_two_parts],
    ids=lambda f: f.__name__,
)
def test_editors_save_in_many_ways(course, watching, write):
    terminal = watching("w01")
    terminal.expect(READY)
    for comment in ("# first\n", "# second\n"):
        write(course.root / "steps" / "warmup_01.py", RIGHT + comment)
        shown = terminal.expect("is done. Press n")
        assert "The file is missing" not in shown
        terminal.expect(READY)


def test_broken_and_deleted_files(course, watching):
    terminal = watching("w01")
    terminal.expect(READY)
    path = course.root / "steps" / "warmup_01.py"
    path.write_text(RIGHT.replace("return query @ ", "return query @ ("))
    assert "'(' was never closed" in terminal.expect(READY)
    path.unlink()
    assert "The file is missing." in terminal.expect(READY)
    path.write_bytes(b"\xff")
    assert "not UTF-8 text" in terminal.expect(READY)
    path.write_text(RIGHT)
    assert "Pass (" in terminal.expect(READY)


@pytest.mark.slow
def test_a_folder_that_is_made_anew(course, watching):
    """The system watches the old folder, which is gone; the file itself is looked at too."""
    terminal = watching("w01")
    terminal.expect(READY)
    steps = course.root / "steps"
    steps.rename(course.root / "old")
    assert "The file is missing." in terminal.expect(READY)
    steps.mkdir()
    (steps / "warmup_01.py").write_text(RIGHT)
    assert "Pass (" in terminal.expect(READY)


def test_a_save_during_a_check_begins_it_anew(course, watching):
    terminal = watching("w01")
    terminal.expect(READY)
    save(course, "w01", beginning_with("import time\nprint('asleep')\ntime.sleep(600)\n"))
    terminal.expect("| asleep")
    course.write("w01")
    shown = terminal.expect(READY, seconds=60)
    assert "Pass (" in shown
    assert "No verdict" not in shown


@pytest.mark.slow
def test_an_endless_loop_is_told_and_survived(course, watching, monkeypatch):
    monkeypatch.setenv("COURSE_QUIET_SECONDS", "3")
    terminal = watching("w01")
    terminal.expect(READY)
    course.write("w01", edits={"    return query @ ": "    while True: pass\n    return query @ "})
    shown = " ".join(terminal.expect(READY).split())
    assert "No verdict: timed out after 3 s" in shown
    assert "while True: pass" in shown
    course.write("w01", edits={"    return query @ ": "    print('again')\n    while True: pass\n    return query @ "})
    terminal.expect("| again")
    course.write("w01")
    assert "Pass (" in terminal.expect(READY, seconds=60)


HOSTILE = {
    "ends its process": ("import os\nos._exit(0)\n", "No verdict: the process ended"),
    "kills its group": ("import os, signal\nos.killpg(0, signal.SIGKILL)\n", "No verdict: the process ended"),
    "kills the next child": (
        "import os, signal, psutil\n"
        "for other in psutil.process_iter():\n"
        "    if other.pid != os.getpid() and other.ppid() == os.getppid():\n        other.kill()\n",
        "Pass (",
    ),
    "reads the answer": ("open('solutions/warmup_01.py')\n", "solutions/warmup_01.py, the answer to this step"),
    "prints a fake yes": ("print('Pass (0.1 s). Compare with x.')\nraise SystemExit\n", "Your code ends the program"),
}


@pytest.mark.slow
@pytest.mark.parametrize(("lines", "said"), HOSTILE.values(), ids=HOSTILE)
def test_what_a_check_guarantees_watch_does(course, watching, lines, said):
    terminal = watching("w01")
    terminal.expect(READY)
    save(course, "w01", beginning_with(lines))
    shown = " ".join(terminal.expect(READY).split())
    assert said in shown
    assert ("w01 is done" in shown) is (said == "Pass (")
    course.write("w01")
    assert "Pass (" in terminal.expect(READY)


def test_every_check_has_a_child_of_its_own_that_was_started_before(course, watching):
    terminal = watching("w01")
    terminal.expect(READY)
    seen = []
    for turn in range(3):
        wait_for_a_resting_child(terminal)
        saved = time.time()
        told = f"import os, psutil\nprint('child', os.getpid(), psutil.Process().create_time(), {turn})\n"
        save(course, "w01", beginning_with(told))
        child, created = re.search(r"child (\d+) ([\d.]+)", terminal.expect(READY)).groups()
        assert float(created) < saved
        seen.append(child)
    assert len(set(seen)) == 3


@pytest.mark.slow
def test_a_child_that_is_started_before_has_seen_no_answer(course):
    """Of the solutions, it has imported those that a learner's file may import, and no other."""
    script = """\
import sys
from checker.claims import worker
from checker.course.steps import find_step
worker.prepare_ahead(find_step(sys.argv[1]), lambda what, seconds: None)
print(*sorted(name for name in sys.modules if name.startswith(("solutions.", "graded."))))
"""
    for task, seen in (("w03", ""), ("s07", "solutions.solution_01"), ("s03", "")):
        assert course.python("-c", script, task).stdout.splitlines()[-1:] == [seen]


def test_a_change_of_the_check_itself_is_noticed(course, watching):
    course.write("w01")
    terminal = watching("w01")
    assert "Pass (" in terminal.expect(READY)
    wait_for_a_resting_child(terminal)
    check = course.root / "tests" / "test_warmup_01.py"
    check.write_text(check.read_text() + "\n\ndef test_more(step):\n    assert False, 'a claim that was added'\n")
    save(course, "w01", RIGHT + "# again\n")
    assert "a claim that was added" in " ".join(terminal.expect(READY).split())


@pytest.mark.parametrize("folder", ["checker/claims", "solutions", "tests/attempts"])
def test_a_change_in_any_folder_that_a_child_imports_from_is_noticed(tmp_path, monkeypatch, folder):
    for name, place in (("ROOT", tmp_path), ("SOLUTIONS", tmp_path / "solutions"), ("TESTS", tmp_path / "tests")):
        monkeypatch.setattr(ready, name, place)
    for name in ("cli", "checker", "solutions", "tests", folder):
        (tmp_path / name).mkdir(exist_ok=True)
    for name in ("cli/main.py", f"{folder}/changed.py"):
        (tmp_path / name).write_text("")
    later = ready.newest_change() + 10**9
    os.utime(tmp_path / folder / "changed.py", ns=(later, later))
    assert ready.newest_change() == later


@pytest.mark.slow
def test_where_the_system_tells_of_no_changes(course, watching, monkeypatch):
    """Files on a network drive, say, are looked at regularly."""
    monkeypatch.setenv("WATCHFILES_FORCE_POLLING", "true")
    terminal = watching("w01")
    terminal.expect(READY)
    course.write("w01")
    assert "Pass (" in terminal.expect(READY)


def test_where_the_system_has_no_watches_left(tmp_path, monkeypatch):
    watch = inputs.watchfiles.watch

    def refused(*arguments, force_polling, **options):
        if not force_polling:
            raise OSError("OS file watch limit reached.")
        yield from watch(*arguments, force_polling=True, **options)

    monkeypatch.setattr(inputs.watchfiles, "watch", refused)
    came, deadline = queue.SimpleQueue(), time.monotonic() + 20
    with inputs.saves_in(tmp_path, came):
        while (saved := inputs.take(came, seconds=0.5)) is None and time.monotonic() < deadline:
            (tmp_path / "step_07.py").write_text(str(time.monotonic()))
    assert "step_07.py" in saved.names


# ---------------------------------------------------------------- keys


def test_keys(course, watching):
    chapter = course.root / "book" / "src" / "warmup_01.md"
    chapter.parent.mkdir(parents=True)
    tiers = [
        f'<details class="hint"><summary>Hint {n} of 2: {what}</summary>\n\n{what}!\n\n</details>\n'
        for n, what in enumerate(("idea", "line"), 1)
    ]
    chapter.write_text("## Hints\n" + "".join(tiers))
    terminal = watching("w01")
    terminal.expect(READY)
    terminal.send("h")
    terminal.expect("Hint 1 of 2: idea")
    terminal.send("h")
    terminal.expect('"line", gives away what to write. Press y to do so.')
    terminal.send("\x1b[A")  # an arrow is no letter
    terminal.send("z")  # no key of ours: the offer is over
    terminal.expect("No key does that: h hint, s show numbers, c compare,")
    terminal.send("y")
    terminal.send("h")
    assert "line!" not in terminal.expect("Press y to do so.")
    terminal.send("y")
    terminal.expect("line!")
    terminal.send("h")
    terminal.expect("You have seen all 2 hints")
    terminal.send("l")
    listed = terminal.expect(READY)
    assert re.search(r"^> w01  untouched ", listed, re.MULTILINE)
    assert re.search(r"^  w02  untouched ", listed, re.MULTILINE)
    terminal.send("r")
    assert terminal.expect(READY).lstrip().startswith("steps/warmup_01.py")
    terminal.send("n")
    assert terminal.expect(READY).lstrip().startswith("steps/warmup_02.py")
    terminal.send("h")
    terminal.expect("book/src/warmup_02.md, where the hints are, is missing.")
    terminal.send("q")
    terminal.rest()
    assert terminal.exitstatus == 0


@pytest.mark.slow
def test_another_step_is_picked_from_the_list(course, watching):
    names = [step.name for step in all_steps()]
    before = f"steps/{names[names.index('step_01') - 1]}.py"
    terminal = watching("w02")
    terminal.expect(READY)
    terminal.send("l")
    terminal.expect("Type a step, 07 or w01, and Enter to go there.")
    terminal.expect(READY)
    terminal.send("s01\r")
    assert "steps/step_01.py" in terminal.expect(READY)
    terminal.send("p")
    assert before in terminal.expect(READY)
    terminal.send("l")
    terminal.expect(READY)
    terminal.send("99\r")
    terminal.expect("s13, s14, s15")
    terminal.send("l")
    terminal.expect(READY)
    terminal.send("r")  # no step: it means what it always means
    assert before in terminal.expect(READY)


def test_the_numbers_are_shown_at_a_key(course, watching):
    terminal = watching("w01")
    terminal.expect(READY)
    terminal.send("s")
    terminal.expect("The last check has no wrong numbers to show.")
    course.write("w01", edits=WRONG)
    assert "> marks the largest difference" not in terminal.expect(READY)
    terminal.send("s")
    assert "> marks the largest difference" in terminal.expect(READY)
    terminal.send("r")
    assert "> marks the largest difference" not in terminal.expect(READY)


@pytest.mark.slow
def test_the_solution_is_compared_and_the_step_begun_again_at_a_key(course, watching):
    course.write("w01", edits=WRONG)
    terminal = watching("w01")
    terminal.expect(READY)
    terminal.send("c")
    assert "2 * query" not in terminal.expect("comparing shows the solution. Press y to do so.")
    terminal.send("y")
    assert "return 2 * query @ np.swapaxes(key, -2, -1)" in terminal.expect("blanks are written as in the solution.")
    terminal.send("x")
    terminal.expect("what is there now is kept beside it.")
    terminal.send("q")
    terminal.rest()
    assert "2 * query" in (course.root / "steps" / "warmup_01.py").read_text()
    terminal = watching("w01")
    terminal.expect(READY)
    terminal.send("x")
    terminal.expect("Press y to do")
    terminal.send("y")
    assert "to write  attention_scores" in terminal.expect(READY)
    (kept,) = (course.root / "steps").glob("warmup_01.kept-*.py")
    assert "2 * query" in kept.read_text()
    terminal.send("c")
    terminal.expect("Press y to do")
    terminal.send("q")
    terminal.rest()


def test_next_leaves_out_what_is_done_and_comes_round(course, watching):
    course.write("w02")
    assert course.check("w02").returncode == 0
    terminal = watching("w01")
    terminal.expect(READY)
    terminal.send("n")
    assert terminal.expect(READY).lstrip().startswith("steps/warmup_03.py")
    terminal.send("n" * (len(all_steps()) - 3))
    while "steps/" + all_steps()[-1].name not in terminal.expect(READY):
        pass
    terminal.send("n")
    assert terminal.expect(READY).lstrip().startswith("steps/warmup_01.py")


def test_it_follows_the_file_that_is_saved(course, watching):
    terminal = watching("w01")
    terminal.expect(READY)
    course.fill("w03", "lookback_mask")
    assert terminal.expect(READY).lstrip().startswith("steps/warmup_03.py")
    save(course, "w04", expected(find_step("w04")))  # what reset does is no reason to go there
    course.write("w03")
    assert terminal.expect(READY).lstrip().startswith("steps/warmup_03.py")


def test_a_reset_elsewhere_is_shown(course, watching):
    course.write("w01")
    terminal = watching("w01")
    assert "Pass (" in terminal.expect(READY)
    assert course.python("-m", "cli", "reset", "w01", "--yes").returncode == 0
    assert "4 blanks are left to write." in terminal.expect(READY)


# ---------------------------------------------------------------- the end


def wait_for_a_resting_child(terminal):
    """Wait until the next child is ready, and stopped."""
    watch = psutil.Process(terminal.pid)
    deadline = time.monotonic() + 60
    while not any(child.status() == psutil.STATUS_STOPPED for child in watch.children()):
        assert time.monotonic() < deadline, "no child got ready"
        time.sleep(0.05)


def gone(processes):
    """Whether these processes end."""
    return not psutil.wait_procs(processes, timeout=20)[1]


ENDS = {
    "q": (lambda terminal: terminal.send("q"), 0),
    "Ctrl-C": (lambda terminal: terminal.kill(signal.SIGINT), 130),
    "terminated": (lambda terminal: terminal.kill(signal.SIGTERM), 143),
    "hung up": (lambda terminal: terminal.kill(signal.SIGHUP), 129),
}


@pytest.mark.parametrize("during", ["a check", "no check"])
@pytest.mark.parametrize(("end", "status"), ENDS.values(), ids=ENDS)
def test_it_leaves_nothing_behind(course, watching, end, status, during):
    """No process, and the terminal as it was."""
    terminal = watching("w01")
    before = terminal.settings()
    terminal.expect(READY)
    assert terminal.settings() != before
    wait_for_a_resting_child(terminal)
    if during == "a check":
        save(course, "w01", beginning_with("print('endless', flush=True)\nwhile True: pass\n"))
        terminal.expect("| endless")
    children = psutil.Process(terminal.pid).children(recursive=True)
    assert children
    end(terminal)
    shown = terminal.rest()
    assert terminal.exitstatus == status
    assert gone(children)
    assert terminal.settings() == before
    assert "Traceback" not in shown


def test_ctrl_c_typed_while_a_task_runs(course, watching, monkeypatch):
    """The runner of tasks gives ``watch`` the time to put the terminal back."""
    monkeypatch.setenv("PATH", os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]]))
    with contextlib.closing(Terminal(course.root, "-m", "cli.tasks", "watch", "w01")) as terminal:
        before = terminal.settings()
        terminal.expect(READY)
        children = psutil.Process(terminal.pid).children(recursive=True)
        terminal.send("\x03")
        assert "Stopped. `./run watch` goes on" in terminal.rest()
        assert terminal.exitstatus == 130
        assert gone(children)
        assert terminal.settings() == before


@pytest.mark.slow
def test_a_killed_watch_leaves_no_child(course, watching):
    terminal = watching("w01")
    terminal.expect(READY)
    wait_for_a_resting_child(terminal)
    children = psutil.Process(terminal.pid).children(recursive=True)
    terminal.kill(signal.SIGKILL)
    assert gone(children)


@pytest.mark.slow
def test_it_comes_back_from_the_background(course, watching):
    """A shell gives the terminal back in lines; after Ctrl-Z and fg, keys are keys again."""
    terminal = watching("w01")
    before = terminal.settings()
    terminal.expect(READY)
    ours = terminal.settings()
    terminal.kill(signal.SIGSTOP)
    terminal.set(before)
    terminal.kill(signal.SIGCONT)
    deadline = time.monotonic() + 20
    while terminal.settings() != ours and time.monotonic() < deadline:
        time.sleep(0.05)
    assert terminal.settings() == ours


# ---------------------------------------------------------------- without a terminal


def test_without_a_terminal_it_goes_on_by_itself(course):
    course.write("w01")
    log = course.root / "log"
    with log.open("w") as out:
        process = subprocess.Popen(
            [sys.executable, "-u", "-m", "cli", "watch"],
            cwd=course.root,
            env=os.environ,  # not the real environment, into which MAX puts a Python of its choice where it has run
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
        )
    with ended(process) as watch:
        wait_for(log, "Watching steps/warmup_02.py: save it to check it again.\nCtrl-C ends this.")
        course.write("w02")
        wait_for(log, "Watching steps/warmup_03.py")
        watch.send_signal(signal.SIGINT)
        assert watch.wait(timeout=60) == 130
    said = log.read_text()
    assert "Pass (" in said
    assert "On to steps/warmup_02.py.\n\nsteps/warmup_02.py\n" in said
    assert said.endswith("Stopped. `./run watch` goes on with the first step that is not done.\n")
    assert "\x1b" not in said


def wait_for(log, words):
    """Wait until ``words`` stand in a file."""
    deadline = time.monotonic() + 120
    while words not in log.read_text():
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.1)


@pytest.mark.slow
def test_without_a_terminal_it_ends_when_nothing_is_left(course):
    course.write("w05")
    others = all_steps()[5:]
    for step in others:
        save(course, step.task, "mine")
    yes = "".join(f"progress.note_pass(steps.Step({step.name!r}), 'mine', compiled=True)\n" for step in others)
    assert course.python("-c", f"from checker.course import progress, steps\n{yes}").returncode == 0
    ended = course.python("-m", "cli", "watch", "w05")
    assert ended.returncode == 0
    assert "w05 is done. No other step is left to do." in ended.stdout


@pytest.mark.parametrize(
    ("arguments", "said"), [(["99"], "there is no step '99'"), (["07", "08"], "unexpected extra argument")]
)
def test_calls_that_cannot_be_carried_out(course, arguments, said):
    refused = course.python("-m", "cli", "watch", *arguments)
    assert refused.returncode == 2
    assert said in refused.stderr


def test_steps_that_are_missing_altogether(course):
    (course.root / "steps").rename(course.root / "gone")
    refused = course.python("-m", "cli", "watch", "07")
    assert (refused.returncode, refused.stderr) == (2, "watch: steps is missing; `./run skeletons` writes it anew\n")


# ---------------------------------------------------------------- with MAX


@pytest.mark.slow
def test_with_max(course, watching):
    """A step in MAX, from wrong to right and compiled, in children that have imported MAX before."""
    terminal = watching("s02")
    terminal.expect(READY)
    wait_for_a_resting_child(terminal)
    course.write("s02", edits={"exclude=True": "exclude=False"})
    shown = terminal.expect(READY, seconds=600)
    assert "  fail  " in shown
    wait_for_a_resting_child(terminal)
    course.write("s02")
    assert "s02 is done." in terminal.expect(READY, seconds=600)
