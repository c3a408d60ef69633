"""Make outcomes of the errors that claims raise: a failure, a wait for a blank, or a fault of the check itself."""

from __future__ import annotations

import traceback
from collections.abc import Collection

import numpy as np

from checker.claims.vocabulary import Refusal
from checker.diagnosis.frames import function_and_line
from checker.numeric.sketches import sketch
from checker.outcomes import Observation, ObservedText, Outcome, raised_error, with_printable_message, words_of_wait
from checker.stages import Mark


def outcome_of(error: BaseException, path: str, about: str, to_write: Collection[str] = ()) -> Outcome:
    """Return the outcome of a claim that has raised an error.

    Args:
        error: the error.
        path: the checked file, whose lines are shown.
        about: the function that the claim is about.
        to_write: the labels of the functions that this file has yet to write.
    """
    error = with_printable_message(error)
    if isinstance(error, Refusal):
        return _outcome_of_refusal(error, path, about)
    if waited_for := _waited_for(error, path, to_write):
        return Outcome(Mark.WAITS, words_of_wait([waited_for], "is written", "are written"), about=about)
    return _outcome_of_error(error, path, about)


def _outcome_of_refusal(refusal: Refusal, path: str, about: str) -> Outcome:
    """Return the outcome of a claim that does not hold."""
    location = None
    if refusal.__cause__:
        from checker.diagnosis.locating import location_of  # most claims raise no error

        location = location_of(refusal.__cause__, path, refusal.wanted)
    return Outcome(
        Mark.FAIL,
        refusal.sentence,
        location=location,
        observation=_observation(refusal.observed),
        about=about,
        comparison=refusal.compared,
        is_about_values=not refusal.wanted,
        foreseen=refusal.foreseen,
    )


def _observation(observed: object) -> Observation:
    """Return the observation of a refusal: the sketch of an array, or anything else as text."""
    if isinstance(observed, np.ndarray):
        return sketch(observed)
    return ObservedText(observed if isinstance(observed, str) else repr(observed))


def _outcome_of_error(error: BaseException, path: str, about: str) -> Outcome:
    """Return the outcome of a claim that has raised another error than a refusal."""
    from checker.diagnosis.locating import reason_of  # most claims raise no error

    reason = reason_of(error, path)
    return Outcome(
        Mark.FAIL,
        reason.sentence,
        location=reason.location,
        observation=raised_error(error),
        about=about,
        comes_from_max=reason.comes_from_max,
    )


def _waited_for(error: BaseException, path: str, to_write: Collection[str]) -> str:
    """Return the unwritten function that an error comes from, or nothing.

    The function has stopped at its own blank, or is not there, or it is ``forward`` and MAX has stopped in its place.
    """
    if isinstance(error, NotImplementedError):
        function, _ = function_and_line(error, path)
        if function in to_write:
            return function
        frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
        if frames and frames[-1].f_code.co_name in to_write:
            return frames[-1].f_code.co_name
    if isinstance(error, NameError | AttributeError) and error.name in to_write:
        return str(error.name)
    return ""


def fault_of_check(error: BaseException) -> str:
    """Return why there is no verdict: the check itself has raised an error."""
    words = " ".join(f"{type(error).__name__}: {error}".split())
    return f"the check itself failed ({words}). It isn't your file; please report it."
