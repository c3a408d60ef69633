"""What cannot be seen in the learner's files: which hints were read, and which file had a yes.

All of it is in one file that git ignores. It may be deleted at any time: hints begin anew, and a check
says again what is done.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
from collections.abc import Iterator
from typing import Any

from checker.course.paths import ROOT
from checker.course.steps import Step

FILE = ROOT / ".course" / "progress.json"


def digest(*parts: str | bytes) -> str:
    """Return a short name for contents: equal contents have equal ones."""
    made = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        made.update(len(data).to_bytes(8, "big") + data)
    return made.hexdigest()[:32]


def digest_of_check(step: Step) -> str:
    """Return the digest of what a learner's file is compared with: the claims, and the recorded numbers."""
    files = (step.check_file, step.reference_file)
    return digest(*(path.read_bytes() if path.is_file() else b"" for path in files))


def read() -> dict[str, dict[str, Any]]:
    """Return all that is kept: ``hints`` (step -> how many seen), ``yes`` (step -> digests of file and check).

    A file that is missing or cannot be understood is as good as an empty one.
    """
    try:
        kept = json.loads(FILE.read_text())
        hints = {str(step): int(seen) for step, seen in kept["hints"].items()}
        yes = {str(step): {name: str(one[name]) for name in ("file", "check")} for step, one in kept["yes"].items()}
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return {"hints": {}, "yes": {}}
    return {"hints": hints, "yes": yes}


@contextlib.contextmanager
def changing() -> Iterator[dict[str, dict[str, Any]]]:
    """Change what is kept. Two processes (``watch`` and ``hint``, say) take turns, and a reader never sees half.

    Raises:
        OSError: the file cannot be written.
    """
    FILE.parent.mkdir(exist_ok=True)
    with (FILE.parent / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        kept = read()
        yield kept
        new = FILE.with_suffix(".new")
        new.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n")
        os.replace(new, FILE)


def note_yes(step: Step, source: str) -> None:
    """Keep that the check said yes to exactly this ``source``."""
    with changing() as kept:
        kept["yes"][step.name] = {"file": digest(source), "check": digest_of_check(step)}


def yes_to(step: Step) -> dict[str, str] | None:
    """Return the digests of the last yes, of the ``file`` and of the ``check``; None if there was none."""
    return read()["yes"].get(step.name)


def hints_seen(step: Step) -> int:
    """Return how many hints of a step were shown."""
    return int(read()["hints"].get(step.name, 0))


def note_hints(step: Step, seen: int) -> None:
    """Keep how many hints of a step were shown."""
    with changing() as kept:
        kept["hints"][step.name] = seen


def forget(step: Step) -> None:
    """Begin a step anew: no hint seen, no yes."""
    with changing() as kept:
        kept["hints"].pop(step.name, None)
        kept["yes"].pop(step.name, None)
