"""``compare``: what is written in another way than in the solution, once it has passed."""

import pytest

from checker.course.skeletons import skeleton_of
from checker.course.steps import find_step
from cli.compare import rows_of, rows_of_texts
from tests.dev.helpers.commands import run

OWN_WAY = {
    "scores = query @ key.T / math": "scores = my_scores(query, key) / math",
    "\n\nclass GPT2": "\n\ndef my_scores(query, key):\n    return query @ key.transpose(-2, -1)\n\n\nclass GPT2",
}


def test_each_place_has_an_equal_line_around_it_and_what_is_left_out_between_two_has_a_mark():
    assert rows_of("abcdefg", "aBcdefG") == ["  a", "- b", "+ B", "  c", "…", "  f", "- g", "+ G"]
    assert rows_of("abc", "abc") == []


def test_a_form_feed_ends_no_line_and_a_last_line_end_counts():
    assert rows_of_texts("a\fb\nc\n", "a\fb\nd\n") == ["  a\x0cb", "- c", "+ d"]
    assert rows_of_texts("a\n", "a") == ["  a", "-"]


@pytest.mark.slow
def test_a_text_that_begins_in_the_first_column_changes_no_other_line_of_its_method(course):
    course.write("s07", edits={"scores = query @ key.T /": 'about = """\nmine"""\n        scores = query @ key.T /'})
    shown = run(course, "compare", "07", "--anyway").splitlines()
    assert [row for row in shown if row.startswith(("  -", "  +"))] == ['  -     about = """', '  - mine"""']


@pytest.mark.slow
def test_compare_waits_for_a_pass_and_shows_what_differs(course):
    course.write("w01", edits={"return query @ np.swapaxes(key, -2, -1)": "return query @ key.swapaxes(-1, -2)"})
    assert "np.swapaxes" not in run(course, "compare", "w01", status=1)
    course.check("w01")
    both = "  -     return query @ key.swapaxes(-1, -2)\n  +     return query @ np.swapaxes(key, -2, -1)\n"
    shown = run(course, "compare", "w01")
    assert both in shown
    assert "1 of 4 blanks is written differently; the check has found no difference." in shown
    course.write("s07", edits=OWN_WAY)
    shown = run(course, "compare", "07", "--anyway")
    for words in (
        f"GPT2MultiHeadAttention._attention_weights, line {course.line_of('s07', 'def _attention_weights')}\n",
        "  -     scores = my_scores(query, key) / math.sqrt(self.head_dim)  # [..., seq, total]; .T swaps",
        "  +     scores = query @ key.T / math.sqrt(self.head_dim)  # [..., seq, total]; .T swaps",
        "        return F.softmax(scores + mask, axis=-1)\n",  # equal lines have no mark
        "1 of 7 blanks is written differently.",
    ):
        assert words in shown
    assert "def _attention_weights" not in shown
    spaced = find_step("s07").read_solution().text.replace("softmax(scores", "softmax( scores")
    for source, status, words in (
        (spaced, 0, "All 7 blanks are written as in the solution."),
        (skeleton_of(find_step("s07")), 0, "7 of 7 blanks are written differently."),
        ("x = 1\n", 0, "_attn, not in your file"),
        ("x = (\n", 2, "compare: Line 1: '(' was never closed"),
    ):
        course.write("s07", source)
        assert words in run(course, "compare", "07", "--anyway", status=status)
