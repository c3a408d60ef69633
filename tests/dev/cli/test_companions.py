"""Hints, the list of steps, reset and compare, as a learner meets them."""

import json
import os
import re
import shutil

import pytest

from checker.course import progress
from checker.course.skeletons import expected
from checker.course.steps import all_steps, find_step
from tests.dev.terminal import Terminal

pytestmark = pytest.mark.slow


def run(course, *arguments, status=0):
    """What a command prints; it ends with a status."""
    done = course.check(*arguments, status=status)
    return done.stdout + done.stderr


def states(course):
    """What ``status`` says of every step, by its task."""
    lines = [re.match(r"  ([ws]\d\d)  (.+?)(?:  |$)", line) for line in run(course, "status").splitlines()]
    return {line[1]: line[2] for line in lines if line}


def test_every_call_gives_one_hint_more_and_the_last_is_asked_for(course):
    assert re.match(r"Hint 1 of 3: the idea\n\s* • `attention_scores`: ", run(course, "hint", "w01"))
    assert run(course, "hint", "w01").startswith("Hint 2 of 3: the operation\n")
    for arguments in ((), ("--all",)):
        unanswered = run(course, "hint", "w01", *arguments, status=2)
        assert 'The last hint, 3 of 3, "the line", gives away what to write. Add --yes to see it.' in unanswered
        assert "return query @" not in unanswered
    for answer, is_shown in (("\n", False), ("y\n", True)):
        with Terminal(course.root, "-m", "cli", "hint", "w01") as terminal:
            terminal.expect("gives away what to write. Show it? [y/N] ")
            terminal.send(answer)
            assert ("return query @" in terminal.rest()) is is_shown
    assert run(course, "hint", "w01").startswith("You have seen all 3 hints of w01; --all shows them again.")
    assert re.findall(r"^Hint (\d)", run(course, "hint", "w01", "--all"), re.MULTILINE) == ["1", "2", "3"]
    (course.root / "book" / "src").unlink()
    assert "where the hints are, is missing" in run(course, "hint", "07", status=2)


def test_every_state_of_a_step(course):
    assert states(course) == {step.task: "untouched" for step in all_steps()}
    course.write("w01")
    course.check("w01", "--solution")
    assert states(course)["w01"] == "in progress (4 of 4 blanks, not checked)"
    course.check("w01")
    course.fill("w02", "project")
    course.fill("s07", "_split_heads", "_attn")
    course.write("s02", edits={"def causal_mask(": "def causal_mask(("})
    course.path("s03").unlink()
    course.path("s04").write_bytes(b"\xff")
    after = states(course)
    wanted = {
        "w01": "done",
        "w02": r"in progress \(1 of \d blanks\)",
        "s07": r"in progress \(2 of 5 blanks\)",
        "s02": r"in progress \(line \d+: not Python\)",
        "s03": "missing: `./run skeletons` writes it anew",
        "s04": r"in progress \(not UTF-8 text\)",
        "s06": "untouched",
    }
    assert {task: state for task, state in wanted.items() if not re.fullmatch(state, after[task])} == {}
    assert f"\n1 of {len(all_steps())} done; fast path: 0 of 9.\nNext: steps/" in run(course, "status")


def test_done_is_exactly_the_file_that_passed(course):
    solution = find_step("w01").solution_file.read_text()
    for source, is_checked, state in (
        (solution, True, "done"),
        (f"{solution}# a note\n", False, "done"),  # it means the same
        (f"{solution}NOTE = 1\n", False, "changed since its pass (not checked)"),
        (solution.replace("return query @ ", "return 2 * query @ "), True, "changed since its pass (last check: fail)"),
        (solution, False, "done"),
    ):
        course.write("w01", source)
        if is_checked:
            course.check("w01")
        assert states(course)["w01"] == state
    claims = course.root / "tests" / "test_warmup_01.py"
    claims.write_text(claims.read_text() + "\n# another claim\n")
    assert states(course)["w01"] == "done, but its check has changed since"
    course.write("s02")
    for arguments, state in ((["--no-compile"], "pass, not compiled"), ([], "done"), (["--no-compile"], "done")):
        course.check("s02", *arguments)
        assert states(course)["s02"] == state


def test_what_is_next(course):
    """What was saved last of what is in progress; else the first that has changed; else what follows the last pass."""
    nexts = r"^(?:Next|On the fast path): steps/(\w+)|^(The fast path is done): "

    def next_steps():
        return [each or words for each, words in re.findall(nexts, run(course, "status"), re.MULTILINE)]

    assert next_steps() == ["step_01", "step_03"]
    passed = {}
    for step in all_steps():
        code = progress.digest_of_code(step, step.solution_file.read_text())
        passed[step.name] = {"code": code, "check": progress.digest_of_check(step), "compiled": step.task != "s12"}
    (course.root / ".course").mkdir()
    (course.root / ".course" / "progress.json").write_text(json.dumps({"hints": {}, "pass": passed, "fail": {}}))
    for task in ("s03", "s04", "s02", "s07", "s08", "s09", "s10", "s11"):
        course.write(task)
    assert next_steps() == ["step_12", "step_12"]
    assert "counts as done" not in run(course, "status")
    course.write("s12")
    shown = run(course, "status")
    assert "\n9 of 30 done; fast path: 9 of 9.\n`pass, not compiled` counts as done.\n" in shown
    assert "\nThe fast path is done: `./run generate" in shown
    assert next_steps() == ["The fast path is done", "step_13"]
    for task in ("s09", "s04"):  # the later one is saved first
        course.write(task, find_step(task).solution_file.read_text() + "\nNOTE = 1\n")
    assert next_steps() == ["step_04", "step_04"]
    course.fill("w02", "project")
    os.utime(course.path("w02"), (1, 1))
    assert next_steps() == ["step_04", "step_04"], "it was saved last"


