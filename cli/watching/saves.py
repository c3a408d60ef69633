"""Tell which steps' files were saved since the last look; ``watch`` looks several times a second."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

from checker.course.steps import Step

REPLACE_SECONDS = 0.3  # how long a file may be missing or empty while an editor replaces it

#: The identity of a file, when it was changed, and its size; None if there is no file.
Stamp = tuple[int, int, int] | None


class Saves:
    """Tells which files of steps were saved since somebody looked."""

    def __init__(self, files: Mapping[Step, Path]) -> None:
        self.files = files
        self.stamps = {step: stamp_of(file) for step, file in files.items()}

    def look(self) -> frozenset[Step]:
        """Return the steps whose files were saved, or removed, since the last look."""
        before, self.stamps = self.stamps, {step: stamp_of(file) for step, file in self.files.items()}
        return frozenset(step for step, now in self.stamps.items() if now != before[step])

    def settle(self, step: Step) -> None:
        """Count a file as seen as it is now, once an editor that is replacing it has finished."""
        deadline = time.monotonic() + REPLACE_SECONDS
        while not ((now := stamp_of(self.files[step])) and now[-1]) and time.monotonic() < deadline:
            time.sleep(0.01)
        self.stamps[step] = now


def stamp_of(path: Path) -> Stamp:
    """Return the stamp of a file, which changes with every save."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size
