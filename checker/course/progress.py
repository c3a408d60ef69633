"""A learner's progress: what is saved of hints, checks and hunts, in one file that git ignores.

The file may be deleted at any time: hints and hunts start over, and a check finds out again which steps are done.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import time
from collections.abc import ItemsView, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from checker.course.reading import Unreadable, read_text
from checker.course.source import Source
from checker.course.steps import Step
from checker.files import ROOT, digest, replacing

FILE = ROOT / ".course" / "progress.json"


@dataclass(frozen=True)
class LastPass:
    """The last pass of a step: digests of the code that passed and of its check, and whether MAX had compiled it."""

    code_digest: str
    check_digest: str
    compiled: bool


@dataclass(frozen=True)
class SavedHunts:
    """What is saved of a step's hunts: of the hunt that is on, and counts of those that have ended.

    A mistake has its key in the file, and its sentence where ``Hunt`` has read it.
    """

    mistake: str = ""  # the one that is hunted for; nothing if no hunt is on
    began: float = 0.0  # when the hunt did, as ``time.time`` has it
    left_as: str = ""  # the digest of the copy as it was drawn, or as it has passed: that text needs no copy
    guesses: int = 0  # how often the mistake's name was guessed
    is_named: bool = False  # whether the last guess was right
    seen: Sequence[str] = ()  # the mistakes that were drawn
    found: int = 0  # how many were repaired before they were named
    named: int = 0
    given_up: int = 0

    def after(self) -> str:
        """Return how long the hunt has been on, in words."""
        minutes, seconds = divmod(round(time.time() - self.began), 60)
        return f"after {minutes} min {seconds} s" if minutes else f"after {seconds} s"


@dataclass(frozen=True)
class Progress:
    """Everything that is saved, each part by the names of steps."""

    hints: dict[str, int]  # how many of a step's were seen
    passes: dict[str, LastPass]
    failures: dict[str, str]  # the digest of the code that failed last
    hunts: dict[str, SavedHunts]


def read_progress() -> Progress:
    """Return everything that is saved; nothing, if the file cannot be read."""
    try:
        return _read_to_change()
    except OSError:
        return Progress({}, {}, {}, {})


def _read_to_change() -> Progress:
    """Return everything that is saved.

    A file that is missing or is no JSON counts as an empty one; of any other, the damaged entries are left out.

    Raises:
        OSError: the file is there, and cannot be read: it may hold progress that must not be written over.
    """
    try:
        return progress_in(json.loads(FILE.read_text()))
    except (FileNotFoundError, ValueError):
        return progress_in({})


def progress_in(file: Any) -> Progress:
    """Return what is saved in the object that a file of progress has; its damaged entries are left out."""
    return Progress(
        hints={step: seen for step, seen in _by_step(file, "hints") if isinstance(seen, int)},
        passes={step: last for step, entry in _by_step(file, "pass") if (last := _last_pass(entry))},
        failures={step: code for step, code in _by_step(file, "fail") if isinstance(code, str)},
        hunts={step: hunts for step, entry in _by_step(file, "hunts") if (hunts := _saved_hunts(entry))},
    )


def as_object(progress: Progress) -> dict[str, Any]:
    """Return progress as the object that its file has."""
    return {
        "hints": progress.hints,
        "pass": {step: _entry_of_pass(last) for step, last in progress.passes.items()},
        "fail": progress.failures,
        "hunts": {step: asdict(hunts) for step, hunts in progress.hunts.items()},
    }


def _by_step(file: Any, part: str) -> ItemsView[str, Any]:
    """Return the entries of one part of the file, by step: none if the part is missing or damaged."""
    steps = file.get(part) if isinstance(file, dict) else None
    return steps.items() if isinstance(steps, dict) else {}.items()


def _last_pass(entry: Any) -> LastPass | None:
    """Return the pass that an entry of the file tells of; None if the entry is damaged."""
    match entry:
        case {"code": str(code_digest), "check": str(check_digest), "compiled": bool(compiled)}:
            return LastPass(code_digest, check_digest, compiled)
    return None


def _entry_of_pass(last: LastPass) -> dict[str, Any]:
    """Return the entry of the file that tells of a pass."""
    return {"code": last.code_digest, "check": last.check_digest, "compiled": last.compiled}


def _saved_hunts(entry: Any) -> SavedHunts | None:
    """Return what an entry of the file tells of a step's hunts; None if it is damaged or of another version."""
    match entry:
        case {
            "mistake": str(),
            "began": int() | float(),
            "left_as": str(),
            "guesses": int(),
            "is_named": bool(),
            "seen": [*seen],
            "found": int(),
            "named": int(),
            "given_up": int(),
            **others,
        } if not others and all(isinstance(mistake, str) for mistake in seen):
            return SavedHunts(**entry)
    return None


