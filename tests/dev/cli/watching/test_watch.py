"""``watch`` in a terminal: it checks at every save, whatever the editor or the learner's file does."""

import inspect
import re
import signal
import time
from types import SimpleNamespace

import psutil
import pytest

from checker.course.skeletons import skeleton_of
from checker.course.steps import all_steps, find_step
from checker.parent.state import Tried, Verdict, VerdictKind
from checker.protocol.events import Ended, Finding, Reason
from cli.shared.background import FAULT, ReadyChild, Report
from cli.watching.offers import AT_SAVE, BY_KEYS
from cli.watching.watch import KEYS, Key, Reported, Watch
from tests.dev.helpers.checks import ONE_FAILS, OPENED, folded
from tests.dev.helpers.terminal import Terminal

pytestmark = pytest.mark.slow

READY = KEYS[-6:]  # the end of the last line when a verdict is complete
WRONG = {"return query @ ": "return 2 * query @ "}
RIGHT = find_step("w01").read_solution().text
FUTURE = "from __future__ import annotations\n"
CHAPTER = "## Hints\n" + "".join(
    f'<details class="hint"><summary>Hint {n} of 2: {what}</summary>\n\n{what}!\n\n</details>\n'
    for n, what in enumerate(("idea", "line"), 1)
)


@pytest.fixture
def watching(course):
    """Starts ``watch`` in a terminal, waits for the first verdict, and ends it after the test."""
    opened = []

    def start(*arguments):
        opened.append(Terminal(course.root, "-m", "cli", "watch", *arguments, columns=140))
        return opened[-1], opened[-1].expect(READY)

    yield start
    for terminal in opened:
        terminal.close()


def beginning_with(lines, task="w01"):
    """The right answer, which does something else first."""
    return find_step(task).read_solution().text.replace(FUTURE, FUTURE + lines)


def wait_for_a_resting_child(terminal):
    """Wait until the next child is ready, and has nothing to do."""
    watch, deadline = psutil.Process(terminal.pid), time.monotonic() + 60
    before, spent = [0.0], list[float]()
    while not spent or spent != before:
        assert time.monotonic() < deadline, "no child got ready"
        time.sleep(0.5)
        before, spent = spent, [child.cpu_times().user for child in watch.children()]


def test_it_checks_at_every_save_and_goes_on_where_the_learner_is(course, watching, monkeypatch):
    monkeypatch.setenv("COURSE_QUIET_SECONDS", "3")
    terminal, shown = watching()
    assert "Watching steps/step_01.py: save it to check it again." in shown
    file, done = course.path("w01"), "w01 is done. Press n for w02, self-attention that can learn."
    for save, words in (
        (lambda: course.write("w01", edits=WRONG), "  fail      attention_scores"),
        (file.unlink, "The file is missing."),
        (lambda: file.write_text(beginning_with("while True: pass\n")), "No verdict: timed out after 3 s"),
        (lambda: course.write("w01"), done),
        (lambda: course.check("reset", "w01", "--yes"), "4 blanks are left to write."),
        (lambda: course.fill("w03", "causal_mask"), "steps/warmup_03.py"),
    ):
        save()
        terminal.expect(words)
        terminal.expect(READY)
    course.path("w04").write_text(skeleton_of(find_step("w04")))  # what reset does is no reason to go there
    course.write("w03", beginning_with("import time\nprint('asleep')\ntime.sleep(600)\n", "w03"))
    terminal.expect("| asleep")
    course.write("w03")  # during a check, which begins anew
    shown = terminal.expect(READY)
    assert shown.lstrip().startswith("steps/warmup_03.py")
    assert "w03 is done" in shown


