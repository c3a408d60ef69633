"""Hints, the list of steps, reset and compare, as a learner meets them."""

import json
import re
import subprocess
import sys

import pytest

from checker.course import skeletons
from checker.course.blanks import blanks_of
from checker.course.paths import ROOT
from checker.course.skeletons import expected
from checker.course.steps import all_steps, find_step
from cli import hint
from tests.dev.terminal import Terminal

CHAPTER = """\
# Warm-up 01

## Hints

<details class="hint"><summary>Hint 1 of 3: the idea</summary>

- **`attention_scores`**: A [dot product](https://example.org/dot) for every pair, which is one matrix product \
of `query` and a rearranged `key`, and this item is long enough to be wrapped in a terminal.
- **`softmax`**: Divide.

</details>

<details class="hint">
<summary>Hint 2 of 3: the operation</summary>

1. Swap.

```python
## not a heading
x = [1]   # spaces stay
```

</details>

<details class="hint"><summary>Hint 3 of 3: the line</summary>

- **`softmax`**: two lines:
  - `largest = scores.max(axis=-1, keepdims=True)`
  - `return np.exp(scores - largest)`

</details>

## The solution

<details class="solution"><summary>The solution</summary>SECRET</details>
"""


@pytest.fixture
def told(course):
    """The course with a made-up chapter of warm-up 01, and no other."""
    chapter = course.root / "book" / "src" / "warmup_01.md"
    chapter.parent.mkdir(parents=True)
    chapter.write_text(CHAPTER)
    return course


def run(course, tool, *arguments):
    return course.python("-m", "cli", tool, *arguments)


# ---------------------------------------------------------------- hint


def test_every_call_gives_one_hint_more(told):
    first, second = run(told, "hint", "w01"), run(told, "hint", "w01")
    assert first.stdout.startswith("Hint 1 of 3: the idea\n\n- `attention_scores`: A dot product for every pair")
    assert second.stdout.startswith("Hint 2 of 3: the operation\n")
    assert (first.returncode, second.returncode) == (0, 0)


@pytest.mark.slow
def test_the_last_hint_is_asked_for(told):
    run(told, "hint", "w01")
    run(told, "hint", "w01")
    for _ in range(2):
        refused = run(told, "hint", "w01")
        assert (refused.returncode, refused.stdout) == (2, "")
        assert 'The last hint, 3 of 3, "the line", gives away what to write.' in refused.stderr
        assert "Add --yes to see it." in refused.stderr
    shown = run(told, "hint", "w01", "--yes")
    assert "  - `largest = scores.max(axis=-1, keepdims=True)`\n" in shown.stdout
    assert "SECRET" not in shown.stdout
    after = run(told, "hint", "w01")
    assert "You have seen all 3 hints of w01: `./run hint w01 --all` shows them again" in after.stdout
    assert run(told, "hint", "w01", "--all").stdout.count("Hint ") == 3  # nothing is left to ask for


def test_all_hints_at_once(told):
    refused = run(told, "hint", "w01", "--all")
    assert refused.returncode == 2
    assert re.findall(r"^Hint \d", refused.stdout, re.MULTILINE) == ["Hint 1", "Hint 2"]
    shown = run(told, "hint", "w01", "--all", "--yes")
    assert re.findall(r"^Hint \d", shown.stdout, re.MULTILINE) == ["Hint 1", "Hint 2", "Hint 3"]


@pytest.mark.slow
def test_hints_are_asked_for_at_a_terminal(told):
    run(told, "hint", "w01")
    run(told, "hint", "w01")
    for answer, seen in (("\n", False), ("n\n", False), ("y\n", True)):
        terminal = Terminal(told.root, "-m", "cli", "hint", "w01")
        terminal.expect("gives away what to write. Show it? [y/N] ")
        terminal.send(answer)
        assert ("return np.exp" in terminal.rest()) is seen
        assert terminal.exitstatus == 0
        terminal.close()


