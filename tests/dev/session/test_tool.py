"""The learner's tool on made-up files: every way of being wrong ends with what to do now."""

import ast
import os
import signal
import subprocess
import sys

import pytest

from checker.course.blanks import find_blanks, skeleton, unwritten
from checker.course.steps import all_steps, find_step
from tests.dev.terminal import ended

SOLUTION = '''\
"""A step."""

import math


class Thing:
    def __init__(self, size):
        self.size = size
        # Make the double. (1 line)
        self.double = 2 * size

    def area(self):
        """The area of a circle."""
        # Pi times the square. (2 lines)
        square = self.size * self.size

        return math.pi * square
'''


def test_a_skeleton_has_the_blanks_and_nothing_else_changed():
    made = skeleton(SOLUTION)
    assert made.count("raise NotImplementedError") == 2
    assert "# TODO: Pi times the square. (2 lines)\n        raise NotImplementedError\n" in made
    assert made.splitlines()[:8] == SOLUTION.splitlines()[:8]
    assert "square = " not in made
    ast.parse(made)


def test_the_length_of_a_blank_is_checked():
    with pytest.raises(ValueError, match="says 3 lines, its body has 2"):
        find_blanks(SOLUTION.replace("(2 lines)", "(3 lines)"))
    with pytest.raises(ValueError, match="not inside a function"):
        find_blanks("if True:\n    # Write this. (1 line)\n    pass\n")


def test_unwritten_is_what_still_raises():
    def labels(source):
        return [(one.blank.label, one.started) for one in unwritten(source, SOLUTION)]

    made = skeleton(SOLUTION)
    assert labels(made) == [("__init__", False), ("area", False)]
    assert labels(SOLUTION) == []
    half = made.replace("        raise NotImplementedError\n", "        self.double = 2\n", 1)
    assert labels(half) == [("area", False)]
    left_behind = half.replace("        raise NotImplementedError", "        x = 3\n        raise NotImplementedError")
    assert labels(left_behind) == [("area", True)]
    unreachable = half.replace(
        "        raise NotImplementedError", "        return 3\n        raise NotImplementedError"
    )
    assert labels(unreachable) == []
    assert [one.line for one in unwritten("class Thing: pass", SOLUTION)] == [None, None]


@pytest.mark.parametrize("text", ["07", "7", "s07", "step_07"])
def test_steps_are_found_by_what_people_type(text):
    assert find_step(text).name == "step_07"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "value"), [("PYTEST_ADDOPTS", "--collect-only --junitxml=told.xml"), ("PYTEST_PLUGINS", "no_such_plugin")]
)
def test_what_a_user_tells_pytest_changes_no_verdict(course, monkeypatch, name, value):
    course.write("w01")
    monkeypatch.setenv(name, value)
    assert course.check("w01").returncode == 0
    assert not (course.root / "told.xml").exists()


def test_an_unknown_step_lists_those_there_are(course):
    run = course.check("s99")
    assert run.returncode == 2
    for step in all_steps():
        assert step.task in run.stderr


def test_a_syntax_error_is_shown_with_its_line(course):
    course.write("s07", edits={"weights @ value": "weights @ (value"})
    run = course.check("s07")
    assert run.returncode == 1
    assert f"Line {course.line_of('s07', 'weights @ (')}: '(' was never closed." in run.stdout
    assert "    return weights @ (value\n                     ^" in run.stdout


def test_files_that_cannot_be_read(course):
    path = course.root / "steps" / "step_07.py"
    path.write_bytes(b"x = '\xe9'")
    assert "not UTF-8 text: byte 5 is 0xe9. Save it as UTF-8." in course.check("s07").stdout
    path.write_text("x = 1\0")
    assert "null" in course.check("s07").stdout
    path.unlink()
    run = course.check("s07")
    assert (run.returncode, "`./run skeletons` writes it anew" in run.stdout) == (1, True)
    path.write_text("")
    run = course.check("s07")
    assert run.returncode == 1
    assert "there is no GPT2MultiHeadAttention._attn in the file any more" in run.stdout


def test_an_error_while_importing_is_shown_with_its_line(course):
    course.write("s07", edits={"import math\n": "import maths\n"})
    run = course.check("s07")
    assert run.returncode == 1
    assert "ModuleNotFoundError: No module named 'maths'" in run.stdout
    assert "    line 5: import maths" in run.stdout


@pytest.mark.slow
def test_an_error_while_running_is_shown_with_its_line(course):
    course.write("s07", edits={"weights @ value": "weights @ valeu"})
    run = course.check("s07")
    assert "_attn: NameError: name 'valeu' is not defined" in run.stdout
    assert f"    line {course.line_of('s07', 'valeu')}: return weights @ valeu" in run.stdout