def test_keys(course, watching, monkeypatch):
    monkeypatch.setenv("VISUAL", "touch --wait")
    chapter = course.root / "book" / "src" / "warmup_01.md"
    chapter.parent.unlink()  # a link to the book's
    chapter.parent.mkdir()
    chapter.write_text(CHAPTER)
    course.write("w01", edits=WRONG)
    course.write("w02")
    course.check("w02")
    terminal, shown = watching("w01")
    assert "Press s for the numbers of attention_scores side by side." in shown
    assert "./run" not in shown

    def press(key, words=READY):
        """Press a key, and return what is shown up to some words."""
        terminal.send(key)
        return terminal.expect(words)

    press("h", "Hint 1 of 2: idea")
    press("h", '"line", gives away what to write. Press y to do so.')
    press("\x1b[A", "")  # an arrow is no letter
    press("z", "Unknown key. The keys are h hint, s numbers, c compare,")  # and the offer is over
    terminal.send("y")
    assert "line!" not in press("h", "Press y to do so.")
    course.write("w01", edits=WRONG)
    terminal.expect(READY)  # and so it is when a save has begun a check
    press("y", "Unknown key.")
    press("h", "Press y to do so.")
    press("y", "line!")
    press("h", "You have seen all 2 hints")
    assert "> marks the largest difference" in press("s")
    assert "2 * query" not in press("c", "comparing shows the solution. Press y to do so.")
    assert "return 2 * query @ np.swapaxes(key, -2, -1)" in press("y", "written differently")
    terminal.expect(READY)
    press("x", "Press y to do so.")
    shown = press("y")
    assert "todo      attention_scores" in shown
    (kept,) = (course.root / "steps").glob("warmup_01.kept-*.py")
    assert shown.lstrip().startswith(f"Your steps/warmup_01.py is kept as steps/{kept.name}."), "it is not cleared away"
    assert "2 * query" in kept.read_text()
    assert re.search(r"^> w01  untouched ", press("l"), re.MULTILINE)
    assert press("e").lstrip().startswith("steps/warmup_01.py"), "the editor has saved it"
    assert press("\x1bn").lstrip().startswith("steps/warmup_03.py"), "w02 is done"
    press("h", "book/src/warmup_03.md, where the hints are, is missing.")
    press("q", "")
    terminal.rest()
    assert terminal.exitstatus == 0


def test_no_check_prints_into_an_editor(course, watching, monkeypatch, tmp_path):
    (editor := tmp_path / "editor").write_text("#!/bin/sh\necho it is open\nsleep 3\necho it is closed\n")
    editor.chmod(0o755)
    monkeypatch.setenv("VISUAL", str(editor))
    terminal, _ = watching("w01")
    course.path("w01").write_text(beginning_with("import time\nprint('begins')\ntime.sleep(1)\nprint('goes on')\n"))
    terminal.expect("| begins")
    terminal.send("e")
    terminal.expect("it is open")
    assert terminal.expect("it is closed").split() == ["it", "is", "closed"]
    assert terminal.expect(READY).count("| goes on") == 1, "it has begun anew"


@pytest.mark.parametrize(
    ("read_keys", "words"),
    [(str, "Press n for w02, "), (None, "Save steps/warmup_02.py to go on with w02, ")],
    ids=["at a terminal", "without one"],
)
def test_what_comes_next_is_a_key_only_where_there_are_keys(monkeypatch, read_keys, words):
    monkeypatch.setattr(Watch, "step_after", lambda self: find_step("w02"))
    assert Watch(find_step("w01"), ReadyChild(), read_keys).how_to_go_on().startswith(words)


def test_the_keys_that_are_listed_are_those_that_do_something():
    assert re.findall(r'case "(\w)":', inspect.getsource(Watch.press)) == re.findall(r"(\w) \w+", KEYS)


def test_the_step_before_is_that_of_the_book_and_the_first_stays():
    first, second = all_steps()[:2]
    assert [Watch(step, ReadyChild(), None).step_before() for step in (first, second)] == [first, first]