def test_hints_read_well_in_a_terminal():
    lines = hint.in_terminal(CHAPTER.partition("</summary>")[2].partition("</details>")[0], 60)
    assert lines == [
        "- `attention_scores`: A dot product for every pair, which is",
        "  one matrix product of `query` and a rearranged `key`, and",
        "  this item is long enough to be wrapped in a terminal.",
        "- `softmax`: Divide.",
    ]
    code = hint.in_terminal("Words:\n\n```python\n## no heading\n\nx = [1]   # **stars** stay\n```\nmore\nwords", 60)
    assert code == ["Words:", "", "## no heading", "", "x = [1]   # **stars** stay", "more words"]
    whole = hint.in_terminal(f"{'word ' * 10}`some code = with(spaces)`", 60)
    assert whole == ["word " * 9 + "word", "`some code = with(spaces)`"]


def test_hints_that_are_not_there(told):
    gone = run(told, "hint", "07")
    assert (gone.returncode, gone.stderr) == (2, "hint: book/src/step_07.md, where the hints are, is missing\n")
    (told.root / "book" / "src" / "step_07.md").write_text("# Step 07\n\n## Hints\n\nLater.\n")
    empty = run(told, "hint", "07")
    assert (empty.returncode, empty.stderr) == (2, "hint: book/src/step_07.md has no hints\n")
    assert "there is no step '99'; choose from w01" in run(told, "hint", "99").stderr


CHAPTERS = [step for step in all_steps() if step.chapter.is_file() and "\n## Hints" in step.chapter.read_text()]


def test_there_are_chapters_with_hints():
    assert CHAPTERS


@pytest.mark.parametrize("step", CHAPTERS, ids=lambda step: step.task)
def test_the_hints_of_the_book_can_be_shown(step):
    """Three for every step, each with a word on every blank, and nothing of Markdown or HTML left over."""
    hints = hint.hints_of(step)
    assert [one.title for one in hints] == ["the idea", "the operation", "the line"]
    for one in hints:
        text = "\n".join(hint.in_terminal(one.body, 100))
        for blank in blanks_of(step):
            assert f"`{blank.label}`" in text
        assert not re.search(r"</?[a-z]+>|\*\*[^*`]*\*\*|\]\(|\{\{", text)


# ---------------------------------------------------------------- status


def states(course):
    """What ``status`` says of every step, by its task."""
    listed = run(course, "status")
    assert listed.returncode == 0, listed.stderr
    lines = [re.match(r"  ([ws]\d\d)  (.+?)(?:  |$)", line) for line in listed.stdout.splitlines()]
    return {line[1]: line[2] for line in lines if line}


@pytest.mark.slow
def test_every_state_of_a_step(course):
    assert states(course) == {step.task: "untouched" for step in all_steps()}
    course.write("w01")
    assert states(course)["w01"] == "in progress (4 of 4 blanks, not checked)"
    assert course.check("w01").returncode == 0
    course.fill("s07", "_split_heads", "_attn")
    course.write("s02", edits={"def causal_mask(": "def causal_mask(("})
    (course.root / "steps" / "step_03.py").unlink()
    (course.root / "steps" / "step_04.py").write_bytes(b"\xff")
    (course.root / "steps" / "step_05.py").write_text("x = 1\0")
    after = states(course)
    assert after["w01"] == "done"
    assert after["s07"] == "in progress (2 of 5 blanks)"
    assert after["s02"] == f"in progress (line {course.line_of('s02', '((')} is not Python)"
    assert after["s03"] == "missing: `./run skeletons` writes it anew"
    assert after["s04"] == "in progress (not UTF-8 text)"
    assert after["s05"] == "in progress (not Python)"
    assert after["s06"] == "untouched"
    listed = run(course, "status").stdout
    assert f"\n1 of {len(all_steps())} done.\nNext: steps/step_05.py, checked by `./run s05`.\n" in listed


@pytest.mark.slow
def test_done_is_said_of_exactly_the_file_that_passed(course):
    course.write("w01")
    course.check("w01")
    solved = (course.root / "steps" / "warmup_01.py").read_text()
    course.write("w01", solved + "# a note\n")
    assert states(course)["w01"] == "done"  # it means the same
    course.write("w01", solved + "NOTE = 1\n")
    assert states(course)["w01"] == "changed since its pass (not checked)"
    course.write("w01", solved.replace("return query @ ", "return 2 * query @ "))
    course.check("w01")
    assert states(course)["w01"] == "changed since its pass (last check: fail)"
    course.write("w01", solved)
    assert states(course)["w01"] == "done"
    check = course.root / "tests" / "test_warmup_01.py"
    check.write_text(check.read_text() + "\n# another claim\n")
    assert states(course)["w01"] == "done, but its check has changed since"
    course.check("w01")
    assert states(course)["w01"] == "done"


