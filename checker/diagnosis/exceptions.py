"""Put an exception of the learner's code into a sentence or two: what happened, and MAX's name for what was meant."""

from __future__ import annotations

import functools
import inspect
import linecache
import re
import sys
import traceback
from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path
from types import FrameType, ModuleType
from typing import cast

from checker.course.languages import Location
from checker.course.steps import STEPS, relative_path
from checker.diagnosis import numpy_messages
from checker.diagnosis.locating import code_in, passed
from checker.diagnosis.rewriting import Place, rewritten
from checker.max_adapter import messages
from checker.max_adapter.messages import shortened, what_was_said

MOST_CALLS = 2  # that are shown
LONGEST_VALUE = 20  # characters of a value that is shown
LETTERS = "abcdefgh"  # for the arguments in a rule
NUMPYS = re.compile(
    r"numpy|array|data type|robabilit|'p' must|read-only|view\(\) takes|is not callable|cumsum|\b_(?!_)\w+\(\) got"
)  # found in the text of an error of NumPy's


#: How people raise an exception other than the one that is wanted.
RAISING = (
    "assert False, m => raise {}(m)",
    "assert not c, m => if c: raise {}(m)",
    "assert c, m => if not c: raise {}(m)",
    "raise m => raise {}(m)",
)


def error_in_words(error: BaseException) -> str:
    """Put an exception into words: its kind, its message without MAX's internals, and advice."""
    if isinstance(error, SystemExit):
        return "Your code ends the program (sys.exit or exit). Remove that; the check needs what comes after."
    if isinstance(error, NotImplementedError) and (words := _not_written(error)):
        return words
    message = shortened(what_was_said(error)) or "without a message"
    sentence, signature = f"{type(error).__name__}: {message}", ""
    if called := _called(error):
        bare = [parameter.replace(annotation=parameter.empty) for parameter in called[1].parameters.values()]
        signature = f"The signature is {called[0]}{inspect.Signature(bare)}."
    advice = messages.advice_on(message, _library_of(error, message).ADVICE) or signature
    if signature and "axis" not in signature and "unexpected keyword" in message:
        advice = signature  # one of the learner's own functions would refuse the library's word as well
    return f"{sentence.rstrip('.')}. {advice}" if advice else sentence


