"""Everything that passes between the parent and the child of a check: dataclasses, and one encoder.

The parent writes one :class:`Job`; the child answers with events, one per line.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field


@dataclass(frozen=True)
class Job:
    """The work of a child. ``kind`` is ``learner``, ``solution`` or ``survey``; ``step`` is a name, ``step_07``.

    ``show`` is the function whose numbers are to be shown. The second configuration is drawn from ``seed``. What needs
    one of the functions in ``gone``, which the source does not have, waits for it. A survey grades ``subjects``, each
    given by its edits of the solution, in an order that ``seed`` gives, on as many configurations as ``draws`` says; if
    it is to ``record``, it keeps what the known mistakes answer. The subjects of a kernel are its model's edits, or its
    own if they are to be ``compiled_kernels``.
    """

    step: str
    kind: str
    source: str
    path: str
    compile: bool = True
    naming: bool = True
    device: str | None = None
    show: str = ""
    seed: int = 0
    gone: Sequence[str] = ()
    draws: int = 1
    subjects: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    record: bool = False
    compiled_kernels: bool = False


# ---------------------------------------------------------------- what a child says


@dataclass(frozen=True)
class Started:
    """A claim is being tried, on the learner's file or on the ``subject`` of a survey."""

    sentence: str
    subject: str


@dataclass(frozen=True)
class Claimed:
    """The outcome of a claim: ``yes``, ``no`` or ``waits``."""

    claim: str
    about: str
    sentence: str
    verdict: str
    help: str = ""
    where: str = ""


@dataclass(frozen=True)
class Decided:
    """The verdicts of all claims that were tried, by claim.

    ``stage`` is ``numbers``, ``drawn`` (another configuration, drawn anew), ``traced`` (as far as MAX compiles; a claim
    that got there has the verdict ``traced``) or ``compiled``.
    """

    stage: str
    verdicts: dict[str, str]


@dataclass(frozen=True)
class Explained:
    """Why a claim says no: the function that is to blame, the known mistake if it is one, what was seen, and where.

    ``verdict`` is ``no``, or ``waits`` if what the claim is about is right and only another function is not.
    ``numbers`` says that there are wrong numbers, which ``--show`` shows.
    """

    claim: str
    about: str
    verdict: str
    mistake: str
    help: str
    where: str
    numbers: bool = False


@dataclass(frozen=True)
class Shown:
    """The numbers of a function beside the expected ones, as lines; none if there is nothing to compare."""

    about: str
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Unloadable:
    """The learner's file cannot be imported."""

    help: str
    where: str


@dataclass(frozen=True)
class MaxUnusable:
    """MAX cannot be imported, or is not the version that the course is written for."""

    sentence: str


@dataclass(frozen=True)
class Notice:
    """Something that makes a check slower but not wrong."""

    sentence: str


@dataclass(frozen=True)
class SubjectGraded:
    """In a survey: the claims that follow are about another subject; ``happened`` is what else it did, in words."""

    name: str
    happened: str = ""


@dataclass(frozen=True)
class KernelsUsed:
    """In a survey: MAX's kernels that the check needed."""

    used: list[str]


@dataclass(frozen=True)
class Ended:
    """The child has said everything."""


#: What Mojo compiles of a step: another text at every save, so nobody can promise that it is kept.
THE_KERNEL = "your kernel"


@dataclass(frozen=True)
class Compiling:
    """MAX compiles something; ``seconds`` is None at the start."""

    what: str
    seconds: float | None = None


@dataclass(frozen=True)
class Busy:
    """The child is at work."""


@dataclass(frozen=True)
class Hanging:
    """Where the learner's code was when the child was asked."""

    where: str


# ---------------------------------------------------------------- what the parent adds


@dataclass(frozen=True)
class Printed:
    """A line of the learner's own output."""

    text: str


@dataclass(frozen=True)
class Tick:
    """Nothing has happened for a moment."""


@dataclass(frozen=True)
class Late:
    """The parent heard nothing for this many seconds, and stopped the child. ``where`` the learner's code was."""

    seconds: float
    where: str


@dataclass(frozen=True)
class Died:
    """The parent saw the child end before it had said everything."""


FROM_A_CHILD = (
    Started, Claimed, Decided, Explained, Shown, Unloadable, MaxUnusable, Notice, SubjectGraded, KernelsUsed, Ended,
    Compiling, Busy, Hanging,
)  # fmt: skip

#: Everything that a report can hear; a new event from the child belongs in the tuple as well.
Event = (
    Started | Claimed | Decided | Explained | Shown | Unloadable | MaxUnusable | Notice | SubjectGraded | KernelsUsed
    | Ended | Compiling | Busy | Hanging | Printed | Tick | Late | Died
)  # fmt: skip

KINDS = {kind.__name__: kind for kind in FROM_A_CHILD}


def encode(event: Event) -> bytes:
    """Return an event as a line of JSON."""
    return json.dumps({"event": type(event).__name__, **asdict(event)}).encode() + b"\n"


def decode(line: bytes) -> Event | None:
    """Return the event on a line, or None if there is none."""
    try:
        fields = json.loads(line)
        return KINDS[fields.pop("event")](**fields)
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
