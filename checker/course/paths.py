"""Where the folders of this repository are, how a path is printed, and how a file is replaced."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

UNFINISHED = ".unfinished"  # ends the name of what is being written

ROOT = Path(__file__).resolve().parents[2]
SOLUTIONS = ROOT / "solutions"
TESTS = ROOT / "tests"
REFERENCES = TESTS / "references"
RECORDED_KERNELS = REFERENCES / "kernels.json"
WIDGETS = ROOT / "book" / "src" / "widgets"
SMALL_MODEL = ROOT / "models" / "moby-dick"


def relative_path(path: Path) -> str:
    """Return ``path`` as it is printed: relative to the repository if it is inside."""
    return str(path.relative_to(ROOT) if path.is_relative_to(ROOT) else path)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a file to write, which becomes ``path`` at the end: another process sees the old file or the new one.

    Raises:
        OSError: it cannot be written; the old file is as it was.
    """
    unfinished = path.with_name(f"{path.name}.{os.getpid()}{UNFINISHED}")
    try:
        yield unfinished
        unfinished.replace(path)
    finally:
        with suppress(OSError):
            unfinished.unlink(missing_ok=True)