def test_a_pass_of_the_solution_makes_nothing_done(course):
    course.write("w01")
    assert course.check("w01", "--solution").returncode == 0
    assert states(course)["w01"] == "in progress (4 of 4 blanks, not checked)"


@pytest.mark.slow
def test_a_yes_without_compiling_says_so_and_is_kept_as_that(course):
    course.write("s02")
    assert "not compiled: --no-compile left that verdict out. Compare" in course.check("s02", "--no-compile").stdout
    assert states(course)["s02"] == "pass, not compiled"
    assert "not compiled" not in course.check("s02").stdout
    assert states(course)["s02"] == "done"
    course.check("s02", "--no-compile")
    assert states(course)["s02"] == "done"  # it was compiled before, and has not changed


@pytest.mark.slow
def test_what_is_right_so_far_or_has_no_verdict_is_no_no(course):
    course.fill("w01", "softmax")
    assert "Right so far." in course.check("w01").stdout
    assert states(course)["w01"] == "in progress (1 of 4 blanks)"
    course.write("w01", edits={"    weights = softmax": "    import os\n    os._exit(0)\n    weights = softmax"})
    assert "No verdict" in course.check("w01").stdout
    assert states(course)["w01"] == "in progress (4 of 4 blanks, not checked)"


def test_what_an_earlier_version_kept_is_no_loss(told):
    kept = told.root / ".course" / "progress.json"
    kept.parent.mkdir()
    kept.write_text('{"hints": {"warmup_01": 1}, "yes": {"warmup_01": {"file": "0", "check": "0"}}}')
    assert run(told, "hint", "w01").stdout.startswith("Hint 2")


@pytest.mark.slow
def test_the_next_step_is_the_one_being_worked_on_or_comes_after_the_last_done(course):
    course.write("s02")
    course.check("s02", "--no-compile")
    assert "Next: steps/step_03.py" in run(course, "status").stdout
    course.fill("s07", "_attn")
    assert "Next: steps/step_07.py" in run(course, "status").stdout


def test_a_failure_makes_nothing_done(course):
    course.write("w01", edits={"return query @ ": "return 2 * query @ "})
    assert course.check("w01").returncode == 1
    assert states(course)["w01"] == "in progress (4 of 4 blanks, last check: fail)"


@pytest.mark.slow
@pytest.mark.parametrize("content", ["", "{", "[]", '{"hints": 3, "yes": {}}', '{"hints": {"a": "b"}, "yes": {}}'])
def test_damaged_progress_is_as_good_as_none(told, content):
    kept = told.root / ".course" / "progress.json"
    kept.parent.mkdir()
    kept.write_text(content)
    assert set(states(told).values()) == {"untouched"}
    assert run(told, "hint", "w01").stdout.startswith("Hint 1")
    assert json.loads(kept.read_text()) == {"hints": {"warmup_01": 1}, "pass": {}, "fail": {}}


def test_a_pass_is_a_pass_even_if_it_cannot_be_kept(told):
    (told.root / ".course").write_text("in the way")
    told.write("w01")
    checked = told.check("w01")
    assert checked.returncode == 0
    assert "(Progress was not saved: .course/progress.json cannot be written, " in checked.stdout
    given = run(told, "hint", "w01")
    assert given.stdout.startswith("Hint 1")
    assert "(The next call shows this one again: .course/progress.json cannot be written, " in given.stdout


def test_two_processes_at_once_lose_nothing(course):
    script = "from checker.course import progress, steps\nfor step in steps.all_steps()[{0}::4]: progress.note_hints(step, 1)"
    command = [[sys.executable, "-c", script.format(part)] for part in range(4)]
    for process in [subprocess.Popen(one, cwd=course.root) for one in command]:
        assert process.wait(timeout=60) == 0
    kept = json.loads((course.root / ".course" / "progress.json").read_text())
    assert kept["hints"] == {step.name: 1 for step in all_steps()}


