"""What one claim says of one subject, and when two claims say the same.

A claim observes numbers, of which a sketch is kept, or words, or an error.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field

from checker.course.reading import Location
from checker.events import Mark
from checker.numeric.comparison import OTHER_ORDER, Comparison
from checker.numeric.sketches import Sketch

SIZE = re.compile(r"\[[^\]]*\]|\d+")  # in the message of an error
OPENING = re.compile(r"^(?:the|what)(?= )")  # of a sentence that is printed behind a colon, too
WRONG_CALL = re.compile(r"(?:\w+\.)*(\w+)\(\) (?:takes|got|missing)")  # Python's words for it


@dataclass(frozen=True)
class RefusalWords:
    """The words of a refusal."""

    words: str


@dataclass(frozen=True)
class RaisedError:
    """An error.

    Attributes:
        kind: the name of its class.
        text: its message.
        missing_name: the name or attribute that is not there, if that is the error.
        function: the one that was called with arguments which it does not take, if that is the error.
    """

    kind: str
    text: str
    missing_name: str = field(default="", compare=False)
    function: str = field(default="", compare=False)

    @property
    def words(self) -> str:
        """The error as Python prints it."""
        return f"{self.kind}: {self.text}"

    @property
    def without_sizes(self) -> tuple[str, str]:
        """The error but for the sizes in its message: each way of writing a file has its own."""
        return self.kind, SIZE.sub("", self.text)


def printable(error: BaseException) -> BaseException:
    """Return an error; if its ``__str__`` raises another, in its place one of the same name, from the same lines."""
    try:
        str(error)
    except Exception as of_str:
        same_name = type(type(error).__name__, (Exception,), {})
        words = f"its __str__ raises {type(of_str).__name__}, so its message cannot be shown"
        return same_name(words).with_traceback(error.__traceback__)
    return error


def raised_error(error: BaseException) -> RaisedError:
    """Return what is kept of an error."""
    name = error.name if isinstance(error, NameError | AttributeError) else None
    call = WRONG_CALL.match(str(error)) if isinstance(error, TypeError) else None
    return RaisedError(type(error).__name__, str(error), name or "", call[1] if call else "")


Observation = Sketch | RefusalWords | RaisedError


@dataclass(frozen=True)
class Outcome:
    """What one claim said of one subject.

    ``mark`` is ``pass``, ``fail``, ``waits`` (for a blank that is not written) or ``traced`` (all but compiled).
    ``observation`` is what is compared to find a mistake: what did not fit, what was refused, or the error.
    ``comparison`` is what ``--show`` shows. ``measured`` says that the sentence tells what the code computed, not which
    error it raised; ``foreseen``, that only the compiler could find it, and the sentence says what to do.
    ``advice`` is what to do about an error, with which the sentence ends; ``of_max`` says that MAX has raised it.
    """

    mark: Mark
    sentence: str = ""
    _: KW_ONLY
    location: Location | None = None
    observation: Observation | None = None
    about: str = ""
    comparison: Comparison | None = None
    measured: bool = False
    foreseen: bool = False
    advice: str = ""
    of_max: bool = False

    @property
    def is_error(self) -> bool:
        """Whether the code raised an error, instead of computing something else than it should."""
        return isinstance(self.observation, RaisedError)

    @property
    def words(self) -> str:
        """What was refused or raised, in words; nothing of numbers."""
        return self.observation.words if isinstance(self.observation, RefusalWords | RaisedError) else ""

    @property
    def error_key(self) -> str:
        """Of an error, its line, kind and words, but for the sizes in them; nothing if no line of the file is known."""
        if not (isinstance(self.observation, RaisedError) and self.location):
            return ""
        return " ".join([f"line {self.location.line}:", *self.observation.without_sizes])

    @property
    def figures(self) -> str:
        """What was measured, as a sentence behind a mistake's name, which says more than that the order is wrong."""
        return OPENING.sub(lambda word: word[0].title(), self.sentence.removeprefix(OTHER_ORDER).strip())

    @property
    def essence(self) -> object:
        """What two outcomes must have in common to be the same."""
        return self.observation.without_sizes if isinstance(self.observation, RaisedError) else self.observation


Outcomes = Mapping[str, Outcome]  # claim -> outcome


def failed(outcomes: Outcomes) -> dict[str, Outcome]:
    """Return the outcomes of the claims that failed."""
    return {claim: outcome for claim, outcome in outcomes.items() if outcome.mark == Mark.FAIL}


def outcomes_about(label: str, outcomes: Outcomes) -> Outcomes:
    """Return the outcomes of the claims about one function."""
    return {claim: outcome for claim, outcome in outcomes.items() if outcome.about == label}


def all_pass(outcomes: Outcomes) -> bool:
    """Return whether there are claims, and all hold."""
    return {outcome.mark for outcome in outcomes.values()} == {Mark.PASS}


def agrees(outcome: Outcome | None, other: Outcome | None) -> bool:
    """Return whether two outcomes of a claim are the same."""
    if outcome is None or other is None:
        return False
    return (outcome.mark, outcome.essence) == (other.mark, other.essence)
