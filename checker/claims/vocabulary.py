"""The words of a claim: ``about``, ``require``, ``equal``, ``for_each``, ``keeps_nothing`` and others. NumPy only.

A claim is a test function whose docstring's first line is the sentence that the verdict prints. It
passes, or it raises a :class:`Refusal`, which carries what was observed so that ``diagnosis`` can look for the mistake
that gives the same observation.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from checker.numeric.comparison import HUGGING_FACE, Comparison, close, in_brackets, noted_inputs
from checker.numeric.tolerance import TOLERANCE, tolerance_in_force

Case = TypeVar("Case")

AXES = {
    1: ("channel",),
    2: ("row", "column"),
    3: ("batch", "token", "channel"),
    4: ("batch", "head", "token", "channel"),
}

LONGEST = 80  # characters of a value that is shown
BEFORE = 20  # characters that are shown in front of the first that differs

#: The sentence for a first call that is right, and a later one that is not.
KEPT = (
    "The first call is right, and a second call, with another input, is wrong: something is kept between calls (on "
    "self, in a default, in a cache)."
)


class Refusal(AssertionError):
    """A claim that does not hold.

    Args:
        sentence: the sentence for the learner.
        observed: the observation by which mistakes are told apart; without one, the sentence.
        wanted: the exception that had to be raised, if another was raised.
        compared: the arrays that are not equal.
        foreseen: whether only the compiler could find the failure, and the sentence says what to do.
    """

    def __init__(
        self,
        sentence: str,
        observed: object = None,
        wanted: str = "",
        compared: Comparison | None = None,
        *,
        foreseen: bool = False,
    ) -> None:
        super().__init__(sentence)
        self.wanted, self.compared, self.foreseen = wanted, compared, foreseen
        self.sentence = sentence
        self.observed = sentence if observed is None else observed


def about(label: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Mark a claim with the blank that it is about; the verdict prints the blank in front of the claim."""

    def mark(claim: Callable[..., None]) -> Callable[..., None]:
        claim.about = label  # type: ignore[attr-defined]
        return claim

    return mark


def require(condition: bool, sentence: str, observed: object = None) -> None:
    """Refuse with ``sentence`` unless ``condition`` holds; mistakes are told apart by ``observed``, if given."""
    if not condition:
        raise Refusal(sentence, observed)


def first_of(refusals: Sequence[Refusal], observed: object) -> None:
    """Refuse with the first of some refusals, if there is one; ``observed`` is the observation of all together."""
    if refusals:
        first = refusals[0]
        raise Refusal(first.sentence, observed, first.wanted, first.compared) from first.__cause__


def for_each(cases: Iterable[Case], check: Callable[[Case], None]) -> None:
    """Try ``check`` on all cases, and refuse with the first refusal and its case; the others tell mistakes apart."""
    refusals: dict[int, Refusal] = {}
    for number, case in enumerate(cases):
        try:
            check(case)
        except Refusal as error:
            refusals[number] = error
    if refusals:
        first, observation = next(iter(refusals.values())), _observation_of(refusals)
        raise Refusal(_sentence_with_case(first), observation, first.wanted, first.compared) from first.__cause__


def _sentence_with_case(refusal: Refusal) -> str:
    """Return the sentence of a refusal, which ends with the case that was compared unless it names it."""
    what = refusal.compared.what.rstrip(",") if refusal.compared else ""
    return refusal.sentence if what in refusal.sentence else f"{refusal.sentence.removesuffix('.')} ({what})."


def _observation_of(refusals: Mapping[int, Refusal]) -> object:
    """Return the observation of several refusals, by the numbers of their cases: one array, or else their sentences."""
    arrays = [refusal.observed for refusal in refusals.values() if isinstance(refusal.observed, np.ndarray)]
    if len(arrays) == len(refusals) and all(array.dtype.kind in "biuf" for array in arrays):
        numbers = np.array(list(refusals))
        return np.concatenate([numbers, *(array.ravel() for array in arrays)])
    return {number: refusal.sentence for number, refusal in refusals.items()}