def test_git_sees_nothing_of_it():
    git = ["git", "-C", str(ROOT), "check-ignore", ".course/progress.json", "steps/step_07.kept-20250101-000000-2.py"]
    assert len(subprocess.run(git, capture_output=True, text=True, check=True).stdout.split()) == 2


# ---------------------------------------------------------------- reset


def kept_of(course, step):
    """What was kept of a step, oldest first."""
    return [path.read_bytes() for path in sorted((course.root / "steps").glob(f"{find_step(step).name}.kept-*.py"))]


@pytest.mark.slow
def test_reset_keeps_the_file_and_begins_anew(told):
    path = told.root / "steps" / "warmup_01.py"
    told.write("w01")
    told.check("w01")
    run(told, "hint", "w01")
    mine = path.read_bytes()
    done = run(told, "reset", "w01")  # there is nobody to ask, and nothing is lost
    assert re.search(r"Your steps/warmup_01.py is kept as steps/warmup_01.kept-\d{8}-\d{6}.py.\n", done.stdout)
    assert path.read_text() == expected(find_step("w01"))
    assert kept_of(told, "w01") == [mine]
    assert states(told)["w01"] == "untouched"
    assert run(told, "hint", "w01").stdout.startswith("Hint 1")
    again = run(told, "reset", "w01")
    assert (again.returncode, again.stdout) == (0, "steps/warmup_01.py is untouched.\n")
    assert kept_of(told, "w01") == [mine]
    assert "steps/warmup_01.kept" not in run(told, "status").stdout


def test_resets_in_the_same_second_lose_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(skeletons.time, "strftime", lambda form: "20250101-000000")
    path = tmp_path / "step_07.py"
    kept = []
    for content in ("one", "two", "three"):
        path.write_text(content)
        kept.append(skeletons.keep(path))
    assert [copy.read_text() for copy in kept] == ["one", "two", "three"]
    assert len({copy.name for copy in kept}) == 3
    assert all(copy.match("*.kept-*.py") for copy in kept)


@pytest.mark.slow
def test_reset_keeps_whatever_there_is(course):
    path = course.root / "steps" / "step_07.py"
    for content in (
        b"",
        b"\xff\0not text",
        b"def broken(:\n",
        path.read_bytes().replace(b"\n", b"\r\n") + b"# mine\r\n",
    ):
        path.write_bytes(content)
        assert run(course, "reset", "7", "--yes").returncode == 0
        assert content in kept_of(course, "s07")
        assert path.read_text() == expected(find_step("s07"))
    path.unlink()
    missing = run(course, "reset", "7")
    assert (missing.returncode, path.read_text()) == (0, expected(find_step("s07")))
    assert "steps/step_07.py is missing and will be written anew." in missing.stdout


@pytest.mark.slow
def test_reset_asks_at_a_terminal(course):
    course.write("w01")
    course.fill("s07", "_attn")
    before = (course.root / "steps" / "step_07.py").read_text()
    for answer, reset in (("\n", False), ("nonsense\n", False), ("yes\n", True)):
        terminal = Terminal(course.root, "-m", "cli", "reset", "--all")
        asked = " ".join(terminal.expect("[y/N] ").split())
        assert "in place of steps/warmup_01.py, steps/step_07.py. What is there now is kept" in asked
        terminal.send(answer)
        assert ("Nothing was changed." in terminal.rest()) is not reset
        assert ((course.root / "steps" / "step_07.py").read_text() == before) is not reset
        terminal.close()
    assert set(states(course).values()) == {"untouched"}
    assert len(kept_of(course, "s07")) == len(kept_of(course, "w01")) == 1
    assert run(course, "reset", "--all").stdout == "Every file in steps/ is untouched.\n"


@pytest.mark.parametrize(
    ("arguments", "said"), [([], "say which step"), (["07", "--all"], "say which step"), (["99"], "no step '99'")]
)
def test_reset_of_what_there_is_not(course, arguments, said):
    refused = run(course, "reset", "--yes", *arguments)
    assert refused.returncode == 2
    assert said in refused.stderr


