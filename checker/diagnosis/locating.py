"""Where in a learner's file an exception comes from, and the line to write instead."""

from __future__ import annotations

import inspect
import linecache
import re
from collections.abc import Iterator, Mapping, Sequence
from types import FrameType, ModuleType

from checker.course.reading import Location
from checker.diagnosis.exceptions import CaughtError
from checker.diagnosis.frames import code_in
from checker.diagnosis.rewriting import finished, rewritten
from checker.max_adapter import max_errors
from checker.numeric.comparison import in_brackets

MOST_CALLS = 2  # that are shown
LONGEST_VALUE = 20  # characters of a value that is shown
LETTERS = "abcdefgh"  # for the arguments in a rule

#: How people raise an exception other than the one that is wanted.
RAISING = (
    "assert False, m => raise {}(m)",
    "assert not c, m => if c: raise {}(m)",
    "assert c, m => if not c: raise {}(m)",
    "raise m => raise {}(m)",
)


def location_of(error: BaseException, path: str, wanted: str = "") -> Location | None:
    """Return where in the file ``path`` an exception comes from: the line, what to write instead, the calls before it.

    If another one should have been raised, it is ``wanted``.
    """
    caught = CaughtError(error, path)
    rules = [rule.format(wanted) for rule in RAISING] if wanted else []
    rules += _rules_from_signature(caught)
    rules += max_errors.rewrites_for(caught.message, caught.library.REWRITES)
    source = "".join(linecache.getlines(path))
    line, instead = rewritten(source, caught.span, rules) if rules else (0, "")
    instead = finished(instead, _rules_for_the_rest(error, instead, caught.library.REWRITES))
    if not caught.traces:
        return Location(line, instead=instead, instead_line=line) if instead else None
    innermost = caught.traces[-1]
    number, code = innermost.tb_lineno, code_in(path, innermost.tb_lineno)
    calls = [trace for trace in caught.traces if not trace.tb_frame.f_code.co_name.startswith("<")]
    callers = [trace.tb_lineno for trace in calls if trace.tb_lineno != number][-MOST_CALLS:]  # a list's is no other
    more = [f"called from line {caller}: {code_in(path, caller)}" for caller in reversed(callers)]
    if not instead and (values := _values(innermost.tb_frame, code)):
        more.append(f"where {values}")
    return Location(number, code, instead=instead, instead_line=line, more=more)


def _rules_from_signature(caught: CaughtError) -> Iterator[str]:
    """Yield rules that correct a call with wrong arguments, from the signature of what was called."""
    call = caught.wrong_call
    if call is None:
        return
    parameters = call.signature.parameters.values()
    by_position = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    positional = [parameter for parameter in parameters if parameter.kind in by_position]
    by_keyword = [parameter.name for parameter in parameters if parameter.kind == parameter.KEYWORD_ONLY]
    if word := call.unknown_keyword:
        alike = [name for name in call.signature.parameters if len(name) > 2 and (name in word or word in name)]
        yield from (f"f(*a, {word}=n, **k) => f(*a, {name}=n, **k)" for name in alike)
        if word in ("axis", "dim", "dims") and "axis" not in call.signature.parameters:
            yield f"f(*a, {word}=n, **k) => f(*a, **k)"
    if counts := re.search(r"takes (\d+) positional arguments? but (\d+) w", caught.message):
        first = LETTERS[: len(positional)]
        more = LETTERS[len(positional) :][: int(counts[2]) - int(counts[1])]
        keywords = [f"{parameter}={letter}" for parameter, letter in zip(by_keyword, more, strict=False)]
        if len(keywords) == len(more):
            name, arguments = call.name, ", ".join([*first, *more])
            yield f"{name}({arguments}, **k) => {name}({', '.join([*first, *keywords])}, **k)"


def _rules_for_the_rest(error: BaseException, instead: str, rewrites: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the rules for what else would fail in a line to write instead: keepdim, and other missing methods."""
    rules = [rule for rule in max_errors.rewrites_for("keyword argument 'keepdim'", rewrites) if "keepdim=" in rule]
    if isinstance(error, AttributeError) and error.obj is not None:
        method_calls = re.findall(r"(\w*)\.(\w+)\(", instead)
        names = [
            name for owner, name in method_calls if owner not in max_errors.LIBRARIES and not hasattr(error.obj, name)
        ]
        rules += [rule for name in names for rule in max_errors.rewrites_for(f"attribute '{name}'", rewrites)]
    return rules


def _values(frame: FrameType, code: str) -> str:
    """Return the numbers and words that a line of code names, and the shapes of arrays: ``x is [2, 3], top_k is 5``."""
    values, variables = {}, frame.f_locals
    for name in re.findall(r"\w+", code):
        if name not in variables:
            continue
        value = variables[name]
        if isinstance(value, int | float | str | None) and len(repr(value)) <= LONGEST_VALUE:
            values[name] = repr(value)
        elif hasattr(value, "shape") and not isinstance(value, type | ModuleType):  # NumPy has a function called so
            values[name] = in_brackets(value.shape)
    return ", ".join(f"{name} is {value}" for name, value in values.items())
