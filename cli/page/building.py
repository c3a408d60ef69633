"""Build the book where that is needed: where a file that goes into it is newer than what was built."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from checker.course.paths import ROOT

HTML = ROOT / "book" / "html"
BUILT = HTML / ".built"  # as new as the sources were when the book was built
SOURCES = ("book/src", "book/theme", "book/book.toml", "solutions", "tests", "models")
PROGRAMS = ("cli", "checker", "play", "tools", "pixi.toml", "pyproject.toml")  # which compute, draw and quote


class CannotBuild(Exception):
    """The book cannot be built; the message says why."""


def build(say: Callable[[str], None]) -> Path:
    """Build the book unless it is built, and return its folder.

    Raises:
        CannotBuild: mdBook is missing, or has refused.
    """
    if is_built():
        return HTML
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    mdbook = shutil.which("mdbook", path=path)
    if not mdbook:
        raise CannotBuild("mdBook is not installed. `./run book` installs it; with pixi, `pixi run book` does.")
    say("building the book, which takes about ten seconds")
    started = time.time()
    run = subprocess.run(
        [mdbook, "build", str(ROOT / "book")],
        cwd=ROOT,
        env=os.environ | {"PATH": path},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if run.returncode:
        raise CannotBuild(f"mdBook could not build the book:\n{run.stderr.strip()}")
    BUILT.touch()
    os.utime(BUILT, (started, started))
    return HTML


def is_built() -> bool:
    """Return whether the book is as new as everything that goes into it."""
    if not BUILT.is_file():
        return False
    built = BUILT.stat().st_mtime
    tops = [ROOT / name for name in (*SOURCES, *PROGRAMS)]
    files = [path for top in tops for path in (top, *top.rglob("*")) if path.is_file() and path.suffix != ".pyc"]
    return all(path.stat().st_mtime <= built for path in files)
