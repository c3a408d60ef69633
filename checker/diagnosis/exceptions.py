"""Put an exception of the learner's code into a sentence or two: what happened, and MAX's name for what was meant."""

from __future__ import annotations

import builtins
import functools
import inspect
import linecache
import re
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import FrameType, ModuleType, TracebackType
from typing import cast

from checker.course.languages import Location, NotWritten
from checker.course.steps import STEPS, relative_path
from checker.diagnosis import numpy_errors
from checker.diagnosis.locating import code_in, passed
from checker.diagnosis.rewriting import Place, finished, rewritten, statement_at
from checker.max_adapter import max_errors
from checker.max_adapter.max_errors import shortened, what_was_said
from checker.spelling import MUCH_ALIKE, closest_name

MOST_CALLS = 2  # that are shown
LONGEST_VALUE = 20  # characters of a value that is shown
LETTERS = "abcdefgh"  # for the arguments in a rule
NUMPYS = re.compile(
    r"numpy|tokenizers|array|data type|robabilit|'p' must|read-only|view\(\) takes|is not callable|cumsum"
    r"|\b_(?!_)\w+\(\) got"
)  # found in the text of an error of NumPy's


#: How people raise an exception other than the one that is wanted.
RAISING = (
    "assert False, m => raise {}(m)",
    "assert not c, m => if c: raise {}(m)",
    "assert c, m => if not c: raise {}(m)",
    "raise m => raise {}(m)",
)


def error_in_words(error: BaseException, path: str = "") -> str:
    """Put an exception into words: its kind, its message without MAX's internals, and advice.

    Args:
        error: what was raised.
        path: the learner's file; what is advised depends on the statement that failed there.
    """
    if isinstance(error, SystemExit):
        return "Your code ends the program (sys.exit or exit). Remove that: what comes after must run, too."
    if isinstance(error, NotWritten) and (words := _not_written(error)):
        return words
    message = shortened(what_was_said(error)) or "without a message"
    sentence, library = f"{type(error).__name__}: {message}", _library_of(error, message)
    signature, code = _signature_in_words(error), _failed_statement(error, path)
    advice = _other_order(error, path, code) or _of_the_course(error, path, code)
    advice = advice or max_errors.advice_on(message, library.ADVICE, code) or signature
    advice = advice or _meant(error, library.IMPORTS)
    if signature and "axis" not in signature and "unexpected keyword" in message:
        advice = signature  # one of the learner's own functions would refuse the library's word as well
    return f"{sentence.rstrip('.')}. {advice}" if advice else sentence


def _failed_statement(error: BaseException, path: str) -> str:
    """Return the statement of the file ``path`` that failed, in one line; nothing if it did not fail there."""
    traces = [*passed(error, path)]
    if not traces:
        return ""
    place = _place_of(traces[-1])
    return statement_at("".join(linecache.getlines(path)), place) if place else ""


