"""Describe an exception of the learner's code in a sentence or two: what happened, and what to do about it.

Each of the :data:`ADVISERS` knows one kind of mistake. They are asked in order, and the first advice is taken.
"""

from __future__ import annotations

import builtins
import inspect
import linecache
import re
import sys
import traceback
from collections.abc import Callable, Iterable
from functools import cached_property
from pathlib import Path
from types import FrameType, ModuleType
from typing import NamedTuple, cast

from checker.course.steps import STEPS, relative_path
from checker.diagnosis import numpy_errors
from checker.diagnosis.frames import traces_in
from checker.diagnosis.outside_blanks import NOT_IMPORTED
from checker.diagnosis.rewriting import Span, statement_at
from checker.max_adapter import max_errors
from checker.max_adapter.max_errors import message_of_error, shorten
from checker.outcomes import wrong_call_in
from checker.spelling import MUCH_ALIKE, closest_name

ENDS_THE_PROGRAM = "Your code ends the program (sys.exit or exit). Remove that: what comes after must run, too."
NUMPYS = re.compile(
    r"numpy|tokenizers|array|data type|robabilit|'p' must|read-only|view\(\) takes|is not callable|cumsum"
    r"|\b_(?!_)\w+\(\) got"
)  # found in the text of an error of NumPy's
UNKNOWN_KEYWORD = re.compile(r"unexpected keyword argument '(\w+)'")


def error_in_words(error: BaseException, path: str) -> str:
    """Return the description of an exception as one text, which may end without a period; see :func:`describe`."""
    happened, advice = describe(error, path)
    return f"{happened.rstrip('.')}. {advice}" if advice else happened


def describe(error: BaseException, path: str) -> tuple[str, str]:
    """Return what an exception says, and advice or nothing, after the statement in the file ``path`` that failed."""
    if isinstance(error, SystemExit):
        return ENDS_THE_PROGRAM, ""
    caught = CaughtError(error, path)
    if isinstance(error, NotImplementedError) and (words := _not_written(caught)):
        return words, ""
    happened = f"{type(error).__name__}: {caught.message or 'without a message'}"
    return happened, next((advice for adviser in ADVISERS if (advice := adviser(caught))), "")


def _not_written(caught: CaughtError) -> str:
    """Return a sentence on what is not written yet: a method that MAX calls, or a function of an imported step."""
    innermost = caught.frames[-1]
    name, file = innermost.f_code.co_name, Path(innermost.f_code.co_filename)
    if name == "forward" and innermost.f_globals.get("__name__", "").startswith("max."):
        kind = type(innermost.f_locals["self"])
        alike = closest_name(name, [method for method in vars(kind) if method != name])
        hint = f" You have {alike}; call it forward." if alike else ""
        return f"{kind.__name__} has no forward, the method that MAX calls.{hint}"
    if str(caught.error) or file.parent != STEPS:
        return ""
    words = f"{relative_path(file)}: {name} is not written yet."
    paths = [Path(frame.f_code.co_filename) for frame in caught.frames]
    graded_file = next(path for path in paths if path.parent == STEPS)
    if file == graded_file:
        return words
    return f"{words} Write it first, or import from solutions.{file.stem.replace('step', 'solution')} here."


def comes_from_max(error: BaseException, path: str) -> bool:
    """Return whether MAX has raised an error, or lacks a name that the file ``path`` uses and another MAX may have."""
    return any(str(module).partition(".")[0] == "max" for module in _modules_to_blame(error, path))


def _modules_to_blame(error: BaseException, path: str) -> list[str]:
    """Return the modules that lack a name, or that the file ``path`` has called, itself or by way of others."""
    if isinstance(error, AttributeError):
        return [getattr(error.obj, "__name__" if isinstance(error.obj, ModuleType) else "__module__", "")]
    if isinstance(error, ImportError):
        return [error.name or ""]
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    last_of_file = max((at for at, frame in enumerate(frames) if frame.f_code.co_filename == path), default=-1)
    frames_called = frames[last_of_file + 1 :]
    if (call := wrong_call_in(error)) and not frames_called:
        name = call[0].partition(".")[0]  # what is none of the file's names is an attribute, of MAX's most often
        return [getattr(frames[-1].f_globals.get(name), "__module__", "max")]
    return [frame.f_globals.get("__name__", "") for frame in frames_called]


class WrongCall(NamedTuple):
    """A call with arguments that the function does not take; one may be an unknown keyword."""

    name: str
    signature: inspect.Signature
    unknown_keyword: str = ""

    def sentence(self) -> str:
        """Return a sentence with the signature of the function, without annotations."""
        bare = [parameter.replace(annotation=parameter.empty) for parameter in self.signature.parameters.values()]
        return f"The signature is {self.name}{inspect.Signature(bare)}."


