"""What is still to write in a file."""

import pytest

from checker.course.blanks import find_blanks, skeleton, unwritten_blanks
from checker.course.languages import PYTHON
from checker.course.source import Source
from checker.course.steps import find_step

STOP = "        raise NotImplementedError"


def test_what_still_raises_is_to_write_and_a_blank_is_as_long_as_it_says():
    solution = find_step("s07").read_solution().text

    def to_write(source):
        return [(each.blank.label, each.started) for each in unwritten_blanks(Source(source), Source(solution))]

    assert to_write(solution) == []
    half = skeleton(Source(solution), written=["__init__", "_qkv", "_attention_weights", "_attn", "forward"])
    assert to_write(half) == [("_split_heads", False), ("_merge_heads", False)]
    assert to_write(half.replace(STOP, f"        x = 3\n{STOP}", 1))[0] == ("_split_heads", True)
    for no_answer in ('"""Split."""', "print(x.shape)", "pass", "..."):
        assert to_write(half.replace(STOP, f"        {no_answer}\n{STOP}", 1))[0] == ("_split_heads", False)
    assert to_write(half.replace(STOP, f"        return 3\n{STOP}", 1)) == [("_merge_heads", False)]
    outside = "\nif True:\n    # A. (1 line)\n    pass\nclass"
    for old, new, why in (("(2 lines)", "(20 lines)", "says 20 lines"), ("\nclass", outside, "not inside a function")):
        with pytest.raises(ValueError, match=why):
            find_blanks(Source(solution.replace(old, new)))
    another = "class Another:\n    def _attn(self):\n        # Write it. (1 line)\n        pass\n"
    with pytest.raises(ValueError, match="two blanks are called _attn; a check tells them apart by it"):
        find_blanks(Source(f"{solution}\n\n{another}"))


def test_a_return_that_is_not_counted_is_given():
    solution = "def half(x):\n    # Halve it. (1 line)\n    y = x / 2\n    return named(y)\n"
    given = skeleton(Source(solution))
    assert given == "def half(x):\n    # TODO: Halve it. (1 line)\n    raise NotImplementedError\n    return named(y)\n"
    assert [each.line for each in unwritten_blanks(Source(given), Source(solution))] == [3]
    assert unwritten_blanks(Source(given.replace("raise NotImplementedError", "y = x / 2")), Source(solution)) == []
    with pytest.raises(ValueError, match="says 1 lines, its body has 3"):
        find_blanks(Source(solution.replace("    return", "    y += 1\n    return")))


@pytest.mark.parametrize("under", ["if True:", "try:"])
def test_a_function_under_a_condition_is_read_like_another(under):
    step = find_step("w01")
    source = step.read_solution().text
    body = source[source.index("def attention_scores(") : source.index("def softmax(")].rstrip()
    rest = "\nfinally:\n    pass\n" if under == "try:" else "\n"
    moved = source.replace(body, "\n    ".join([under, *body.splitlines()]) + rest)
    assert "attention_scores" in PYTHON.functions(Source(moved))
    stopped = moved.replace("return query @ np.swapaxes(key, -2, -1)", "raise NotImplementedError")
    assert [each.blank.label for each in unwritten_blanks(Source(stopped), Source(source))] == ["attention_scores"]