@pytest.mark.slow
def test_a_call_with_wrong_arguments_is_answered_with_the_signature_and_one_no_is_enough(course):
    call = "LayerNorm(hidden_size, config.layer_norm_epsilon)"
    course.write("s09", edits={"LayerNorm(hidden_size, eps=config.layer_norm_epsilon)": call})
    run = course.check("s09", "--no-compile")
    assert run.returncode == 1
    assert [line.split()[:2] for line in run.stdout.splitlines() if line.startswith("  fail ")] == [
        ["fail", "__init__"]
    ]
    assert "  waits     forward   waits until __init__ works\n" in run.stdout
    assert "The signature is LayerNorm(dim, *, eps=1e-05)." in " ".join(run.stdout.split())


@pytest.mark.slow
def test_what_cannot_be_built_waits_for_init(course):
    course.write("s07", edits={"3 * self.embed_dim)\n": "3 * self.embed_dim, bias=False)\n"})
    run = course.check("s07", "--no-compile")
    assert run.returncode == 1
    assert run.stdout.count("  fail  ") == 1
    assert "  waits     forward       waits until __init__ works\n" in run.stdout


@pytest.mark.slow
def test_a_blank_that_another_fails_in_is_waited_for(course):
    course.write("s12", edits={"if temperature < 0:": "if temprature < 0:"})
    run = course.check("s12")
    assert run.returncode == 1
    assert "check_settings: NameError: name 'temprature' is not defined" in run.stdout
    assert run.stdout.count("waits until check_settings works") == 3


@pytest.mark.slow
def test_what_the_learner_prints_is_set_apart(course):
    course.write(
        "s07",
        edits={"        weights = F.softmax(scores)": "        print('Yes!')\n        weights = F.softmax(scores)"},
    )
    run = course.check("s07", "--no-compile")
    assert "  | Yes!\n" in run.stdout
    assert run.returncode == 0


@pytest.mark.slow
def test_a_blank_left_raising_below_its_code_is_pointed_out(course):
    course.fill("s07", "_split_heads")
    path = course.root / "steps" / "step_07.py"
    lines = path.read_text().splitlines()
    at = next(number for number, line in enumerate(lines) if "Bring seq back" in line)
    lines.insert(at + 1, "        tensor = tensor.transpose(-3, -2)")
    path.write_text("\n".join(lines) + "\n")
    assert f"line {at + 3} still says raise NotImplementedError: delete that line" in course.check("s07").stdout


@pytest.mark.slow
def test_blanks_turn_green_one_by_one(course):
    written = []
    for label in ("_split_heads", "_merge_heads", "_attn", "__init__"):
        written.append(label)
        course.fill("s07", *written)
        run = course.check("s07")
        assert run.returncode == 1
        assert "Right so far. Still to write: " in run.stdout
        assert [line.split()[1] for line in run.stdout.splitlines() if line.startswith("  pass")].count(label) >= 1


@pytest.mark.slow
def test_two_mistakes_are_both_named(course):
    course.write(
        "s07",
        edits={
            "        tensor = tensor.transpose(-3, -2)\n        return tensor.reshape([*tensor.shape[:-2],": "        return tensor.reshape([tensor.shape[0], tensor.shape[2],",
            " / math.sqrt(int(value.shape[-1]))": "",
        },
    )
    run = course.check("s07")
    assert run.returncode == 1
    assert "_merge_heads: The heads are merged without being transposed back" in run.stdout
    assert "_attn: The scores are not scaled" in run.stdout


@pytest.mark.slow
def test_a_mistake_nobody_foresaw_is_described_by_its_pattern(course):
    course.write("s07", edits={"return self.c_proj(attn_output)": "return 1.25 * self.c_proj(attn_output)"})
    run = course.check("s07")
    assert "Everything is off by one factor: yours is 1.25 times Hugging Face's." in run.stdout


@pytest.mark.slow
def test_the_numbers_are_shown_side_by_side(course):
    course.write(
        "w01", edits={"return query @ np.swapaxes(key, -2, -1)": "return 1.1 * (query @ np.swapaxes(key, -2, -1))"}
    )
    assert "`./run w01 --show attention_scores` shows the numbers side by side." in course.check("w01").stdout
    run = course.check("w01", "--show", "attention_scores")
    assert run.returncode == 1
    assert run.stdout.count("> marks the largest difference") == 1
    assert ">1.6445" in run.stdout
    assert ">1.4950" in run.stdout
    assert "--show" not in run.stdout


@pytest.mark.slow
def test_what_a_function_was_given_is_shown_with_its_numbers(course):
    course.write("s07", edits={"scores = scores / math.sqrt(int(value.shape[-1]))": "scores = scores * 0.3"})
    lines = course.check("s07", "--show", "_attn").stdout.splitlines()
    for name in ("query", "key", "value"):
        assert f"{name} [2, 3, 7, 5], at [1, 1]" in lines


@pytest.mark.slow
def test_there_may_be_nothing_to_show(course):
    course.write("w01", edits={"return weights @ value": "return weights @ values"})
    assert "softmax has no wrong numbers to show." in course.check("w01", "--show", "softmax").stdout
    assert "context_vectors has no wrong numbers to show." in course.check("w01", "--show", "context_vectors").stdout
    run = course.check("w01", "--show", "weights")
    assert run.returncode == 2
    assert "there is no function weights to show; choose from attention_scores, softmax," in run.stdout + run.stderr


