"""The words of claims: what ``keeps_nothing`` refuses."""

from contextlib import nullcontext

import numpy as np
import pytest

from checker.claims import Refusal, keeps_nothing

RIGHT = np.random.RandomState(0).standard_normal((2, 3, 5)).astype(np.float32)


class Doubling:
    """Doubles an array, and keeps something between calls."""

    def __init__(self):
        self.kept, self.buffer = {}, np.empty_like(RIGHT)

    def by_shape(self, x):
        return self.kept.setdefault(x.shape, 2 * x)

    def by_number(self, x):
        return self.kept.setdefault(x.tobytes(), 2 * x)

    def with_the_first_mean(self, x):
        return x - self.kept.setdefault("mean", x.mean(axis=-1, keepdims=True))

    def into_one_buffer(self, x):
        return np.multiply(x, 2, out=self.buffer)

    def longer_every_time(self, x):
        self.kept[len(self.kept)] = 2 * x
        return np.concatenate(list(self.kept.values()))

    def in_two_parts(self, x):
        return x + 1, self.kept.setdefault("part", x - 1)


@pytest.mark.parametrize(
    ("call", "right", "refused"),
    [
        (Doubling().by_shape, None, True),
        (Doubling().by_number, None, False),
        (Doubling().with_the_first_mean, lambda x: x - x.mean(axis=-1, keepdims=True), True),
        (Doubling().into_one_buffer, lambda x: 2 * x, True),
        (Doubling().longer_every_time, None, True),
        (Doubling().in_two_parts, None, True),
        (lambda x: 2 * x, None, False),
        (lambda x: None, None, False),
        (lambda x: x - x[:1], lambda x: x, False),  # its rows are wrong by themselves, which another claim says
    ],
)
def test_what_is_kept_between_calls_is_refused(call, right, refused):
    with pytest.raises(Refusal, match="kept between calls") if refused else nullcontext():
        keeps_nothing(call, RIGHT, right=right)
