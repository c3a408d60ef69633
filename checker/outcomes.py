"""Outcomes: what one claim said of one subject, and when two outcomes are the same.

A claim observes numbers, of which a sketch is kept, or a text, or an error.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import KW_ONLY, dataclass, field

from checker.course.reading import Location
from checker.numeric.comparison import OTHER_ORDER, Comparison
from checker.numeric.sketches import Sketch
from checker.protocol.events import Reason
from checker.stages import Mark

SIZE = re.compile(r"\[[^\]]*\]|\d+")  # in the message of an error
OPENING = re.compile(r"^(?:the|what)(?= )")  # of a sentence that is also printed behind a colon
WRONG_CALL = re.compile(r"(\w+(?:\.\w+)*?)(?P<init>\.__init__)?\(\) (?:takes|got|missing)")  # Python's words for it


@dataclass(frozen=True)
class ObservedText:
    """What a claim refused, as text: a value, or words of the claim for it."""

    text: str


@dataclass(frozen=True)
class RaisedError:
    """An error that was raised.

    Attributes:
        kind: the name of its class.
        text: its message.
        missing_name: the name or attribute that is missing, if that is the error.
        function: the function that was called with arguments which it does not take, if that is the error.
    """

    kind: str
    text: str
    missing_name: str = field(default="", compare=False)
    function: str = field(default="", compare=False)

    @property
    def as_printed(self) -> str:
        """The error as Python prints it."""
        return f"{self.kind}: {self.text}"

    @property
    def without_sizes(self) -> tuple[str, str]:
        """The error without the sizes in its message, which differ between two ways of writing the same mistake."""
        return self.kind, SIZE.sub("", self.text)


def with_printable_message(error: BaseException) -> BaseException:
    """Return an error as it is; if its ``__str__`` raises, return one with the same name and traceback that prints."""
    try:
        str(error)
    except Exception as of_str:
        same_name = type(type(error).__name__, (Exception,), {})
        words = f"its __str__ raises {type(of_str).__name__}, so its message cannot be shown"
        return same_name(words).with_traceback(error.__traceback__)
    return error


def wrong_call_in(error: BaseException) -> tuple[str, str] | None:
    """Return the function that was called with arguments which it does not take, if that is the error; else None.

    The first name is qualified, and of a class if its ``__init__`` was called; the second is the function's own.
    """
    call = WRONG_CALL.match(str(error)) if isinstance(error, TypeError) else None
    return (call[1], "__init__" if call["init"] else call[1].rpartition(".")[2]) if call else None


def raised_error(error: BaseException) -> RaisedError:
    """Return an error as it is kept in an outcome."""
    name = error.name if isinstance(error, NameError | AttributeError) else None
    _, function = wrong_call_in(error) or ("", "")
    return RaisedError(type(error).__name__, str(error), name or "", function)


Observation = Sketch | ObservedText | RaisedError


@dataclass(frozen=True)
class Outcome:
    """What one claim said of one subject.

    Attributes:
        mark: ``pass``, ``fail``, ``waits`` (for a blank that is not written) or ``traced`` (all but compiled).
        reason: why the claim does not pass.
        location: the place in the file that the reason is about.
        observation: the numbers that did not fit, a text, or the error; mistakes are told apart by it.
        about: the label of the blank that the claim is about.
        comparison: the numbers that ``--show`` shows.
        is_about_values: whether the reason tells what the code computed, not which error it raised.
        foreseen: whether only the compiler could find the failure, and the reason says what to do.
        comes_from_max: whether MAX has raised the error, or lacks something that the file asks for.
    """

    mark: Mark
    reason: str = ""
    _: KW_ONLY
    location: Location | None = None
    observation: Observation | None = None
    about: str = ""
    comparison: Comparison | None = None
    is_about_values: bool = False
    foreseen: bool = False
    comes_from_max: bool = False

    @property
    def why(self) -> Reason:
        """The reason, as others hand it on."""
        has_numbers = self.comparison is not None
        return Reason(self.reason, self.location, has_numbers, self._error_key, self.comes_from_max)

    @property
    def is_error(self) -> bool:
        """Whether the code raised an error; otherwise, what it computed is wrong."""
        return isinstance(self.observation, RaisedError)

    @property
    def observed_text(self) -> str:
        """The text that was observed, or the error as Python prints it; nothing if numbers were observed."""
        if isinstance(self.observation, ObservedText):
            return self.observation.text
        return self.observation.as_printed if isinstance(self.observation, RaisedError) else ""

    @property
    def _error_key(self) -> str:
        """The line, kind and words of an error, without sizes; nothing if it is no failure, or has no line."""
        if not (self.mark is Mark.FAIL and isinstance(self.observation, RaisedError) and self.location):
            return ""
        return " ".join([f"line {self.location.line}:", *self.observation.without_sizes])

    @property
    def figures(self) -> str:
        """The sentence as it stands behind a mistake's name: without the words that the order is wrong."""
        return OPENING.sub(lambda word: word[0].title(), self.reason.removeprefix(OTHER_ORDER).strip())

    @property
    def essence(self) -> object:
        """What two outcomes must have in common to be the same."""
        return self.observation.without_sizes if isinstance(self.observation, RaisedError) else self.observation


Outcomes = Mapping[str, Outcome]  # claim -> outcome


def words_of_wait(names: Collection[str], one: str, several: str) -> str:
    """Return the words of a claim that waits until what is named ``works``, say, or until ``several`` work."""
    return f"waits until {' and '.join(names)} {several if len(names) > 1 else one}"


def failed_outcomes(outcomes: Outcomes) -> dict[str, Outcome]:
    """Return the outcomes of the claims that failed."""
    return {claim: outcome for claim, outcome in outcomes.items() if outcome.mark is Mark.FAIL}


def outcomes_about(label: str, outcomes: Outcomes) -> Outcomes:
    """Return the outcomes of the claims about one function."""
    return {claim: outcome for claim, outcome in outcomes.items() if outcome.about == label}


def all_pass(outcomes: Outcomes) -> bool:
    """Return whether there are outcomes, and all are passes."""
    return {outcome.mark for outcome in outcomes.values()} == {Mark.PASS}


def agrees(outcome: Outcome | None, other: Outcome | None) -> bool:
    """Return whether two outcomes of a claim are the same."""
    if outcome is None or other is None:
        return False
    return (outcome.mark, outcome.essence) == (other.mark, other.essence)
