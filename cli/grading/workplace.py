"""A copy of the course to grade in, which is watched: a step may change files, and the next must not be judged by them.

A check is not a sandbox (``CONTRIBUTING.md``). What a step changes here is noticed after its check, and undone.
"""

from __future__ import annotations

import compileall
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from checker.course.paths import ROOT, SMALL_MODEL, SOLUTIONS, TESTS
from checker.course.progress import digest
from checker.course.steps import Step

STEPS = "steps"
CODE = ("cli", "checker", "play", SOLUTIONS.name)
PARTS = (*CODE, TESTS.name, SMALL_MODEL.parent.name, "pixi.toml", "pyproject.toml")
NOT_COPIED = shutil.ignore_patterns("dev", "node_modules", "*.kept-*")
BYTECODE = "__pycache__"
MOST_BYTES = 100_000_000  # of a file that is read; the course has none so large
OWN = (".course", ".pytest_cache")  # what a check itself keeps

Manifest = dict[str, str]


class CourseChanged(Exception):
    """A step has changed the course itself; the message says which file."""


class Workplace:
    """A copy of the course with the steps of a checkout.

    Args:
        texts: the steps.
        root: the course.
    """

    def __init__(self, texts: Mapping[Step, str], root: Path = ROOT) -> None:
        self.texts = texts
        self.root = root
        self.folder = Path(tempfile.mkdtemp(prefix="grade-"))
        self.place = self.folder
        self.of_course = manifest(root, PARTS)
        self.made: Manifest = {}
        self.make()

    def __enter__(self) -> Workplace:
        return self

    def __exit__(self, *error: object) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def make(self) -> None:
        """Make a new copy; one that a step has changed may not even be possible to remove."""
        self.place = Path(tempfile.mkdtemp(prefix="course-", dir=self.folder))
        for part in PARTS:
            source = self.root / part
            if source.is_dir():
                shutil.copytree(source, self.place / part, ignore=NOT_COPIED)
            else:
                shutil.copy2(source, self.place / part)
        (self.place / STEPS).mkdir()
        for step, text in self.texts.items():
            self.path(step).write_text(text, encoding="utf-8", newline="")
        for part in CODE:  # else every check would do it for itself
            compileall.compile_dir(self.place / part, quiet=2)
        self.made = manifest(self.place)

    def path(self, step: Step) -> Path:
        """Return where the file of a step is."""
        return self.place / STEPS / step.learner_file.name

    def changes(self) -> list[str]:
        """Return which files the last check has changed, and make another copy if there are any.

        Raises:
            CourseChanged: they are those of the course itself.
        """
        for name in OWN:
            shutil.rmtree(self.place / name, ignore_errors=True)
        now = manifest(self.place)
        for name in now.keys() - self.made.keys():
            if BYTECODE in Path(name).parts:  # of a step that was imported; it must not stand in for another
                (self.place / name).unlink()
                del now[name]
        changed = difference(self.made, now)
        if in_course := difference(self.of_course, manifest(self.root, PARTS)):
            raise CourseChanged(f"{self.root / in_course[0]} was changed while")
        if changed:
            self.make()
        return changed


def manifest(root: Path, parts: tuple[str, ...] = (".",)) -> Manifest:
    """Return a name for the content of every file in some parts of a folder; Python's own are left out of a part."""
    return {str(path.relative_to(root)): _content(path) for part in parts for path in _files(root / part, part != ".")}


def _files(top: Path, of_a_part: bool) -> Iterator[Path]:
    if top.is_file():
        yield top
    for folder, folders, files in os.walk(top):
        if of_a_part:
            folders[:] = [name for name in folders if name not in (BYTECODE, "dev")]
        here = Path(folder)
        yield from (here / name for name in files)
        yield from (here / name for name in folders if (here / name).is_symlink())


def _content(path: Path) -> str:
    try:
        if path.is_symlink():
            return f"link to {os.readlink(path)}"
        if not path.is_file():
            return "no file"
        size = path.stat().st_size
        return digest(path.read_bytes()) if size < MOST_BYTES else f"{size} bytes"
    except OSError as error:
        return f"cannot be read: {error.strerror}"


def difference(before: Manifest, after: Manifest) -> list[str]:
    """Return the names whose contents differ between two manifests."""
    return sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
