"""``--show``: numbers beside the right ones."""

import re

import numpy as np
import pytest

from checker.course.steps import STEPS
from checker.files import ROOT
from checker.numeric.comparison import HUGGING_FACE, Comparison, noted_inputs
from checker.numeric.showing import COLUMNS, ROWS, lines_of, noting_inputs
from checker.numeric.tolerance import TOLERANCE


def compare(actual, expected, **inputs):
    axes = [f"axis {number}" for number in range(np.ndim(expected))]
    arrays = (np.asarray(array, np.float32) for array in (actual, expected))
    return lines_of(Comparison("it", *arrays, axes, HUGGING_FACE, inputs, TOLERANCE))


def test_a_key_head_is_shown_for_a_query_head_of_its_group():
    query, key = np.zeros((2, 12, 3, 2)), np.zeros((2, 4, 3, 2))
    lines = compare(np.where(np.arange(12).reshape(12, 1, 1) == 6, 1, query), query, query=query, key=key)
    assert {"query [2, 12, 3, 2], at [0, 6]", "key [2, 4, 3, 2], at [0, 2]"} <= {*lines}


def test_of_a_large_array_the_worst_place_is_shown():
    expected = np.zeros((2, 3, 40, 30))
    actual = expected.copy()
    actual[1, 2, 39, 7] = 5
    title, _, columns, *rows = compare(actual, expected)
    assert title.endswith("at axis 0 1, axis 1 2, axis 2 39, axis 3 7")
    assert columns.split()[:COLUMNS] == ["6", "7", "8"]
    assert [row.split()[0] for row in rows] == ["35", "36", "37", "38", "39"]
    assert len(rows) == ROWS
    assert rows[-1].count(">5.0000") == 2


def test_inputs_are_shown_where_the_difference_is():
    x = np.arange(24.0).reshape(2, 3, 4)
    lines = compare(np.where(x == 20, np.nan, x), x, x=x, table=np.arange(40.0).reshape(2, 20))
    assert lines[0] == "x [2, 3, 4], at [1]"
    assert lines[1].split() == ["0", "12.0000", "13.0000", "14.0000", "15.0000"]
    assert "table [2, 20]" in lines
    assert lines[lines.index("table [2, 20]") + 1].endswith("8.0000  …")
    assert ">nan" in lines[-1]


def test_two_numbers_that_are_infinite_alike_do_not_differ():
    title, _, _, row = compare([-np.inf, 1.0, 3.0], [-np.inf, 1.0, 2.0])
    assert title.endswith("at axis 0 2")
    assert row.split()[-3:] == ["0.0000", "0.0000", ">1.0000"]


def test_large_numbers_do_not_run_together():
    x = np.array([[-999.0398, -1000.3, -99999.9], [0.0001, -1e7, 12]])
    first, second = compare(x + (x == 12), x)[3:]
    assert first.split() == ["0", *["-999.040", "-1000.30", "-99999.9"] * 2, *["0.0000"] * 3]
    assert second.split()[1:4] == ["1.0e-04", "-1.0e+07", ">13.0000"]


@pytest.mark.parametrize(("folder", "noted"), [(STEPS, {"x": 3}), (ROOT / ".venv" / "lib", {})])
def test_of_two_functions_of_one_name_the_inputs_of_the_step_are_noted(folder, noted):
    namespace = {}
    exec(compile("def forward(x): return x", str(folder / "step_07.py"), "exec"), namespace)
    with noting_inputs("forward"):
        namespace["forward"](3)
        of_the_call_that_is_compared = noted_inputs()
        namespace["forward"](4)
    assert of_the_call_that_is_compared == noted
    assert noted_inputs() == {}


def test_an_input_that_is_given_by_keyword_alone_is_noted():
    namespace = {}
    exec(compile("def forward(x, *others, y, **more): return x", str(STEPS / "step_07.py"), "exec"), namespace)
    with noting_inputs("forward"):
        namespace["forward"](3, 4, y=5, z=6)
        assert noted_inputs() == {"x": 3, "y": 5}


@pytest.mark.slow
def test_the_numbers_are_shown_side_by_side(course):
    scores = "query @ np.swapaxes(key, -2, -1)"
    course.write("w01", edits={scores: f"1.1 * ({scores})"})
    assert "`./run w01 --show attention_scores` shows the numbers side by side." in course.check("w01").stdout
    run = course.check("w01", "--show", "attention_scores", status=1)
    assert run.stdout.count("> marks the largest difference") == 1
    assert {">1.6445", ">1.4950"} <= {*run.stdout.split()}
    assert "--show" not in run.stdout
    assert "softmax has no wrong numbers to show." in course.check("w01", "--show", "softmax").stdout
    run = course.check("w01", "--show", "weights", status=2)
    assert "there is no function weights to show; choose from attention_scores, softmax," in run.stdout + run.stderr
    course.write("s07", edits={" / math.sqrt(self.head_dim)": " * 0.3"})
    shown = course.check("s07", "--show", "_attention_weights").stdout
    assert re.findall(r"^(\w+) \[2, 3, 7, 5\], at \[\d, \d\]$", shown, re.MULTILINE) == ["query", "key"]