def is_value(what: str, actual: object, expected: object) -> None:
    """Refuse a plain value unless it is the expected one, and of the same type."""
    if not is_same(actual, expected):
        whole = repr(actual), repr(expected)
        shown, right = differing(*whole)
        raise Refusal(f"{what} is {shown}, and must be {right}.", f"{what} is {whole[0]}, and must be {whole[1]}.")


def differing(text: str, other_text: str) -> tuple[str, str]:
    """Return two texts as a verdict shows them: if both are long, from shortly before the first difference."""
    first = 0
    if min(len(text), len(other_text)) > LONGEST:
        same = 0
        while same < min(len(text), len(other_text)) and text[same] == other_text[same]:
            same += 1
        first = max(0, same - BEFORE)
    return _cut(text, first), _cut(other_text, first)


def _cut(text: str, first: int) -> str:
    """Return as much of a text as a verdict shows, from place ``first`` on, with an ellipsis for what is left out."""
    rest = text[first:]
    if len(rest) > LONGEST:
        rest = f"{rest[:LONGEST]} …"
    return f"… {rest}" if first else rest


def is_same(actual: object, expected: object) -> bool:
    """Return whether two plain values, lists or dicts are written alike; 2 and 2.0 are not, nor 1 and True."""
    return type(actual) is type(expected) and repr(actual) == repr(expected)


