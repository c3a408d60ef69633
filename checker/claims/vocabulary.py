"""What a claim calls to say no: ``require`` and ``equal``. NumPy only; MAX is in ``runtime``.

A claim is a test function whose docstring's first line is the sentence that the verdict prints. It
passes, or it raises a :class:`Refusal`, which carries what was observed so that ``naming`` can look
for the mistake that makes the same observation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from checker.numeric.patterns import HUGGING_FACE, first_difference, first_place, largest_difference, pattern
from checker.numeric.tolerance import TOLERANCE, close

AXES = {
    1: ("channel",),
    2: ("row", "column"),
    3: ("batch", "token", "channel"),
    4: ("batch", "head", "token", "channel"),
}


class Refusal(AssertionError):
    """A claim that does not hold: the sentence for the learner, and what was observed."""

    def __init__(self, sentence: str, observed: object = None) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.observed = sentence if observed is None else observed


def about(label: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Say which blank a claim is about; the verdict prints it in front of the claim."""

    def mark(claim: Callable[..., None]) -> Callable[..., None]:
        claim.about = label  # type: ignore[attr-defined]
        return claim

    return mark


def require(condition: bool, sentence: str, observed: object = None) -> None:
    """Refuse with ``sentence`` unless ``condition`` holds; ``observed`` tells mistakes apart better than it."""
    if not condition:
        raise Refusal(sentence, observed)


def is_value(what: str, actual: object, expected: object) -> None:
    """Refuse unless a plain value is what it must be, type and all."""
    if type(actual) is not type(expected) or actual != expected:
        raise Refusal(f"{what} is {actual!r}, and must be {expected!r}.")


def error_of(what: str, call: Callable[[], object], kind: type[Exception] = ValueError) -> str:
    """The message of the error that ``call`` must raise.

    Raises:
        Refusal: it raises nothing, or an error of another kind.
    """
    try:
        call()
    except kind as error:
        return str(error)
    except (NotImplementedError, NameError, AttributeError):  # not written yet, or a slip of the pen
        raise
    except Exception as error:
        raise Refusal(f"{what} raises {type(error).__name__}, and must raise {kind.__name__}.") from error
    raise Refusal(f"{what} is accepted, and must raise {kind.__name__}.")


def equal(
    actual: Any,
    expected: Any,
    axes: Sequence[str] = (),
    *,
    what: str = "the result",
    tolerance: float = TOLERANCE,
    whose: str = HUGGING_FACE,
) -> None:
    """Refuse unless ``actual`` has the type, shape, dtype and, within ``tolerance``, values of ``expected``.

    Args:
        actual: a MAX tensor or a NumPy array, as the learner's code returned it.
        expected: the array it must equal.
        axes: what each axis counts, for the message; guessed from the rank.
        what: what is compared, for the message.
        tolerance: for numbers up to one in size; in proportion above.
        whose: whose numbers ``expected`` holds, for the message.

    Raises:
        Refusal: type, shape, dtype, finiteness and value are looked at in this order.
    """
    expected = np.asarray(expected)
    axes = axes or AXES.get(expected.ndim, tuple(f"axis {axis}" for axis in range(expected.ndim)))
    if actual is None:
        raise Refusal(f"{what} is None: is there a `return`?")
    if not hasattr(actual, "shape") or not hasattr(actual, "dtype"):
        raise Refusal(f"{what} is {article(type(actual).__name__)}, where one tensor is expected.")
    shape, dtype = tuple(map(_whole, actual.shape)), getattr(actual.dtype, "name", str(actual.dtype))
    if shape != expected.shape:
        sentence = f"{what} has the shape {_named(shape)}, and must have {_named(expected.shape, axes)}."
        raise Refusal(sentence, _values(actual, dtype))
    if dtype != expected.dtype.name:
        raise Refusal(f"{what} is {dtype}, and must be {expected.dtype.name}.")
    array = _values(actual, dtype)
    assert isinstance(array, np.ndarray)
    if not np.array_equal(np.isfinite(array), np.isfinite(expected)):
        wrong = ~np.isfinite(array) & np.isfinite(expected)
        place = first_place(wrong if wrong.any() else np.isfinite(array) != np.isfinite(expected), axes)
        raise Refusal(
            f"{what} has {int(wrong.sum())} of {array.size} values that are NaN or infinite, the first at {place}.",
            array,
        )
    if not close(array, expected, tolerance):
        if expected.dtype.kind in "biu":  # an id, a position or a bool is not larger or smaller than another
            where = first_difference(array, expected, axes, what)
        else:
            where = largest_difference(array, expected, axes, whose)
        raise Refusal(f"{pattern(array, expected, axes, tolerance, whose)} {where}".strip(), array)


def article(name: str) -> str:
    """``a tuple``, ``an int``."""
    return f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"


def _whole(size: Any) -> Any:
    try:
        return int(size)
    except TypeError:
        return str(size)  # a symbolic dimension


def _named(shape: Sequence[Any], axes: Sequence[str] = ()) -> str:
    parts = [f"{axis} {size}" for axis, size in zip(axes, shape, strict=True)] if len(axes) > 1 else map(str, shape)
    return f"[{', '.join(parts)}]"


def _values(actual: Any, dtype: str) -> object:
    if isinstance(actual, np.ndarray):
        return actual
    if dtype in np.sctypeDict:
        return np.from_dlpack(actual)
    return f"a tensor of {dtype}"