def test_skeletons_never_overwrite_work(course):
    course.fill("s07", "_split_heads")
    path = course.root / "steps" / "step_07.py"
    mine = path.read_text()
    run = course.python("-m", "cli", "skeletons")
    assert path.read_text() == mine
    assert "steps/step_07.py is left alone" in run.stdout
    run = course.python("-m", "cli", "skeletons", "--check")
    assert run.returncode == 1


def test_skeletons_leave_alone_what_they_cannot_read(course):
    path = course.root / "steps" / "step_07.py"
    path.write_bytes(b"x = '\xe9'")
    run = course.python("-m", "cli", "skeletons")
    assert run.returncode == 0, run.stderr
    assert path.read_bytes() == b"x = '\xe9'"
    assert "steps/step_07.py is left alone" in run.stdout


def test_a_file_as_windows_editors_write_it_is_accepted(course):
    path = course.root / "steps" / "warmup_01.py"
    path.write_bytes(b"\xef\xbb\xbf" + find_step("w01").solution_file.read_bytes().replace(b"\n", b"\r\n"))
    assert course.check("w01").returncode == 0


def test_skeletons_keep_a_copy_of_anything_else(course):
    path = course.root / "steps" / "step_02.py"
    path.write_text(path.read_text() + "\n# a note of mine\n")
    run = course.python("-m", "cli", "skeletons")
    (kept,) = path.parent.glob("step_02.kept-*.py")
    assert "a note of mine" in kept.read_text()
    assert kept.name in run.stdout
    path.unlink()
    course.python("-m", "cli", "skeletons")
    assert path.is_file()


@pytest.mark.slow
def test_ctrl_c_ends_with_a_sentence(course):
    course.write("s07", edits={"        weights = F.softmax(scores)": "        while True: pass"})
    command = [sys.executable, "-m", "cli", "s07"]
    pipe = subprocess.PIPE
    # MAX, where a test before has run it in this process, has put a Python of its choice into the real environment.
    with ended(
        subprocess.Popen(command, cwd=course.root, env=os.environ, stdout=pipe, stderr=pipe, text=True)
    ) as check:
        seen = next((line for line in check.stdout if "_merge_heads" in line), None)
        assert seen, check.communicate()
        check.send_signal(signal.SIGINT)
        said, errors = check.communicate(timeout=60)
    assert check.returncode == 130
    assert "Interrupted: there is no verdict." in said
    assert errors == ""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("edits", "said"),
    [
        (
            {"query.shape[-2], 0,": "query.shape[-3], 0,"},
            "_attn: ValueError: Add: Input lhs (shape [2, 3, 7, 7]) dimension at axis 3 (value 7) and input rhs "
            "(shape [3, 3]) dimension at axis 1 (value 3) are neither equivalent nor broadcastable.",
        ),
        (
            {"F.softmax(scores)": "F.softmax(scores, dim=-1)"},
            "unexpected keyword argument 'dim'. MAX's word for it is axis.",
        ),
        ({"F.softmax(scores)": "F.triu(scores)"}, "MAX has F.band_part"),
        ({"[self.split_size] * 3": "3"}, "F.split takes the sizes of the parts"),
    ],
)
def test_errors_of_max_are_put_into_words(course, edits, said):
    course.write("s07", edits=edits)
    assert said in " ".join(course.check("s07", "--no-compile").stdout.split())


@pytest.mark.slow
def test_a_lookup_out_of_bounds_is_told_at_its_line(course):
    """MAX runs a whole forward pass at once, and its message knows neither the table nor the line."""
    course.write("s10", edits={"self.wpe(positions)": "self.wpe(input_ids)"})
    said = course.check("s10", "--no-compile").stdout
    line = course.line_of("s10", "self.wpe(input_ids)")
    assert "forward: Row 17 of wpe is looked up, but it has only 13 rows.\n" in said
    assert f"    line {line}: hidden_states = self.wte(input_ids) + self.wpe(input_ids)\n" in said
    assert "kernel" not in said


def test_the_calls_that_led_to_an_error_are_told(course):
    wrong = {"if temperature < 0:": "if temperature.real() < 0:"}
    course.write("s12", edits=wrong)
    said = course.check("s12").stdout
    assert "check_settings: TypeError: 'int' object is not callable" in said
    line = course.line_of("s12", "temperature.real()")
    assert f"    line {line}: if temperature.real() < 0:\n    called with temperature=" in said


@pytest.mark.slow
def test_a_check_leaves_the_folders_of_other_pytest_sessions_alone(course, tmp_path, monkeypatch):
    """pytest removes old ones when it ends; a check that waited for that, after its last claim, seemed to hang."""
    shared = tmp_path / "shared"
    shared.mkdir()
    monkeypatch.setenv("PYTEST_DEBUG_TEMPROOT", str(shared))
    course.write("s13", find_step("s13").solution_file.read_text())
    assert course.check("s13", "--no-compile").returncode == 0
    assert not any(shared.iterdir())
