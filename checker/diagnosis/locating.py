"""Where in a learner's file an exception comes from, and the line to write instead."""

from __future__ import annotations

import inspect
import linecache
import re
from dataclasses import replace
from types import FrameType, ModuleType

from checker.course.reading import Location
from checker.diagnosis.exceptions import CaughtError, WrongCall, comes_from_max, error_in_words
from checker.diagnosis.frames import code_in
from checker.diagnosis.rewriting import Rewrite, rewrite_by_first_rule, rewrite_what_is_left
from checker.max_adapter import max_errors
from checker.numeric.comparison import in_brackets
from checker.protocol.events import Reason

MOST_CALLS = 2  # calls that are shown
LONGEST_VALUE = 20  # characters of a value that is shown
LETTERS = "abcdefgh"  # for the arguments in a rule

#: How people raise another exception than the wanted one, as rules.
RAISING = (
    "assert False, m => raise {}(m)",
    "assert not c, m => if c: raise {}(m)",
    "assert c, m => if not c: raise {}(m)",
    "raise m => raise {}(m)",
)


def reason_of(error: BaseException, path: str) -> Reason:
    """Return what an exception says, where in the file ``path`` it comes from, and whether MAX is to blame."""
    return Reason(error_in_words(error, path), location_of(error, path), comes_from_max=comes_from_max(error, path))


def location_of(error: BaseException, path: str, wanted: str = "") -> Location | None:
    """Return the place in the file ``path`` that an exception comes from: line, code to write instead, calls.

    ``wanted`` is the exception that should have been raised, if it is another one.
    """
    caught = CaughtError(error, path)
    rewrite = _line_to_write(caught, wanted)
    if not caught.traces:
        return Location(rewrite.line, instead=rewrite.statement, instead_line=rewrite.line) if rewrite else None
    innermost = caught.traces[-1]
    number, code = innermost.tb_lineno, code_in(path, innermost.tb_lineno)
    more = _calls_before(caught)
    if rewrite:
        return Location(number, code, instead=rewrite.statement, instead_line=rewrite.line, more=more)
    if values := _values_in_words(innermost.tb_frame, code):
        more.append(f"where {values}")
    return Location(number, code, more=more)


def _line_to_write(caught: CaughtError, wanted: str) -> Rewrite | None:
    """Return a line and the code to write in its place; None if no rule fits."""
    rules = [rule.format(wanted) for rule in RAISING] if wanted else []
    rules += _rules_from_signature(caught)
    rules += max_errors.rewrites_for(caught.message, caught.library.REWRITES)
    is_in_condition = re.search(max_errors.CONDITION, caught.statement)
    if is_in_condition and re.search(max_errors.NO_NUMBERS_YET, caught.message):
        return None  # a condition needs numbers, with .item() or without
    source = "".join(linecache.getlines(caught.path))
    rewrite = rewrite_by_first_rule(source, caught.span, rules) if rules and caught.span else None
    if rewrite is None and (rules := max_errors.rewrites_for(caught.message, max_errors.REWRITES_ANYWHERE)):
        rewrite = rewrite_by_first_rule(source, None, rules)
    if rewrite is None:
        return None
    rules_for_the_rest = _rules_for_the_rest(caught, rewrite.statement)
    return replace(rewrite, statement=rewrite_what_is_left(rewrite.statement, rules_for_the_rest))


def _calls_before(caught: CaughtError) -> list[str]:
    """Return the lines of the file that led by calls to the one that raised the error, the last call first.

    A comprehension is no call.
    """
    calls = [trace for trace in caught.traces if not trace.tb_frame.f_code.co_name.startswith("<")]
    lines = [trace.tb_lineno for trace in calls if trace.tb_lineno != caught.traces[-1].tb_lineno]
    return [f"called from line {line}: {code_in(caught.path, line)}" for line in reversed(lines[-MOST_CALLS:])]


def _rules_from_signature(caught: CaughtError) -> list[str]:
    """Return rules that correct a call with wrong arguments, made from the signature of the function."""
    call = caught.wrong_call
    if call is None:
        return []
    rules = list[str]()
    if call.unknown_keyword:
        rules += _rules_for_keyword(call)
    if counts := re.search(r"takes (\d+) positional arguments? but (\d+) w", caught.message):
        rules += _rules_for_too_many(call, int(counts[2]) - int(counts[1]))
    return rules


def _rules_for_keyword(call: WrongCall) -> list[str]:
    """Return rules that write a keyword as the signature has it, or leave out an axis that a function has not."""
    word, names = call.unknown_keyword, call.signature.parameters
    alike = [name for name in names if len(name) > 2 and (name in word or word in name)]
    rules = [f"f(*a, {word}=n, **k) => f(*a, {name}=n, **k)" for name in alike]
    if word in ("axis", "dim", "dims") and "axis" not in names:
        rules.append(f"f(*a, {word}=n, **k) => f(*a, **k)")
    return rules


def _rules_for_too_many(call: WrongCall, count: int) -> list[str]:
    """Return rules that pass the last ``count`` arguments by keyword, if the signature has as many keywords."""
    parameters = call.signature.parameters.values()
    by_position = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    positional = [parameter for parameter in parameters if parameter.kind in by_position]
    by_keyword = [parameter.name for parameter in parameters if parameter.kind == parameter.KEYWORD_ONLY]
    first = LETTERS[: len(positional)]
    more = LETTERS[len(positional) :][:count]
    keywords = [f"{name}={letter}" for name, letter in zip(by_keyword, more, strict=False)]
    if len(keywords) < len(more):
        return []
    arguments, corrected = ", ".join([*first, *more]), ", ".join([*first, *keywords])
    return [f"{call.name}({arguments}, **k) => {call.name}({corrected}, **k)"]


def _rules_for_the_rest(caught: CaughtError, instead: str) -> list[str]:
    """Return rules for the rest of a line to write instead: for keepdim, and for other missing methods."""
    rules, error = [*caught.library.KEEPDIM_RULES], caught.error
    if isinstance(error, AttributeError) and error.obj is not None:
        method_calls = re.findall(r"(\w*)\.(\w+)\(", instead)
        names = [
            name for owner, name in method_calls if owner not in max_errors.LIBRARIES and not hasattr(error.obj, name)
        ]
        rules += [rule for name in names for rule in max_errors.rules_for_missing(name, caught.library.REWRITES)]
    return rules


def _values_in_words(frame: FrameType, code: str) -> str:
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
