"""Drawings that can be read."""

import re

import pytest

from tools.book_maker.drawing import svg


@pytest.fixture
def draw():
    return svg.Drawing("x")


@pytest.mark.parametrize(
    ("refused", "reason"),
    [
        (lambda draw: draw.box(0, 0, 20, 20, "too long"), "does not fit into a box"),
        (lambda draw: draw.box(0, 0, 20, 20, kind="querry"), "there is no kind 'querry'"),
        (lambda draw: draw.matrix(0, 0, [1, 2]), "a matrix has 2 axes"),
        (lambda draw: draw.matrix(0, 0, [[1, 2]], rows=["a", "b"]), "2 labels for 1 rows"),
        (lambda draw: draw.matrix(0, 0, [[123456.789]]), "does not fit into a cell"),
        (lambda draw: draw.bars(0, 0, 50, [("a", 1.0)]), "more width"),
        (lambda draw: draw.arrow((1, 1), (1, 1)), "two different ends"),
        (lambda draw: draw.box(0, 0, 900, 10) and draw.svg(), "910 wide; at most 640"),
    ],
)
def test_a_drawing_that_cannot_be_read_is_refused(draw, refused, reason):
    with pytest.raises(ValueError, match=reason):
        refused(draw)


def test_a_figure_is_as_large_as_what_is_drawn_and_its_letters_can_be_read(draw):
    left, right = draw.box(-50, 10, 100, 40), draw.box(520, 10, 20, 40)
    draw.arrow(left.right, right.left)
    draw.text(60, 20, "larger", size="large")
    draw.text(300, 20, "words", size="small")
    assert 'viewBox="-55 5 600 50" width="600" height="50" style="min-width: 508px"' in draw.svg()


def test_a_matrix_colors_by_share_and_grays_what_is_masked(draw):
    draw.matrix(0, 0, [[1.0, -0.5, float("-inf"), -0.001]], spec=".2f")
    colors = [("heat", "1"), ("cool", "0.52"), ("fill-masked", ""), ("cool", "0.03")]
    assert re.findall(r'"cell ([\w-]+)".*?(?: fill-opacity="(.+)")?/>', draw.svg()) == colors
    assert re.findall(r">(\S+)</text>", draw.svg().replace(svg.MINUS, "-")) == ["1.00", "-0.50", "-∞", "0.00"]
