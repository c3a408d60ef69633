"""Where files of compiled code lie, beside those that MAX itself keeps."""

from __future__ import annotations

import hashlib
import platform
from pathlib import Path

from max.driver import accelerator_count

from checker.processor import line_of_flags


def cache_path(what: str, *made_for: str, suffix: str) -> Path | None:
    """Return the place of a file, under a name that says for which MAX, processor and devices its code was made.

    It is None if MAX keeps nothing.
    """
    from max import _core

    folder = _core.engine.max_cache_dir()
    if folder is None:
        return None
    devices = ["cpu", *["gpu"] * accelerator_count()]
    processor = line_of_flags() or platform.processor()  # which starts a program on Linux
    parts = [_core.__version__, platform.machine(), processor, *devices, *made_for]
    digest = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
    return Path(folder) / f"gpt2-in-max-{what}-{digest}{suffix}"
