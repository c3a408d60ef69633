"""Compile Mojo into a shared library, and keep it: the same text is compiled once."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from time import monotonic

from mojo.run import subprocess_run_mojo

from checker.course.installed import installed_version
from checker.course.paths import ROOT, replacing
from checker.course.progress import digest

KEPT = ROOT / ".course" / "mojo"
MOST_KEPT = 30  # libraries, of some ten kilobytes each

Tell = Callable[[str, float | None], None]  # what is compiled, and None or the seconds that it took


class CompilationError(Exception):
    """Mojo's compiler refuses a text; ``said`` is all that it says."""

    def __init__(self, said: str) -> None:
        super().__init__(said)
        self.said = said


def shared_library(texts: Mapping[str, str], main: str, what: str, tell: Tell = lambda what, seconds: None) -> Path:
    """Return the library that the file ``main`` among ``texts``, which are given by name, makes.

    Raises:
        CompilationError: one of them is no Mojo.
    """
    key = digest(installed_version(), main, *(part for item in sorted(texts.items()) for part in item))
    kept = KEPT / f"{key}.so"
    if kept.is_file():
        os.utime(kept)  # those that were used last are kept
        return kept
    tell(what, None)
    started = monotonic()
    try:
        with tempfile.TemporaryDirectory() as folder:
            for name, text in texts.items():
                Path(folder, name).write_text(text)
            return _keep(_compiled(Path(folder), main), kept)
    finally:
        tell(what, monotonic() - started)


def _compiled(folder: Path, main: str) -> Path:
    made = folder / "made.so"
    command = ["build", "--emit", "shared-lib", "--disable-warnings", "-o", str(made), str(folder / main)]
    process = subprocess_run_mojo(command, capture_output=True, text=True, cwd=folder)
    if process.returncode:
        raise CompilationError(process.stdout + process.stderr)
    return made


def _keep(made: Path, kept: Path) -> Path:
    KEPT.mkdir(parents=True, exist_ok=True)
    with replacing(kept) as unfinished:
        shutil.copy(made, unfinished)
    for old in sorted(KEPT.glob("*.so"), key=lambda path: path.stat().st_mtime)[:-MOST_KEPT]:
        old.unlink(missing_ok=True)
    return kept