@contextlib.contextmanager
def changing_progress() -> Iterator[Progress]:
    """While this is open, change what is saved; the file is written at the end.

    Two processes (``watch`` and ``hint``, say) take turns, and a reader never sees half a file.

    Raises:
        OSError: the file cannot be read or written.
    """
    FILE.parent.mkdir(exist_ok=True)
    with (FILE.parent / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        progress = _read_to_change()
        yield progress
        with replacing(FILE) as new:
            new.write_text(json.dumps(as_object(progress), indent=1, sort_keys=True) + "\n")


def digest_of_check(step: Step) -> str:
    """Return the digest of what decides the outcomes of a check: the claims, and the recorded numbers."""
    files = (step.check_file, step.reference_file)
    return digest(*(path.read_bytes() if path.is_file() else b"" for path in files))


def digest_of_code(step: Step, source: Source) -> str:
    """Return the digest of what a file means in its language: comments and the layout of lines change nothing.

    A text that is not of its language is digested as it is.
    """
    with contextlib.suppress(SyntaxError, ValueError, RecursionError, MemoryError):
        return digest(step.language.meaning(source))
    return digest(source.text)


def note_pass(step: Step, source: Source, *, compiled: bool) -> bool:
    """Save that this ``source`` has passed, and whether MAX had compiled it; return whether the pass is saved.

    A step may have been reset while its file was checked. Then the file means something else, no pass of it is saved
    any more, and this one is not saved either.
    """
    with changing_progress() as progress:
        code_digest, check_digest = digest_of_code(step, source), digest_of_check(step)
        last = progress.passes.get(step.name)
        is_same = last is not None and (last.code_digest, last.check_digest) == (code_digest, check_digest)
        was_compiled = last is not None and is_same and last.compiled
        counts = is_same or digest_of_code(step, _source_now(step)) == code_digest
        if counts:
            progress.passes[step.name] = LastPass(code_digest, check_digest, compiled or was_compiled)
            progress.failures.pop(step.name, None)
    return counts


def _source_now(step: Step) -> Source:
    """Return a learner's file as it is now; an empty one if it cannot be read."""
    with contextlib.suppress(Unreadable):
        return Source(read_text(step.learner_file))
    return Source("")


def note_failure(step: Step, source: Source, *, takes_back: bool) -> None:
    """Save that this ``source`` has failed; a pass of the same code stays unless the failure ``takes_back`` that."""
    with changing_progress() as progress:
        code_digest = digest_of_code(step, source)
        last = progress.passes.get(step.name)
        if last and last.code_digest == code_digest:
            if not takes_back:
                return
            del progress.passes[step.name]  # it has since been compiled, or its check has changed
        progress.failures[step.name] = code_digest


def note_hints(step: Step, count: int) -> None:
    """Save that at least this many hints of a step were shown."""
    with changing_progress() as progress:
        progress.hints[step.name] = max(count, progress.hints.get(step.name, 0))


def forget(step: Step) -> Progress:
    """Start a step over: no hint seen, no verdict; what is saved of its hunts stays. Return what is forgotten."""
    forgotten = Progress({}, {}, {}, {})
    with changing_progress() as progress:
        if step.name in progress.hints:
            forgotten.hints[step.name] = progress.hints.pop(step.name)
        if step.name in progress.passes:
            forgotten.passes[step.name] = progress.passes.pop(step.name)
        if step.name in progress.failures:
            forgotten.failures[step.name] = progress.failures.pop(step.name)
    return forgotten


def save_again(forgotten: Progress) -> None:
    """Save again what was forgotten, in place of what was saved of the same steps meanwhile."""
    with changing_progress() as progress:
        progress.hints.update(forgotten.hints)
        progress.passes.update(forgotten.passes)
        progress.failures.update(forgotten.failures)