def test_progress_that_is_damaged_or_cannot_be_kept(course):
    file = course.root / ".course" / "progress.json"
    file.parent.mkdir()
    file.write_text('{"hints": 3, "yes": {}}')
    assert run(course, "hint", "w01").startswith("Hint 1")
    assert json.loads(file.read_text())["hints"] == {"warmup_01": 1}
    shutil.rmtree(file.parent)
    file.parent.write_text("in the way")
    assert "(The next call shows this one again: .course/progress.json" in run(course, "hint", "w01")


def test_reset_keeps_the_file_and_begins_anew(course):
    for content in (b"", b"\xff\0not text", find_step("w01").solution_file.read_bytes()):  # within a second or so
        course.path("w01").write_bytes(content)
        done = run(course, "reset", "w01")  # there is nobody to ask, and nothing is lost
        copy = re.search(r"Your steps/warmup_01.py is kept as (steps/warmup_01.kept-\d{8}-\d{6}(?:-\d)?.py).\n", done)
        assert (course.root / copy[1]).read_bytes() == content
        assert course.path("w01").read_text() == expected(find_step("w01"))
    assert len([*course.path("w01").parent.glob("*.kept-*")]) == 3
    run(course, "hint", "w01")
    assert run(course, "reset", "w01") == "steps/warmup_01.py is untouched.\n"
    assert run(course, "hint", "w01").startswith("Hint 1")
    course.write("w01", "mine = 1\n")
    for answer, is_reset in (("nonsense\n", False), ("yes\n", True)):
        with Terminal(course.root, "-m", "cli", "reset", "--all") as terminal:
            question = " ".join(terminal.expect("[y/N] ").split())
            assert "in place of steps/warmup_01.py. What is there now is kept" in question
            terminal.send(answer)
            assert ("Nothing was changed." in terminal.rest()) is not is_reset
    course.path("w01").unlink()
    assert "steps/warmup_01.py was missing." in run(course, "reset", "--all")
    assert set(states(course).values()) == {"untouched"}
    for arguments in ([], ["07", "--all"]):
        assert "say which step" in run(course, "reset", *arguments, status=2)


OWN_WAY = {
    "weights = F.softmax(scores)": "weights = F.softmax(scores, axis=-1)",
    "scores = query @ key.transpose(-2, -1)  # [..., seq, total]\n": "scores = my_scores(query, key)\n",
    "\n\nclass GPT2": "\n\ndef my_scores(query, key):\n    return query @ key.transpose(-2, -1)\n\n\nclass GPT2",
}


def test_compare_waits_for_a_pass_and_shows_what_differs(course):
    course.write("w01", edits={"return query @ np.swapaxes(key, -2, -1)": "return query @ key.swapaxes(-1, -2)"})
    assert "np.swapaxes" not in run(course, "compare", "w01", status=1)
    course.check("w01")
    both = "  -     return query @ key.swapaxes(-1, -2)\n  +     return query @ np.swapaxes(key, -2, -1)\n"
    shown = run(course, "compare", "w01")
    assert both in shown
    assert "1 of 4 blanks is written differently; the check has found that they compute the same." in shown
    course.write("s07", edits=OWN_WAY)
    shown = run(course, "compare", "07", "--anyway")
    for words in (
        f"GPT2MultiHeadAttention._attn, line {course.line_of('s07', 'def _attn')}\n",
        "  -     weights = F.softmax(scores, axis=-1)\n",
        "  +     weights = F.softmax(scores)\n",
        "        scores = scores / math.sqrt(self.head_dim)\n",  # equal lines have no mark
        "1 of 5 blanks is written differently.",
    ):
        assert words in shown
    assert "def _attn" not in shown
    assert "    def _attn" in run(course, "compare", "07", "--anyway", "--whole")
    spaced = find_step("s07").solution_file.read_text().replace("softmax(scores)", "softmax( scores )")
    for source, status, words in (
        (spaced, 0, "All 5 blanks are written as in the solution."),
        (expected(find_step("s07")), 0, "5 of 5 blanks are written differently."),
        ("x = 1\n", 0, "_attn, not in your file"),
        ("x = (\n", 2, "compare: Line 1: '(' was never closed"),
    ):
        course.write("s07", source)
        assert words in run(course, "compare", "07", "--anyway", status=status)
