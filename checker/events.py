"""Everything that happens in a check: what its child says, and what the parent adds.

The parent gives the child one job (``job``); the child answers with events (``event_codec`` writes and reads them).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from enum import StrEnum

from checker.compiling import Compiler
from checker.course.opening import OpenedFile
from checker.course.reading import Location
from checker.course.source import Source
from checker.course.steps import Kind


class Mark(StrEnum):
    """What a check says of a claim, or of a blank."""

    PASS = "pass"
    FAIL = "fail"
    WAITS = "waits"  # until another function is written, or works
    TRACED = "traced"  # it got as far as MAX compiles
    TODO = "todo"  # of a blank that is not written


class Stage(StrEnum):
    """The stages of a check, in order: each tries the claims of one kind."""

    NUMBERS = "numbers"
    DRAWN = "drawn"
    TRACING = "tracing"
    COMPILED = "compiled"
    ON_GPU = "on a GPU"  # those that ask for a device

    @property
    def kind(self) -> Kind:
        """The kind of the claims that it tries: the last three stages try the compiled ones."""
        match self:
            case Stage.NUMBERS:
                return Kind.NUMBERS
            case Stage.DRAWN:
                return Kind.DRAWN
            case Stage.TRACING | Stage.COMPILED | Stage.ON_GPU:
                return Kind.COMPILED


class Activity(StrEnum):
    """What a child is doing."""

    STARTING = "starting"
    COMPUTING = "computing"
    COMPILING = "compiling"


class Limit(StrEnum):
    """A limit that a silent child can reach; while it computes, it may wait instead."""

    STARTING = "starting"
    COMPUTING = "computing"
    WAITING = "waiting"
    COMPILING = "compiling"


# ---------------------------------------------------------------- what a child says


@dataclass(frozen=True)
class ClaimBegan:
    """A claim is being tried; a survey grades more than one ``subject``."""

    sentence: str
    subject: str = ""


@dataclass(frozen=True)
class ClaimEnded:
    """The outcome of the claim ``name`` about one function: ``reason`` and ``location`` say why it does not pass.

    It is ``foreseen`` if only the compiler could find it, and the reason says what to do. ``error_key`` is the same for
    two errors that differ in sizes alone. ``has_numbers`` says that there are wrong ones; ``of_max``, that MAX has
    raised an error, or lacks what the file asks for.
    """

    name: str
    about: str
    sentence: str
    mark: Mark
    _: KW_ONLY
    reason: str = ""
    location: Location | None = None
    foreseen: bool = False
    error_key: str = ""
    has_numbers: bool = False
    of_max: bool = False

    @property
    def test(self) -> str:
        """The name of its test function, whatever that was tried with."""
        return self.name.partition("[")[0]


@dataclass(frozen=True)
class StageEnded:
    """Every claim of a stage has been tried."""

    stage: Stage


@dataclass(frozen=True)
class Finding:
    """Why a ``claim`` fails, once that was looked into: the function to blame, a ``sentence`` or two, and the place.

    If it ``has_numbers``, they are wrong, and ``--show`` shows them. The ``mark`` is waits if the function that the
    claim is about is right, and only another one is not. If a known mistake is behind it, ``mistake`` is its name.
    ``figures`` are what this claim measured, if the sentence is said of several. ``error_key`` and ``of_max`` are those
    of the claim.
    """

    claim: str
    about: str
    sentence: str
    location: Location | None = None
    has_numbers: bool = False
    mark: Mark = Mark.FAIL
    mistake: str | None = None
    figures: str = ""
    error_key: str = ""
    of_max: bool = False

    @property
    def reason(self) -> str:
        """The sentence, with the figures behind it."""
        return f"{self.sentence} {self.figures}" if self.figures else self.sentence


@dataclass(frozen=True)
class NumbersCompared:
    """The numbers of a function beside the expected ones, as lines; none if there is nothing to compare."""

    about: str
    lines: Sequence[str]


@dataclass(frozen=True)
class Unloadable:
    """The learner's file cannot be imported, by an error ``of_max`` or not. What the child says then is not heard.

    ``changed_since`` are parts of the step that have changed since the file was written, if that is the reason.
    """

    sentence: str
    location: Location | None = None
    of_max: bool = False
    changed_since: Sequence[str] = ()


@dataclass(frozen=True)
class CheckFailed:
    """The check itself cannot go on, since MAX cannot be imported, say. What the child says after it is not heard."""

    reason: str


@dataclass(frozen=True)
class Ended:
    """The child has said everything."""


@dataclass(frozen=True)
class CompilingBegan:
    """MAX or Mojo begins to compile something, maybe within another thing."""

    name: str
    compiler: Compiler = Compiler.MAX


@dataclass(frozen=True)
class CompilingEnded:
    """What was begun last is compiled, or cannot be; it took so many ``seconds``."""

    name: str
    seconds: float


@dataclass(frozen=True)
class Busy:
    """The child is at work."""


@dataclass(frozen=True)
class FunctionsMissing:
    """The learner's file has run, and does not have these functions with a blank, or classes of such functions.

    With each qualified name comes that of a function or class of the file that may be meant, or nothing.
    """

    functions: Mapping[str, str]


# ---------------------------------------------------------------- what the parent adds


@dataclass(frozen=True)
class FileOpened:
    """The file was read, and not run yet."""

    file: OpenedFile


@dataclass(frozen=True)
class FileRefused:
    """The file cannot be read, or is none of its language: ``claim`` is the one that does not hold, if there is one.

    ``source`` is its text, if that could be read.
    """

    sentence: str
    location: Location | None = None
    claim: str = ""
    source: Source | None = None


@dataclass(frozen=True)
class Late:
    """The child has reached a ``limit`` (see ``checker.parent.limits``): nothing was heard for so many ``seconds``.

    ``location`` is the line that the learner's file was running, if it was; ``crowd`` says that the machine is busy.
    """

    limit: Limit
    seconds: float
    location: Location | None = None
    crowd: str = ""


@dataclass(frozen=True)
class Printed:
    """A line of the learner's own output."""

    text: str


@dataclass(frozen=True)
class Tick:
    """Time has passed: this comes several times per second, whatever else does."""


@dataclass(frozen=True)
class Died:
    """The child has ended before it had said everything.

    The ``signal`` that has ended it is nothing if it exited.
    """

    activity: Activity = Activity.COMPUTING
    signal: str = ""


@dataclass(frozen=True)
class Interrupted:
    """The learner has pressed Ctrl-C; nothing that was read before is left to handle."""


@dataclass(frozen=True)
class NotSaved:
    """Progress could not be saved: the reason in words, and the ``error`` of the system, if there was one."""

    reason: str
    error: str = ""


@dataclass(frozen=True)
class HuntEnded:
    """The mistake that was hunted for is repaired: its name, and how long it took."""

    sentence: str


FromChild = (
    ClaimBegan
    | ClaimEnded
    | StageEnded
    | Finding
    | NumbersCompared
    | Unloadable
    | CheckFailed
    | FunctionsMissing
    | Ended
    | CompilingBegan
    | CompilingEnded
    | Busy
)
Send = Callable[[FromChild], None]
FromParent = FileOpened | FileRefused | Late | Printed | Tick | Died | Interrupted | NotSaved | HuntEnded
Event = FromChild | FromParent
#: After these the verdict is given: of files that were opened, those in which nothing can be tried yet; of stages, the
#: one after which nothing is left to compile.
EndEvent = FileOpened | FileRefused | StageEnded | Unloadable | CheckFailed | Late | Died | Interrupted | Ended
