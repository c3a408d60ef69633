"""Write files that are never seen half written."""

from __future__ import annotations

import os
from pathlib import Path

from checker.course.steps import replacing


def write(file: Path, data: bytes) -> None:
    """Write a file so that whatever ends the program leaves the whole old one or the whole new one.

    Raises:
        OSError: the disk is full, say; the old file is as it was.
    """
    try:
        with replacing(file) as unfinished, unfinished.open("wb") as opened:
            opened.write(data)
            opened.flush()
            os.fsync(opened.fileno())
    except OSError as error:
        error.filename = str(file)  # not that of the unfinished one
        raise
