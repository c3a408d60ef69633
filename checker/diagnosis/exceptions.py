"""An exception of the learner's code in a sentence or two: what happened, and what MAX calls what was meant."""

from __future__ import annotations

import functools
import inspect
import re
import sys
import traceback

from checker.diagnosis import numpy_messages
from checker.max_adapter import messages
from checker.max_adapter.messages import without_internals

LONGEST = 300  # characters of a message
NUMPYS = re.compile(r"numpy|array|data type|read-only|\b_\w+\(\) got")  # in the text of an error


class AnswerWasRead(ImportError):
    """The learner's file tried to open the solution that it is to be compared with."""


def error_in_words(error: BaseException) -> str:
    """Put an exception into words: its kind, its message without MAX's internals, and advice."""
    if isinstance(error, SystemExit):
        return "Your code ends the program (sys.exit or exit). Remove that; the check needs what comes after."
    if isinstance(error, AnswerWasRead):
        return f"Your file {error}. Write your own, and compare with it when the check says yes."
    message = _shortened(without_internals(str(error))) or "without a message"
    return ". ".join(filter(None, [f"{type(error).__name__}: {message}", _advice(error, message)]))


def _advice(error: BaseException, message: str) -> str:
    """Return what to write instead: the signature of what was called, or what its library calls what was meant."""
    signature = signature_in_words(error)
    if signature and "axis" not in signature and "unexpected keyword" in message:
        return signature  # the library's word for the argument would be refused as well
    return (numpy_messages if _is_numpys(error, message) else messages).advice_on(message) or signature


def _is_numpys(error: BaseException, message: str) -> bool:
    """Return whether an error is NumPy's: MAX is not there, or it did not raise it and NumPy words its errors so."""
    if "max.experimental" not in sys.modules:
        return True
    modules = {
        frame.f_globals.get("__name__", "").partition(".")[0] for frame, _ in traceback.walk_tb(error.__traceback__)
    }
    return "max" not in modules and NUMPYS.search(message) is not None


def signature_in_words(error: BaseException) -> str:
    """Return how a call with wrong arguments is made: ``The signature is LayerNorm(dim, *, eps=1e-05).``"""
    called = re.match(r"(\w+(?:\.\w+)*?)(?:\.__init__)?\(\) (?:takes|missing|got)", str(error))
    if not isinstance(error, TypeError) or not called:
        return ""
    name, *path = called[1].split(".")
    for frame, _ in reversed([*traceback.walk_tb(error.__traceback__)]):
        if name in frame.f_globals:
            try:
                signature = inspect.signature(functools.reduce(getattr, path, frame.f_globals[name]))
            except (AttributeError, TypeError, ValueError):  # written in C, or another thing of that name
                return ""
            bare = [parameter.replace(annotation=parameter.empty) for parameter in signature.parameters.values()]
            return f"The signature is {called[1]}{inspect.Signature(bare)}."
    return ""


def _shortened(message: str) -> str:
    return message if len(message) <= LONGEST else f"{message[:LONGEST]} …"
