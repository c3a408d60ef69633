"""The events of a check: those that its child says, and those that its parent adds.

The parent gives the child one job (``job``); the child answers with events (``event_codec`` writes and reads them).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from checker.compiling import Compiler
from checker.course.opening import OpenedFile
from checker.course.reading import Location
from checker.course.source import Source
from checker.stages import Mark, Stage


class Activity(StrEnum):
    """What a child is doing."""

    STARTING = "starting"
    COMPUTING = "computing"
    COMPILING = "compiling"


class Limit(StrEnum):
    """A limit that a silent child can reach; a child that should compute may be waiting instead."""

    STARTING = "starting"
    COMPUTING = "computing"
    WAITING = "waiting"
    COMPILING = "compiling"


@dataclass(frozen=True)
class Reason:
    """Why a claim does not pass, or a file cannot be loaded: a ``sentence`` or two, and the place in the file.

    If it ``has_numbers``, they are wrong, and ``--show`` shows them. ``error_key`` is the same for two errors that
    differ in sizes alone. An error ``comes_from_max`` if MAX has raised it, or lacks something that the file asks for.
    """

    sentence: str
    location: Location | None = None
    has_numbers: bool = False
    error_key: str = ""
    comes_from_max: bool = False


NO_REASON = Reason("")  # of a claim that passes


# ---------------------------------------------------------------- what a child says


@dataclass(frozen=True)
class ClaimBegan:
    """A claim is being tried; a survey tries more than one ``subject``."""

    sentence: str
    subject: str = ""


@dataclass(frozen=True)
class ClaimEnded:
    """The outcome of the claim ``name`` about one function, and ``why`` it does not pass.

    A failure is ``foreseen`` if only the compiler could find it, and the reason says what to do.
    """

    name: str
    about: str
    sentence: str
    mark: Mark
    why: Reason = NO_REASON
    foreseen: bool = False

    @property
    def test(self) -> str:
        """The name of the claim's test function, without the parameters that it was tried with."""
        return self.name.partition("[")[0]


@dataclass(frozen=True)
class StageEnded:
    """Every claim of a stage has been tried, unless one has ended pytest's session."""

    stage: Stage


@dataclass(frozen=True)
class CompiledTried:
    """The compiled claims have been tried, after all others: claims on a GPU may follow, which change no verdict."""


@dataclass(frozen=True)
class Finding:
    """``why`` a ``claim`` fails, by the diagnosis, and the function to blame.

    The ``mark`` is waits if the function that the claim is about is right, and only another function is wrong.
    ``mistake`` is the name of the known mistake, if there is one. ``figures`` are the numbers that this claim measured,
    if several claims share the reason's sentence.
    """

    claim: str
    about: str
    why: Reason
    mark: Mark = Mark.FAIL
    mistake: str | None = None
    figures: str = ""

    @property
    def sentence(self) -> str:
        """The reason's sentence, with the figures behind it."""
        return f"{self.why.sentence} {self.figures}" if self.figures else self.why.sentence


@dataclass(frozen=True)
class NumbersCompared:
    """The numbers of a function beside the expected ones, as lines; none if there is nothing to compare."""

    about: str
    lines: Sequence[str]


@dataclass(frozen=True)
class Unloadable:
    """The learner's file cannot be imported.

    ``changed_since`` are parts of the step that have changed since the file was written, if that is the reason.
    """

    why: Reason
    changed_since: Sequence[str] = ()


@dataclass(frozen=True)
class CheckFailed:
    """The check itself cannot go on: MAX cannot be imported, say."""

    reason: str


@dataclass(frozen=True)
class Ended:
    """The child has said everything."""


@dataclass(frozen=True)
class CompilingBegan:
    """MAX or Mojo begins to compile something, maybe within another thing."""

    name: str
    compiler: Compiler


@dataclass(frozen=True)
class CompilingEnded:
    """The compilation that was begun last has ended, well or not, after so many ``seconds``."""

    name: str
    seconds: float


@dataclass(frozen=True)
class Busy:
    """The child is at work."""


@dataclass(frozen=True)
class FunctionsMissing:
    """The learner's file has run, and lacks these functions with a blank, or classes of such functions.

    Beside each qualified name is the name of a function or class of the file that may be meant to be it, or nothing.
    """

    functions: Mapping[str, str]


# ---------------------------------------------------------------- what the parent adds


@dataclass(frozen=True)
class FileOpened:
    """The file was read, and has not run yet. If no blank in it is written, nothing can be tried."""

    file: OpenedFile


@dataclass(frozen=True)
class FileRefused:
    """The file cannot be read, or is not of its language: ``claim`` is the claim on it that does not hold, if any.

    ``source`` is the text of the file, if that could be read.
    """

    sentence: str
    location: Location | None = None
    claim: str = ""
    source: Source | None = None


@dataclass(frozen=True)
class Late:
    """The child has reached a ``limit`` (see ``checker.parent.limits``): nothing was heard for so many ``seconds``.

    ``location`` is the line of the learner's file that was running, if one was; ``load_if_busy`` is the machine's load,
    in words, if other programs have kept the processor.
    """

    limit: Limit
    seconds: float
    location: Location | None = None
    load_if_busy: str = ""


@dataclass(frozen=True)
class Printed:
    """A line of the learner's own output."""

    text: str


@dataclass(frozen=True)
class Tick:
    """Time has passed: a tick comes several times per second, whatever else comes."""


@dataclass(frozen=True)
class Died:
    """The child has ended before it had said everything: by a ``signal``, or by an exit, for which that is empty."""

    activity: Activity
    signal: str

    @property
    def ended_by_others(self) -> bool:
        """Whether a signal has ended it that others send: the system, when memory is short, or somebody."""
        return self.signal in ("SIGKILL", "SIGTERM", "SIGHUP", "SIGINT")


@dataclass(frozen=True)
class Interrupted:
    """The learner has pressed Ctrl-C; everything that was read before has been handled."""


@dataclass(frozen=True)
class NotSaved:
    """Progress could not be saved: the reason in words, and the ``error`` of the system, if there was one."""

    reason: str
    error: str = ""


@dataclass(frozen=True)
class HuntEnded:
    """The mistake that was hunted for is repaired: its name, and how long it took."""

    sentence: str


SaidLast = Ended | Unloadable | CheckFailed  # nothing is heard of the child after them
CutsShort = Died | Late | Interrupted  # the check ends, and the child has not said its last
FromChild = (
    ClaimBegan
    | ClaimEnded
    | StageEnded
    | CompiledTried
    | Finding
    | NumbersCompared
    | FunctionsMissing
    | CompilingBegan
    | CompilingEnded
    | Busy
    | SaidLast
)
Send = Callable[[FromChild], None]
FromParent = FileOpened | FileRefused | Printed | Tick | NotSaved | HuntEnded | CutsShort
Event = FromChild | FromParent
#: Events at which the verdict is given, unless it was given before; at FileOpened, if nothing can be tried.
EndEvent = FileOpened | FileRefused | CompiledTried | SaidLast | CutsShort
