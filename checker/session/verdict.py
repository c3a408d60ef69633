"""Decide the verdict from everything that is known of a check. Nothing is printed here."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from checker.course.languages import Language, Location
from checker.events import DRAWN, FAIL, PASS, TRACED, TRACING, WAITS, Claimed, Explanation, Late

PASSED, FAILED = 0, 1  # exit statuses
ERROR = re.compile(r"\b\w+(Error|Exception): ")
SIZES = re.compile(r"\[[^\]]*\]|\d+")  # in the message of an error


@dataclass(frozen=True)
class Row:
    """What is known of one claim, or of a blank that is still to write.

    ``line`` is where to look; claims that fail for one ``cause`` need not be shown one by one.
    """

    kind: ClassVar = "row"
    verdict: str
    about: str
    sentence: str
    line: int | None = None
    cause: str = ""


@dataclass(frozen=True)
class Words:
    """Something else to show: what the check has ``said``, numbers ``shown``, or what the file has ``printed``.

    An aside belongs to what stands before it.
    """

    kind: str
    text: str
    aside: bool = False


@dataclass(frozen=True)
class Verdict:
    """The end of a check: its exit status, the explanations of a failure, and the last words."""

    status: int
    explanations: tuple[Explanation, ...] = ()
    words: tuple[str, ...] = ()


@dataclass
class CheckState:
    """What is known so far of a file.

    Attributes:
        claims: as a learner is to see them: a claim that failed may turn out to wait for another function.
        outcomes: by claim, what the child has said of it first.
        stages: those that have ended.
        explained: why claims fail.
        stopped: why there is no verdict.
        ended: whether the child has said everything.
        running: the claim that is being tried, in words.
    """

    claims: dict[str, Claimed] = field(default_factory=dict)
    outcomes: dict[str, str] = field(default_factory=dict)
    stages: set[str] = field(default_factory=set)
    explained: list[Explanation] = field(default_factory=list)
    stopped: Explanation | None = None
    ended: bool = False
    running: str = ""

    @property
    def has_failed(self) -> bool:
        """Whether a claim has failed."""
        return FAIL in self.outcomes.values()

    @property
    def numbers_are_right(self) -> bool:
        """Whether every claim about numbers was made, and holds."""
        return DRAWN in self.stages and set(self.outcomes.values()) <= {PASS, TRACED}

    @property
    def only_compiling_is_left(self) -> bool:
        """Whether it has passed already: the numbers are right, and MAX has traced the module; compiling may go on."""
        return TRACING in self.stages and TRACED in self.outcomes.values() and self.numbers_are_right

    def cause_of(self, failed: Claimed) -> str:
        """Return what is behind a failure: a known mistake, or else the reason of the claim."""
        return next((each.mistake for each in self.explained if each.claim == failed.claim), "") or failed.reason

    def no_verdict(self, happened: str, advice: str, location: Location | None = None) -> Explanation:
        """Return the explanation of a check that did not finish."""
        during = f"during this claim: {self.running}" if self.running else "while the file was loaded."
        return Explanation(f"No verdict: {happened} {during} {advice}".rstrip(), location=location)


def explain(state: CheckState) -> list[Explanation]:
    """Return the explanations of the claims that failed: one per function that makes a known mistake, else all.

    An error that several inputs cause at one line is told of the first.
    """
    failed = [each for each in state.explained if each.verdict == FAIL]
    if not failed:  # compiled claims, or the child ended before it could explain
        claims = (each for each in state.claims.values() if each.verdict == FAIL)
        failed = [Explanation(each.reason, each.about, each.location) for each in claims]
    alike: dict[tuple[str, str], dict[str, Explanation]] = {}
    for each in failed:
        cause = each.mistake or each.sentence
        if each.location and not each.mistake and ERROR.search(each.sentence):
            cause = f"line {each.location.line}: {SIZES.sub('', each.sentence)}"
        alike.setdefault((each.about, cause), {}).setdefault(each.mistake or each.sentence, each)
    return [_told_once(list(each.values())) for each in alike.values()]


def _told_once(alike: Sequence[Explanation]) -> Explanation:
    """Return the first of some explanations that differ in sizes alone, with how many there are."""
    first, *more = alike
    if not more:
        return first
    count = "one more input" if len(more) == 1 else f"{len(more)} more inputs"
    return replace(first, sentence=f"{first.sentence} (The same for {count}.)")


def decide(state: CheckState, required: Collection[str], to_write: Collection[str]) -> Verdict:
    """Return the verdict on a file.

    Args:
        state: everything that is known of it.
        required: the claims that a pass needs.
        to_write: the names of the blanks that are still to write.
    """
    if state.stopped:
        note = ("The pass is kept, as `pass, not compiled`.",) if state.only_compiling_is_left else ()
        return Verdict(FAILED, (state.stopped,), note)
    explanations = tuple(explain(state))
    if state.has_failed:
        return Verdict(FAILED, explanations)
    outcomes = state.outcomes.values()
    if to_write or WAITS in outcomes:
        now = f"Right so far. Still to write: {', '.join(to_write)}." if outcomes else "Nothing could be tried yet."
        return Verdict(FAILED, explanations, (now,))
    tried = {claim.partition("[")[0] for claim, outcome in state.outcomes.items() if outcome != TRACED}
    if missing := sorted(set(required) - tried):
        not_tried = f"No verdict: {', '.join(missing)} did not run. Does the file stop the check?"
        return Verdict(FAILED, (Explanation(not_tried),))
    if not state.ended:
        return Verdict(FAILED, (Explanation("No verdict: the check did not end. Does the file stop it?"),))
    return Verdict(PASSED)


# ---------------------------------------------------------------- how long it may take

# A busy machine must not refuse a right file. So a limit on computing is reached only when the thread that runs the
# learner's file has itself computed for so long: MAX's threads compute while they wait, so the time of the whole
# process says nothing. Waiting has a limit of its own, which grows with the number of programs that want the processor.

#: What a child is at, and what its limit is called.
STARTING, COMPUTING, WAITING, COMPILING = "starting", "computing", "waiting", "compiling"


@dataclass(frozen=True)
class Limits:
    """How many seconds may pass between two events of a child.

    Attributes:
        computing: of processor time, used by the thread that runs the file.
        waiting: while that thread computes less.
        starting: of processor time, until the first event; MAX may be imported from a cold disk.
        compiling: while one thing is compiled; None is without a limit, for a person who can press Ctrl-C.
    """

    computing: float
    waiting: float
    starting: float
    compiling: float | None


@dataclass(frozen=True)
class Spent:
    """What has passed since the last event.

    Attributes:
        seconds: by the clock.
        computed: seconds of processor time of the thread that runs the file.
        load: how many programs want the processor, for each core.
    """

    seconds: float
    computed: float
    load: float


def reached(limits: Limits, doing: str, spent: Spent) -> tuple[str, float] | None:
    """Return the limit that a child has reached and its seconds, or None.

    Args:
        limits: the limits.
        doing: ``starting``, ``compiling`` or ``computing``.
        spent: what has passed since the child was last heard.
    """
    if doing == COMPILING:
        is_over = limits.compiling is not None and spent.seconds > limits.compiling
        return (COMPILING, limits.compiling or 0.0) if is_over else None
    computing = limits.starting if doing == STARTING else limits.computing
    if min(spent.computed, spent.seconds) > computing:
        return doing, computing
    waiting = max(limits.waiting, computing) * max(1.0, spent.load)
    waits = STARTING if doing == STARTING else WAITING
    return (waits, waiting) if spent.seconds > waiting else None


def why_late(state: CheckState, late: Late, language: Language, compiled: str, *, is_solution: bool) -> Explanation:
    """Return why there is no verdict, when a child has reached a limit.

    Args:
        state: what is known of the check.
        late: the limit.
        language: that of the file.
        compiled: what is being compiled, if anything.
        is_solution: whether the file is the reference solution, which has no endless loop.
    """
    seconds, crowd = f"{late.seconds:.0f} s", f"Other programs have the processor ({late.crowd})." if late.crowd else ""
    if late.limit == STARTING:
        words = f"No verdict: it could not begin within {seconds}. {crowd} `./run doctor` says more."
        return Explanation(" ".join(words.split()))
    if late.limit == COMPILING:
        later = "Check it again when the machine has less to do; `./run warm` has no limit."
        words = f"No verdict: MAX was still compiling {compiled} after {seconds}. {crowd} {later}"
        return Explanation(" ".join(words.split()))
    if late.limit == WAITING:
        happened, advice = f"after {seconds}, it still waits for something", "Look for input(), sleep, or a lock."
    else:
        happened, advice = f"timed out after {seconds}", language.look_for_loop if late.location else ""
    if is_solution:
        advice = "Run it again when the machine has less to do; if that does not help, please report it."
    return state.no_verdict(happened, f"{advice} {crowd}".strip(), late.location)