# ---------------------------------------------------------------- compare

OWN_WAY = {
    "        weights = F.softmax(scores)\n": "        weights = F.softmax(scores, axis=-1)\n",
    "        scores = query @ key.transpose(-2, -1)\n        scores = scores / math.sqrt(int(value.shape[-1]))\n": (
        "        scores = my_scores(query, key) * self.head_dim**-0.5\n"
    ),
    "\n\nclass GPT2": "\n\ndef my_scores(query, key):\n    return query @ key.transpose(-2, -1)\n\n\nclass GPT2",
}


@pytest.mark.slow
def test_compare_waits_for_a_yes(course):
    course.write("w01", edits={"return query @ np.swapaxes(key, -2, -1)": "return query @ key.swapaxes(-1, -2)"})
    early = run(course, "compare", "w01")
    assert early.returncode == 1
    assert "steps/warmup_01.py has not passed: `./run w01` checks it." in early.stdout
    assert "np.swapaxes" not in early.stdout
    assert course.check("w01").returncode == 0
    late = run(course, "compare", "w01")
    assert late.returncode == 0
    assert "return query @ key.swapaxes(-1, -2)" in late.stdout
    assert "return query @ np.swapaxes(key, -2, -1)" in late.stdout
    assert "3 of 4 blanks are written as in the solution." in late.stdout
    assert "softmax" not in late.stdout


def test_compare_shows_what_differs_and_how(course):
    course.write("s07", edits=OWN_WAY)
    shown = run(course, "compare", "07", "--anyway")
    assert shown.returncode == 0
    at = course.line_of("s07", "scores = my_scores")
    assert f"GPT2MultiHeadAttention._attn\n\nsteps/step_07.py, line {at}:\n" in shown.stdout
    assert "  |     weights = F.softmax(scores, axis=-1)\n" in shown.stdout
    assert "  |     weights = F.softmax(scores)\n" in shown.stdout
    assert "        return weights @ value\n" in shown.stdout  # equal lines have no mark
    assert "def _attn" not in shown.stdout
    assert "_split_heads" not in shown.stdout
    assert "4 of 5 blanks are written as in the solution." in shown.stdout
    assert f"Your file also has my_scores (line {course.line_of('s07', 'def my_scores')})." in shown.stdout
    whole = run(course, "compare", "07", "--anyway", "--whole")
    assert whole.stdout.count("def _attn") == 2


def test_compare_does_not_mind_comments_and_layout(course):
    course.write("s07", edits={"        weights = F.softmax(scores)": "        weights = F.softmax( scores )  # mine"})
    shown = run(course, "compare", "07", "--anyway")
    assert shown.stdout == "Every blank of steps/step_07.py is written as in solutions/solution_07.py.\n"


@pytest.mark.slow
def test_compare_of_what_is_missing(course):
    shown = run(course, "compare", "07", "--anyway")  # nothing is written yet
    assert "raise NotImplementedError" in shown.stdout
    assert "0 of 5 blanks" in shown.stdout
    course.write("s07", "x = 1\n")
    assert ">     weights = F.softmax(scores)" in run(course, "compare", "07", "--anyway").stdout
    course.write("s07", "x = (\n")
    broken = run(course, "compare", "07", "--anyway")
    assert (broken.returncode, "'(' was never closed" in broken.stdout) == (2, True)
    (course.root / "steps" / "step_07.py").unlink()
    assert "The file is missing." in run(course, "compare", "07", "--anyway").stdout


@pytest.mark.parametrize(("columns", "beside"), [(220, True), (130, True), (100, False), (60, False)])
def test_compare_fits_the_terminal(course, columns, beside):
    course.write("s07", edits=OWN_WAY)
    terminal = Terminal(course.root, "-m", "cli", "compare", "07", "--anyway", columns=columns)
    shown = terminal.rest()
    terminal.close()
    together = [line for line in shown.splitlines() if line.count("weights = F.softmax(scores") == 2]
    assert len(together) == beside
    if beside:
        assert all(len(line.rstrip()) <= columns for line in shown.splitlines())
        assert " | " in together[0]
    else:
        assert shown.index("F.softmax(scores, axis=-1)") < shown.index("solutions/solution_07.py:")