def _not_written(error: NotImplementedError) -> str:
    """Return in words what is not written yet: a method that MAX calls, or a function of a step that was imported."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    innermost = frames[-1]
    name, file = innermost.f_code.co_name, Path(innermost.f_code.co_filename)
    if name == "forward" and innermost.f_globals.get("__name__", "").startswith("max."):
        kind = type(innermost.f_locals["self"])
        alike = get_close_matches(name, [own for own in vars(kind) if own != name], 1)
        meant = f" You have {alike[0]}; call it forward." if alike else ""
        return f"{kind.__name__} has no forward, the method that MAX calls.{meant}"
    if str(error) or file.parent != STEPS:
        return ""
    words = f"{relative_path(file)}: {name} is not written yet."
    graded = next(path for frame in frames if (path := Path(frame.f_code.co_filename)).parent == STEPS)
    solution = f"solutions.{file.stem.replace('step', 'solution')}"
    return words if graded == file else f"{words} Write it first, or import from {solution} here."


def _rules_from_signature(error: BaseException, message: str) -> Iterator[str]:
    """Yield rules that correct a call with wrong arguments, from the signature of what was called."""
    called = _called(error)
    if called is None:
        return
    name, signature = called
    positional, by_keyword = [], []
    for parameter in signature.parameters.values():
        if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.VAR_POSITIONAL):
            positional.append(parameter.name)
        elif parameter.kind == parameter.KEYWORD_ONLY:
            by_keyword.append(parameter.name)
    if unknown := re.search(r"unexpected keyword argument '(\w+)'", message):
        word = unknown[1]
        alike = [known for known in signature.parameters if len(known) > 2 and (known in word or word in known)]
        yield from (f"f(*a, {word}=n, **k) => f(*a, {known}=n, **k)" for known in alike)
        if word in ("axis", "dim", "dims") and "axis" not in signature.parameters:
            yield f"f(*a, {word}=n, **k) => f(*a, **k)"
    if counts := re.search(r"takes (\d+) positional arguments? but (\d+) w", message):
        first = LETTERS[: len(positional)]
        more = LETTERS[len(positional) :][: int(counts[2]) - int(counts[1])]
        keywords = [f"{parameter}={letter}" for parameter, letter in zip(by_keyword, more, strict=False)]
        if len(keywords) == len(more):
            yield f"{name}({', '.join([*first, *more])}, **k) => {name}({', '.join([*first, *keywords])}, **k)"


def _library_of(error: BaseException, message: str) -> ModuleType:
    """Return the messages of the library that raised an error.

    It is NumPy if MAX is absent, or if MAX did not raise it and its words, or the numbers around it, are NumPy's.
    """
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    by_max = any(frame.f_globals.get("__name__", "").partition(".")[0] == "max" for frame in frames)
    around = frames[-1].f_locals.values() if frames else ()
    kinds = {type(value).__module__.partition(".")[0] for value in around}  # a step may use both
    is_numpys = NUMPYS.search(message) is not None or ("numpy" in kinds and "max" not in kinds)
    return numpy_messages if "max.experimental" not in sys.modules or (not by_max and is_numpys) else messages


def _called(error: BaseException) -> tuple[str, inspect.Signature] | None:
    """Return what was called with wrong arguments, and its signature, if the error is of that kind."""
    called = re.match(r"(\w+(?:\.\w+)*?)(?:\.__init__)?\(\) (?:takes|missing|got)", str(error))
    if not isinstance(error, TypeError) or not called:
        return None
    name, *path = called[1].split(".")
    for frame, _ in reversed([*traceback.walk_tb(error.__traceback__)]):
        if name in frame.f_globals:
            try:
                return called[1], inspect.signature(functools.reduce(getattr, path, frame.f_globals[name]))
            except (AttributeError, TypeError, ValueError):  # written in C, or another thing of that name
                return None
    return None


def location_of(error: BaseException, path: str, wanted: str = "") -> Location | None:
    """Return where in the file ``path`` an exception comes from: the line, what to write instead, the calls before it.

    Args:
        error: what was raised.
        path: the learner's file.
        wanted: the exception that should have been raised, if any.
    """
    traces = [*passed(error, path)]
    innermost = traces[-1] if traces else None
    calls = [trace for trace in traces if not trace.tb_frame.f_code.co_name.startswith("<")]
    message = shortened(what_was_said(error))
    rules = [rule.format(wanted) for rule in RAISING] if wanted else []
    rules += _rules_from_signature(error, message)
    rules += messages.rewrites_for(message, _library_of(error, message).REWRITES)
    place = None
    if innermost:
        positions = [*innermost.tb_frame.f_code.co_positions()][innermost.tb_lasti // 2]
        place = None if None in positions else cast(Place, positions)
    line, instead = rewritten("".join(linecache.getlines(path)), place, rules) if rules else (0, "")
    if innermost is None:
        return Location(line, instead=instead, instead_line=line) if instead else None
    callers = [trace.tb_lineno for trace in calls if trace.tb_frame is not innermost.tb_frame][-MOST_CALLS:]
    more = [f"called from line {number}: {code_in(path, number)}" for number in reversed(callers)]
    number, code = innermost.tb_lineno, code_in(path, innermost.tb_lineno)
    if not instead and (values := _values(innermost.tb_frame, code)):
        more.append(f"where {values}")
    return Location(number, code, instead=instead, instead_line=line, more=more)


def _values(frame: FrameType, code: str) -> str:
    """Return the numbers and words that a line of code names, and the shapes of arrays: ``x is [2, 3], top_k is 5``."""
    shown = {}
    for name in re.findall(r"\w+", code):
        value = frame.f_locals.get(name, frame)
        if isinstance(value, int | float | str | None) and len(repr(value)) <= LONGEST_VALUE:
            shown[name] = repr(value)
        elif hasattr(value, "shape"):
            shown[name] = f"[{', '.join(map(str, value.shape))}]"
    return ", ".join(f"{name} is {value}" for name, value in shown.items())