class CaughtError:
    """An exception of the code in the learner's file ``path``, with the facts from which advice is made."""

    def __init__(self, error: BaseException, path: str) -> None:
        self.error, self.path = error, path
        self.message = shorten(message_of_error(error))  # without MAX's internals
        self.frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]  # the innermost last
        self.traces = [*traces_in(error, path)]  # those of the frames that are in the file
        self.library = _library_of(self.frames, self.message)
        self.wrong_call = _wrong_call(error, self.frames)

    @cached_property
    def span(self) -> Span | None:
        """The lines and columns of the expression that failed, if it is in the learner's file and known to Python."""
        if not self.traces:
            return None
        innermost = self.traces[-1]
        positions = [*innermost.tb_frame.f_code.co_positions()]  # of each instruction, which has two bytes
        span = positions[innermost.tb_lasti // 2]
        return None if None in span else cast(Span, span)

    @cached_property
    def statement(self) -> str:
        """The statement that failed, in one line; nothing if it is not known."""
        return statement_at("".join(linecache.getlines(self.path)), self.span) if self.span else ""


def _library_of(frames: list[FrameType], message: str) -> ModuleType:
    """Return the module with the messages of the library that raised an error.

    The library is NumPy if MAX is absent, or if MAX did not raise the error, and the words, or the values around it,
    are NumPy's.
    """
    if "max.experimental" not in sys.modules:
        return numpy_errors
    if any(frame.f_globals.get("__name__", "").partition(".")[0] == "max" for frame in frames):
        return max_errors
    around = frames[-1].f_locals.values() if frames else ()
    libraries = {type(value).__module__.partition(".")[0] for value in around}  # a step may use both
    if NUMPYS.search(message) or ("numpy" in libraries and "max" not in libraries):
        return numpy_errors
    return max_errors


def _wrong_call(error: BaseException, frames: list[FrameType]) -> WrongCall | None:
    """Return the call with wrong arguments, if that is the error and the function can be found; else None."""
    call = wrong_call_in(error)
    if call is None:
        return None
    name, *path = call[0].split(".")
    modules = [frame.f_globals for frame in reversed(frames) if name in frame.f_globals]
    if not modules:
        return None
    function = modules[0][name]
    try:
        for attribute in path:
            function = getattr(function, attribute)
        signature = inspect.signature(function)
    except (AttributeError, TypeError, ValueError):  # written in C, or another thing of that name
        return None
    keyword = UNKNOWN_KEYWORD.search(str(error))
    return WrongCall(call[0], signature, keyword[1] if keyword else "")


def advise_on_unknown_keyword(caught: CaughtError) -> str:
    """Advise on a keyword that is unknown to a function without an axis: it is no other word for axis."""
    call = caught.wrong_call
    return call.sentence() if call and call.unknown_keyword and "axis" not in call.signature.parameters else ""


def advise_on_order_of_factors(caught: CaughtError) -> str:
    """Advise on a matrix product whose factors would fit in the other order."""
    sides = re.search(r"\b([a-z]\w*) @ ([a-z]\w*)(?![\w.(\[])", caught.statement)
    if not sides or not caught.traces or not re.search(max_errors.PRODUCT, str(caught.error)):
        return ""
    values = [caught.traces[-1].tb_frame.f_locals.get(name) for name in sides.groups()]
    left, right = ([str(size) for size in getattr(value, "shape", ())] for value in values)
    fits = len(left) > 1 and len(right) > 1 and left[-1] != right[-2] and right[-1] == left[-2]
    return f"The other order fits: {sides[2]} @ {sides[1]}." if fits else ""


def advise_on_call_of_earlier_step(caught: CaughtError) -> str:
    """Advise on a call of an earlier step's function, if the error was raised in that function itself."""
    if not isinstance(caught.error, TypeError | AttributeError) or len(caught.frames) < 2:
        return ""
    caller, callee = caught.frames[-2:]
    if caller.f_code.co_filename != caught.path or callee.f_code.co_filename == caught.path:
        return ""
    name = callee.f_code.co_qualname.removesuffix(".__init__")
    if not callee.f_globals.get("__name__", "").startswith("solutions.") or f"{name}(" not in caught.statement:
        return ""
    function = callee.f_globals.get(name)
    return WrongCall(name, inspect.signature(function)).sentence() if callable(function) else ""


def advise_on_known_message(caught: CaughtError) -> str:
    """Advise on a message of MAX or NumPy that people are known to meet."""
    return max_errors.advice_on(caught.message, caught.library.ADVICE, caught.statement)


def advise_on_wrong_call(caught: CaughtError) -> str:
    """Advise on a call with wrong arguments."""
    return caught.wrong_call.sentence() if caught.wrong_call else ""


def advise_on_missing_attribute(caught: CaughtError) -> str:
    """Advise on an attribute that is not there: it may be a function, or misspelled."""
    error = caught.error
    if not isinstance(error, AttributeError) or not error.name or not caught.frames:
        return ""
    if callable(caught.frames[-1].f_globals.get(error.name)):
        return f"{error.name} is a function of its own: call it without anything in front."
    return _did_you_mean(error.name, [name for name in dir(error.obj) if not name.startswith("_")])


def advise_on_missing_name(caught: CaughtError) -> str:
    """Advise on a name that is not there: it may be an attribute, not imported, or misspelled."""
    error = caught.error
    if not isinstance(error, NameError) or isinstance(error, UnboundLocalError) or not error.name or not caught.frames:
        return ""
    name, around, inside = error.name, caught.frames[-1].f_globals, caught.frames[-1].f_locals
    if hasattr(inside.get("self"), name):
        return f"Did you mean self.{name}?"
    for alias, value in around.items():
        if getattr(value, "__name__", "") == name:
            return f"The file imports it as {alias}."
    if name in caught.library.IMPORTS:
        return NOT_IMPORTED.format(caught.library.IMPORTS[name])
    return _did_you_mean(name, [*inside, *(other for other in around if not other.startswith("__")), *dir(builtins)])


def _did_you_mean(name: str, names: Iterable[str]) -> str:
    """Return a question with the name that is meant, if one of the names is much alike; else nothing."""
    closest = closest_name(name, names, MUCH_ALIKE)
    return f"Did you mean {closest}?" if closest else ""


#: Each returns what to do about an error, or nothing if the error is not of the kind that it knows.
ADVISERS: tuple[Callable[[CaughtError], str], ...] = (
    advise_on_unknown_keyword,
    advise_on_order_of_factors,
    advise_on_call_of_earlier_step,
    advise_on_known_message,
    advise_on_wrong_call,
    advise_on_missing_attribute,
    advise_on_missing_name,
)