def _place_of(trace: TracebackType) -> Place | None:
    """Return the place of the expression that failed, if Python knows it."""
    positions = [*trace.tb_frame.f_code.co_positions()][trace.tb_lasti // 2]
    return None if None in positions else cast(Place, positions)


def _other_order(error: BaseException, path: str, code: str) -> str:
    """Return which order of the two sides of an ``@`` fits, if that is what is wrong with it."""
    sides = re.search(r"\b([a-z]\w*) @ ([a-z]\w*)(?![\w.(\[])", code)
    traces = [*passed(error, path)]
    if not sides or not traces or not re.search("core dimension|Matrix multiplication", str(error)):
        return ""
    values = [traces[-1].tb_frame.f_locals.get(name) for name in sides.groups()]
    left, right = ([str(size) for size in getattr(value, "shape", ())] for value in values)
    fits = len(left) > 1 and len(right) > 1 and left[-1] != right[-2] and right[-1] == left[-2]
    return f"The other order fits: {sides[2]} @ {sides[1]}." if fits else ""


def _of_the_course(error: BaseException, path: str, code: str) -> str:
    """Return the signature of a function of an earlier step that did not get along with what it was given."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    innermost = max((at for at, frame in enumerate(frames) if frame.f_code.co_filename == path), default=len(frames))
    if not isinstance(error, TypeError | AttributeError) or innermost + 1 != len(frames) - 1:
        return ""
    called = frames[innermost + 1]
    name = called.f_code.co_qualname.removesuffix(".__init__")
    if not called.f_globals.get("__name__", "").startswith("solutions.") or f"{name}(" not in code:
        return ""
    function = called.f_globals.get(name)
    return f"The signature is {name}{_bare(inspect.signature(function))}." if callable(function) else ""


def _signature_in_words(error: BaseException) -> str:
    """Return the signature of what was called with wrong arguments, if the error is of that kind."""
    called = _called(error)
    return f"The signature is {called[0]}{_bare(called[1])}." if called else ""


def _bare(signature: inspect.Signature) -> inspect.Signature:
    """Return a signature without annotations."""
    bare = [parameter.replace(annotation=parameter.empty) for parameter in signature.parameters.values()]
    return inspect.Signature(bare)


def _meant(error: BaseException, imports: Mapping[str, str]) -> str:
    """Return what a name that is not there may have been meant to be: an import, or a name much like it."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    name = getattr(error, "name", None)
    if not name or not frames:
        return ""
    if isinstance(error, AttributeError):
        if callable(frames[-1].f_globals.get(name)):
            return f"{name} is a function of its own: call it without anything in front."
        names = [attribute for attribute in dir(error.obj) if not attribute.startswith("_")]
    elif isinstance(error, NameError) and not isinstance(error, UnboundLocalError):
        around, inside = frames[-1].f_globals, frames[-1].f_locals
        if hasattr(inside.get("self"), name):
            return f"Did you mean self.{name}?"
        words = {other: getattr(value, "__name__", "") for other, value in around.items()}
        if alias := next((other for other, word in words.items() if word == name), ""):
            return f"The file imports it as {alias}."
        if name in imports:
            return f"The file does not import it: write `{imports[name]}` at the top."
        names = [*inside, *(other for other in around if not other.startswith("__")), *dir(builtins)]
    else:
        return ""
    alike = closest_name(name, names, MUCH_ALIKE)
    return f"Did you mean {alike}?" if alike else ""


def _not_written(error: NotWritten) -> str:
    """Return in words what is not written yet: a method that MAX calls, or a function of a step that was imported."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    innermost = frames[-1]
    name, file = innermost.f_code.co_name, Path(innermost.f_code.co_filename)
    if name == "forward" and innermost.f_globals.get("__name__", "").startswith("max."):
        kind = type(innermost.f_locals["self"])
        alike = closest_name(name, [method for method in vars(kind) if method != name])
        meant = f" You have {alike}; call it forward." if alike else ""
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
    return numpy_errors if "max.experimental" not in sys.modules or (not by_max and is_numpys) else max_errors


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
    library = _library_of(error, message)
    rules += max_errors.rewrites_for(message, library.REWRITES)
    place = _place_of(innermost) if innermost else None
    line, instead = rewritten("".join(linecache.getlines(path)), place, rules) if rules else (0, "")
    instead = finished(instead, _rules_for_the_rest(error, instead, library.REWRITES))
    if innermost is None:
        return Location(line, instead=instead, instead_line=line) if instead else None
    number, code = innermost.tb_lineno, code_in(path, innermost.tb_lineno)
    callers = [trace.tb_lineno for trace in calls if trace.tb_lineno != number][-MOST_CALLS:]  # a list's is no other
    more = [f"called from line {caller}: {code_in(path, caller)}" for caller in reversed(callers)]
    if not instead and (values := _values(innermost.tb_frame, code)):
        more.append(f"where {values}")
    return Location(number, code, instead=instead, instead_line=line, more=more)


def _rules_for_the_rest(error: BaseException, instead: str, rewrites: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the rules for what else would fail in a line to write instead: keepdim, and other missing methods."""
    rules = [rule for rule in max_errors.rewrites_for("keyword argument 'keepdim'", rewrites) if "keepdim=" in rule]
    if isinstance(error, AttributeError) and error.obj is not None:
        called = re.findall(r"(\w*)\.(\w+)\(", instead)
        names = [name for owner, name in called if owner not in max_errors.LIBRARIES and not hasattr(error.obj, name)]
        rules += [rule for name in names for rule in max_errors.rewrites_for(f"attribute '{name}'", rewrites)]
    return rules


def _values(frame: FrameType, code: str) -> str:
    """Return the numbers and words that a line of code names, and the shapes of arrays: ``x is [2, 3], top_k is 5``."""
    shown = {}
    for name in re.findall(r"\w+", code):
        value = frame.f_locals.get(name, frame)
        if isinstance(value, int | float | str | None) and len(repr(value)) <= LONGEST_VALUE:
            shown[name] = repr(value)
        elif hasattr(value, "shape") and not isinstance(value, type | ModuleType):  # NumPy has a function called so
            shown[name] = f"[{', '.join(map(str, value.shape))}]"
    return ", ".join(f"{name} is {value}" for name, value in shown.items())
