"""What is saved of hints, checks and hunts, in one file that git ignores.

It may be deleted at any time: hints and hunts start over, and a check finds out again what is done.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import time
from collections.abc import ItemsView, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from checker.files import ROOT, replacing

FILE = ROOT / ".course" / "progress.json"


@dataclass(frozen=True)
class LastPass:
    """What has passed last of a step: the digests of the code and of its check; was it ``compiled`` too?"""

    code: str
    check: str
    compiled: bool


@dataclass(frozen=True)
class HuntProgress:
    """What is saved of the hunts of a step."""

    mistake: str = ""  # that is hunted for; nothing if none is
    began: float = 0.0  # as ``time.time`` has it
    left_as: str = ""  # the digest of the file as it was drawn, or as it has passed: that text needs no copy
    guesses: int = 0  # of its name
    is_named: bool = False  # by the last of them
    seen: Sequence[str] = ()  # the mistakes that have come
    found: int = 0  # repaired before they were named
    named: int = 0
    given_up: int = 0

    def after(self) -> str:
        """Return how long the hunt has been on, in words."""
        minutes, seconds = divmod(round(time.time() - self.began), 60)
        return f"after {minutes} min {seconds} s" if minutes else f"after {seconds} s"


@dataclass(frozen=True)
class Progress:
    """Everything that is saved, by the names of steps."""

    hints: dict[str, int]  # how many were seen
    passes: dict[str, LastPass]
    failures: dict[str, str]  # the digest of the code that failed last
    hunts: dict[str, HuntProgress]


def read_progress() -> Progress:
    """Return everything that is saved; nothing, if the file cannot be read."""
    try:
        return _read_to_change()
    except OSError:
        return Progress({}, {}, {}, {})


def _read_to_change() -> Progress:
    """Return everything that is saved.

    A file that is missing or cannot be understood counts as an empty one, and of one that can, what is damaged is left
    out.

    Raises:
        OSError: the file is there, and cannot be read: it may hold what must not be written over.
    """
    try:
        file = json.loads(FILE.read_text())
    except (FileNotFoundError, ValueError):
        file = {}
    return Progress(
        hints={step: seen for step, seen in _by_step(file, "hints") if isinstance(seen, int)},
        passes={step: last for step, saved in _by_step(file, "pass") if (last := _last_pass(saved))},
        failures={step: code for step, code in _by_step(file, "fail") if isinstance(code, str)},
        hunts={step: hunts for step, saved in _by_step(file, "hunts") if (hunts := _hunt_progress(saved))},
    )


def _by_step(file: Any, part: str) -> ItemsView[str, Any]:
    """Return what a part of the file has of each step: nothing, if the part is missing or damaged."""
    steps = file.get(part) if isinstance(file, dict) else None
    return steps.items() if isinstance(steps, dict) else {}.items()


def _last_pass(saved: Any) -> LastPass | None:
    match saved:
        case {"code": str(code), "check": str(check), "compiled": bool(compiled)}:
            return LastPass(code, check, compiled)
    return None


def _hunt_progress(saved: Any) -> HuntProgress | None:
    """Return what is saved of the hunts of a step; None if it is damaged, or another version has saved it."""
    match saved:
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
            return HuntProgress(**saved)
    return None


@contextlib.contextmanager
def changing_progress() -> Iterator[Progress]:
    """Change what is saved. Two processes (``watch`` and ``hint``, say) take turns, and a reader never sees half.

    Raises:
        OSError: the file cannot be read or written.
    """
    FILE.parent.mkdir(exist_ok=True)
    with (FILE.parent / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        progress = _read_to_change()
        yield progress
        file = {
            "hints": progress.hints,
            "pass": {step: asdict(last) for step, last in progress.passes.items()},
            "fail": progress.failures,
            "hunts": {step: asdict(hunts) for step, hunts in progress.hunts.items()},
        }
        with replacing(FILE) as new:
            new.write_text(json.dumps(file, indent=1, sort_keys=True) + "\n")