def test_an_offer_outlives_the_verdict_that_comes_before_the_answer():
    watch, done = Watch(find_step("w01"), ReadyChild(), str), []
    watch.offer("This starts over.", lambda: done.append(True))
    watch.running = SimpleNamespace(check=SimpleNamespace(step=watch.step, state=SimpleNamespace(verdict=None)))
    watch.handle(Reported(watch.running, Report.BROKEN))
    watch.handle(Key("y"))
    assert (watch.running, done) == (None, [True])


@pytest.mark.parametrize("not_saved", ["", "the file has been edited since"])
@pytest.mark.parametrize("report", [Report.VERDICT, Report.GOES_ON])
def test_a_step_is_done_only_once_its_pass_is_saved(capsys, report, not_saved):
    watch = Watch(find_step("w01"), ReadyChild(), None)
    verdict = Verdict(VerdictKind.PASS) if report is Report.VERDICT else None
    state = SimpleNamespace(verdict=verdict, why_not_saved=not_saved, failed_seed=None)
    watch.running = SimpleNamespace(check=SimpleNamespace(step=watch.step, state=state))
    watch.handle(Reported(watch.running, report))
    shown = capsys.readouterr().out
    assert ("w01 is done." in shown) == (not not_saved)
    assert "Watching steps/warmup_01.py" in shown


@pytest.mark.parametrize("goes_on", [False, True], ids=["watched", "in the background"])
def test_a_fault_after_the_verdict_is_told_beside_it(capsys, goes_on):
    watch, step = Watch(find_step("s01"), ReadyChild(), None), find_step("s01")
    verdict = Verdict(VerdictKind.PASS, tried=Tried.ALL)
    state = SimpleNamespace(verdict=verdict, why_not_saved="", failed_seed=None)
    background = SimpleNamespace(check=SimpleNamespace(step=step, state=state, seconds=lambda: 2.0))
    if goes_on:
        watch.going_on[step] = background
    else:
        watch.running = background
    watch.handle(Reported(background, Report.BROKEN))
    shown = " ".join(capsys.readouterr().out.split())
    assert FAULT in shown
    assert ("s01 is compiled too" if goes_on else "s01 is done.") in shown
    assert (watch.running, watch.going_on) == (None, {})


def test_key_s_shows_the_numbers_of_the_first_function_that_has_some():
    outside, inside = (Finding("test_one", about, Reason("Off.", has_numbers=True)) for about in ("", "other"))
    state, _ = folded([OPENED, ONE_FAILS, outside, inside, Ended()])
    watch = Watch(find_step("s07"), ReadyChild(), None)
    watch.running = SimpleNamespace(check=SimpleNamespace(step=watch.step, state=state))
    watch.handle(Reported(watch.running, Report.VERDICT))
    assert watch.to_show.show == "other"


def test_what_is_offered_while_max_compiles_does_not_end_it():
    assert {offers.going_on for offers in (AT_SAVE, BY_KEYS)} == {"You may go on: the pass is kept."}


ENDS = {
    "q": (lambda terminal: terminal.send("q"), 0),
    "Ctrl-C": (lambda terminal: terminal.send("\x03"), 130),
    "terminated": (lambda terminal: terminal.kill(signal.SIGTERM), 143),
}


@pytest.mark.parametrize(("end", "status"), ENDS.values(), ids=ENDS)
def test_it_leaves_nothing_behind(course, watching, end, status):
    """No process, and the terminal as it was."""
    terminal, _ = watching("w01")
    assert not terminal.getecho()
    wait_for_a_resting_child(terminal)
    course.path("w01").write_text(beginning_with("print('endless', flush=True)\nwhile True: pass\n"))
    terminal.expect("| endless")
    children = psutil.Process(terminal.pid).children(recursive=True)
    assert children
    end(terminal)
    shown = terminal.rest()
    assert (terminal.exitstatus, "Traceback" in shown, terminal.getecho()) == (status, False, True)
    assert psutil.wait_procs(children, timeout=20)[1] == []
