"""Build the book where that is needed: where a file that goes into it is newer than what was built."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from checker.course.paths import ROOT, SMALL_MODEL, SOLUTIONS, TESTS
from checker.course.progress import digest

BOOK = ROOT / "book"
HTML = BOOK / "html"
BUILT_FROM = HTML / ".built-from"
#: What the chapters are made of: their texts, and what computes, draws and quotes.
FOLDERS = (
    BOOK / "src",
    BOOK / "theme",
    SOLUTIONS,
    TESTS,
    SMALL_MODEL.parent,
    *(ROOT / name for name in ("cli", "checker", "play", "tools")),
)
FILES = (BOOK / "book.toml", ROOT / "pixi.toml", ROOT / "pyproject.toml")


class CannotBuild(Exception):
    """The book cannot be built; the message says why."""


def build(say: Callable[[str], None]) -> Path:
    """Build the book unless it is built, and return its folder.

    Raises:
        CannotBuild: mdBook is missing, or has refused.
    """
    state = state_of_sources()
    if BUILT_FROM.is_file() and BUILT_FROM.read_text() == state:
        return HTML
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    mdbook = shutil.which("mdbook", path=path)
    if not mdbook:
        raise CannotBuild("mdBook is not installed. `./run book` installs it; with pixi, `pixi run book` does.")
    say("building the book, which takes about ten seconds")
    run = subprocess.run(
        [mdbook, "build", str(BOOK)],
        cwd=ROOT,
        env=os.environ | {"PATH": path},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if run.returncode:
        raise CannotBuild(f"mdBook did not build the book:\n{run.stderr.strip()}")
    BUILT_FROM.write_text(state)
    return HTML


def state_of_sources() -> str:
    """Return a name for the state of everything that goes into the book: which files, how large, how new."""
    return digest(*(f"{path} {path.stat().st_size} {path.stat().st_mtime_ns}" for path in sorted(_sources())))


def _sources() -> Iterator[Path]:
    yield from FILES
    for top in FOLDERS:
        for folder, folders, files in os.walk(top):
            folders[:] = [one for one in folders if one not in ("__pycache__", "dev")]
            yield from (Path(folder, file) for file in files if not file.endswith(".pyc"))
