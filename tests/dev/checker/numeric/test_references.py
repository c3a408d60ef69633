"""What a check draws anew."""

from checker.numeric.references import Draw


def test_both_ends_of_a_range_may_be_drawn_and_a_recorded_size_only_if_no_other_will_do():
    draw = Draw(0, avoided={3, 12})
    assert {draw.whole("heads", 2, 4) for _ in range(50)} == {2, 4}
    assert {draw.whole("width", 2, 4, times=6) for _ in range(50)} == {4}
    assert draw.whole("layers", 3, 3) == 3
