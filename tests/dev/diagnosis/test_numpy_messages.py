"""NumPy's errors get NumPy's advice, and each advice answers something that NumPy says."""

import max.experimental.functional  # noqa: F401 # steps 13 and 14 use both, so here both are loaded
import numpy as np
import pytest

from checker.diagnosis.exceptions import error_in_words
from checker.diagnosis.numpy_messages import ADVICE

X = np.ones((2, 3))
X.setflags(write=False)


def in_place():
    x = X
    x *= 2


HABITS = {
    "axis.": lambda: X.sum(dim=-1),
    "keepdims.": lambda: X.sum(axis=-1, keepdim=True),
    "np.where(condition, there, elsewhere)": lambda: X.masked_fill(X > 0, 0),
    "np.tril(x)": lambda: X.tril(),
    "reshape(2, 3)": lambda: X.view(3, 2),
    "x.transpose(0, 2, 1, 3)": lambda: X.permute(1, 0),
    "np.swapaxes(x, 1, 2)": lambda: np.ones((1, 2, 3)).transpose(1, 2),
    "x[:, None]": lambda: X.unsqueeze(1),
    "concatenate": lambda: np.cat([X, X]),
    "assign to a part of it": lambda: X.append(X),
    "exp and a sum": lambda: np.softmax(X),
    "a @ b": lambda: X.matmul(X.T),
    "x**2": lambda: X.pow(2),
    "a formula to write": lambda: X.sum().backward(),
    "x.astype(np.float32)": lambda: X.float(),
    "x = x * 2": in_place,
}


def words_for(habit) -> str:
    with pytest.raises(Exception) as caught:  # noqa: PT011 # each has its own
        habit()
    return error_in_words(caught.value)


@pytest.mark.parametrize(("fix", "habit"), HABITS.items(), ids=HABITS)
def test_a_habit_is_answered_with_what_to_write(fix, habit):
    assert fix in words_for(habit)
    assert "MAX" not in words_for(habit)


def test_every_advice_is_given_to_some_habit():
    given = " ".join(map(words_for, HABITS.values()))
    assert [advice for advice in ADVICE.values() if advice not in given] == []