def error_of(what: str, call: Callable[[], object], kind: type[Exception] = ValueError) -> str:
    """Return the message of the error that ``call`` must raise.

    Raises:
        Refusal: ``call`` raises nothing, or an error of another kind.
    """
    try:
        call()
    except kind as error:
        return str(error)
    except (NotImplementedError, NameError, AttributeError):  # not written yet, or a typo
        raise
    except Exception as error:
        sentence = f"{what} raises {type(error).__name__}, and must raise {kind.__name__}."
        raise Refusal(sentence, wanted=kind.__name__) from error
    raise Refusal(f"{what} is accepted, and must raise {kind.__name__}.", wanted=kind.__name__)


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
        expected: the array, or tensor, that it must equal.
        axes: the names of the axes, for the message; guessed from the rank.
        what: the name of what is compared, for the message.
        tolerance: absolute for numbers up to 1 in size, relative for larger ones.
        whose: whose numbers ``expected`` holds, for the message.

    Raises:
        Refusal: type, shape, dtype, finiteness, or values differ; they are compared in this order.
    """
    expected = as_array(expected)[0] if hasattr(expected, "__dlpack__") else np.asarray(expected)
    axes = axes or AXES.get(expected.ndim, tuple(f"axis {axis}" for axis in range(expected.ndim)))
    array = _array_of_form(actual, expected, axes, what)
    comparison = Comparison(what, array, expected, axes, whose, noted_inputs(), tolerance_in_force(tolerance))
    finite = np.isfinite(expected)
    same_places = np.array_equal(np.isfinite(array), finite)
    if not same_places or not np.array_equal(array[~finite], expected[~finite], equal_nan=True):
        raise Refusal(comparison.not_finite(), array, compared=comparison)
    if not close(array, expected, tolerance):
        raise Refusal(f"{comparison.pattern} {comparison.difference()}".strip(), array, compared=comparison)


def _array_of_form(actual: Any, expected: np.ndarray, axes: Sequence[str], what: str) -> np.ndarray:
    """Return the numbers of a tensor; refuse anything else, and another shape or dtype than the expected one."""
    if actual is None:
        raise Refusal(f"{what} is None: is there a `return`?")
    if not (isinstance(actual, np.ndarray | np.generic) or hasattr(actual, "__dlpack__")):
        kind = article(type(actual).__name__)
        raise Refusal(f"{what} is {kind}, where one tensor is expected.{hint_on(actual)}")
    array, dtype = as_array(actual)
    sizes = actual.shape if array is None else array.shape
    shape = tuple(int(size) if str(size).isdigit() else str(size) for size in sizes)  # a dimension may be symbolic
    if shape != expected.shape:
        sentence = f"{what} has the shape {_with_axes(shape)}, and must have {_with_axes(expected.shape, axes)}."
        raise Refusal(sentence, f"a tensor of {dtype}" if array is None else array)
    if array is None or dtype != expected.dtype.name:
        raise Refusal(f"{what} is {dtype}, and must be {expected.dtype.name}.")
    return array


def keeps_nothing(call: Callable[..., Any], *arrays: np.ndarray, right: Callable[..., Any] | None = None) -> Any:
    """Refuse a function whose results depend on an earlier call; return the result of the first call.

    ``call`` gets ``arrays``, then their rows in reverse order, which must give the rows in reverse order, and
    ``arrays`` again. If the first result is wrong already, nothing is refused: another claim says so.

    Args:
        call: the function; it returns one array, or several.
        arrays: its arguments; the rows along their first axis are independent of each other.
        right: returns the right results for ``arrays``; without it, those of the first call count as right.
    """
    reverse = [np.ascontiguousarray(array[::-1]) for array in arrays]
    result = call(*arrays)
    first = _arrays(result)  # now, so that an error of the first call is no error of a later one
    try:
        result_of_reverse = call(*reverse)
        result_again = call(*arrays)
        second, third = _arrays(result_of_reverse), _arrays(result_again)
        first = _arrays(result)  # once more: the calls may share a buffer
        is_kept = not (_are_alike(second, [array[::-1] for array in first]) and _are_alike(third, first))
    except Exception:  # the first call has raised none
        is_kept = True
    if is_kept and (right is None or _are_alike(first, _arrays(right(*arrays)))):
        raise Refusal(KEPT)
    return result


def _arrays(results: Any) -> list[np.ndarray]:
    """Return the results of a call, one or several, as arrays; single numbers are left out."""
    several = results if isinstance(results, tuple | list) else [results]
    arrays = [as_array(value)[0] for value in several if value is not None]
    return [array for array in arrays if array is not None and array.ndim]


def _are_alike(some: Sequence[np.ndarray], others: Sequence[np.ndarray]) -> bool:
    """Return whether two lists of arrays have the same shapes and, within the tolerance, the same values."""
    pairs = [(array, other) for array, other in zip(some, others, strict=False) if array.shape == other.shape]
    return len(pairs) == len(some) == len(others) and all(close(array, other) for array, other in pairs)


def as_array(actual: Any) -> tuple[np.ndarray | None, str]:
    """Return the array that lies in an object's memory, whatever its class overrides, and the name of the dtype.

    The array is None if NumPy does not know the dtype (bfloat16, say).
    """
    if isinstance(actual, np.ndarray | np.generic):
        array = np.array(actual, subok=False)
    else:
        dtype = getattr(actual, "dtype", None)
        name = str(getattr(dtype, "name", dtype))
        if name not in np.sctypeDict:
            return None, name
        array = np.array(np.from_dlpack(actual), subok=False)
    return array, array.dtype.name


def hint_on(result: object) -> str:
    """Return as a sentence what to change in a function that returns such a result; nothing if that is not known."""
    if result is None:
        return " Is there a `return`?"
    if inspect.isgenerator(result):
        return " Write `return` instead of `yield`."
    if inspect.iscoroutine(result) or inspect.isasyncgen(result):
        return " Remove `async` in front of `def`."
    return ""


def article(name: str) -> str:
    """Return a name with its article: ``a tuple``, ``an int``."""
    return f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"


def _with_axes(shape: Sequence[Any], axes: Sequence[str] = ()) -> str:
    """Return a shape in words and, if there are several axes, their names: ``[2, 7, 15] (batch, token, channel)``."""
    sizes = in_brackets(shape)
    return f"{sizes} ({', '.join(axes)})" if len(axes) > 1 else sizes
