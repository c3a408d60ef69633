"""Files of compiled code, beside those that MAX itself keeps."""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from max.driver import accelerator_count


def cache_path(what: str, *made_for: str, suffix: str) -> Path | None:
    """Return the place of a file, under a name that says for which MAX, processor and devices its code was made.

    It is None if MAX keeps nothing.
    """
    from max import _core

    folder = _core.engine.max_cache_dir()
    if folder is None:
        return None
    told = Path("/proc/cpuinfo")
    lines = told.read_text().splitlines() if told.is_file() else []
    flags = [line for line in lines if line.startswith(("flags", "Features"))][:1]
    devices = ["cpu", *["gpu"] * accelerator_count()]
    processor = flags or [platform.processor()]  # which starts a program on Linux
    parts = [_core.__version__, platform.machine(), *processor, *devices, *made_for]
    digest = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
    return Path(folder) / f"gpt2-in-max-{what}-{digest}{suffix}"


@contextmanager
def written(path: Path) -> Iterator[Path]:
    """Yield a file to write, which becomes ``path`` once it is complete: another check may read that at any time."""
    unfinished = path.with_suffix(f".{os.getpid()}")
    try:
        yield unfinished
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
