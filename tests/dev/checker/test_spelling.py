"""A misspelled name is taken for the one that is most like it, if any is."""

import pytest

from checker.spelling import MUCH_ALIKE, closest_name


@pytest.mark.parametrize(
    ("name", "meant"), [("attention_score", "attention_scores"), ("forwards", "forward"), ("f", ""), ("matmul", "")]
)
def test_the_most_alike_name_is_meant(name, meant):
    assert closest_name(name, ["forward", "attention_scores", "softmax"]) == meant


def test_it_may_have_to_be_much_alike():
    assert closest_name("heads", ["head_dim"]) == "head_dim"
    assert closest_name("heads", ["head_dim"], MUCH_ALIKE) == ""
