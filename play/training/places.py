"""One folder, one training: it is locked from the first check to the end, and whole or not there.

A new folder is made under another name, and renamed once it has everything. The lock is on the folder itself, so it is
still locked under its own name; and the lock ends with the process, however that ends.
"""

from __future__ import annotations

import fcntl
import os
import re
import shlex
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from checker.errors import UserError
from checker.files import UNFINISHED
from play.training.plan import CURVE, FIGURES, OUT

STATE = "training.safetensors"  # what a training is resumed from
CONFIG, TOKENIZER, TOKENIZER_CONFIG = "config.json", "tokenizer.json", "tokenizer_config.json"
MODEL = "model.safetensors"
BEST = "best"  # the folder with the same model as it was when its validation loss was lowest
MADE = {CONFIG, MODEL, TOKENIZER, TOKENIZER_CONFIG, BEST, STATE, FIGURES, CURVE}  # everything that a training makes


def unfinished(path: Path) -> Path:
    """Return the place where a new folder is made: in the nearest folder above that exists."""
    whole = path.resolve()
    above = nearest_existing(whole)
    return above / f"{'-'.join(whole.relative_to(above).parts)}{UNFINISHED}"


def nearest_existing(path: Path) -> Path:
    """Return the nearest folder above a path that exists."""
    return next(parent for parent in path.parents if parent.exists())


def require_new(path: Path) -> None:
    """Refuse to begin a training in a folder that holds something else.

    Raises:
        UserError: the folder holds files, is not a folder, or cannot be made.
    """
    if path.is_mount():
        inside = shlex.quote(str(path / OUT))
        raise UserError(f"{path} is a mount point, which cannot be made anew; give --out a folder in it: {inside}")
    if (path / STATE).is_file():
        resume = f"--resume {shlex.quote(str(path))}"
        raise UserError(f"{path} holds a training already. Add {resume} to continue it, or give another --out")
    if path.exists() and not (path.is_dir() and not any(path.iterdir())):
        raise UserError(f"{path} is not empty; give --out a new folder")
    above = nearest_existing(path.resolve())
    if not (above.is_dir() and os.access(above, os.W_OK)):
        raise UserError(f"{path} cannot be written in {above}; give another --out")


def require_made(place: Path, path: Path) -> None:
    """Refuse to take over a folder that a killed training cannot have left.

    Raises:
        UserError: it holds something that no training makes; the message names it.
    """
    for there in sorted(place.rglob("*")):
        if re.sub(rf"\.\d+{UNFINISHED}$", "", there.name) not in MADE:
            raise UserError(f"{path} would be made in {place}, which holds {there.name}; give another --out")


@contextmanager
def locked(folder: Path) -> Iterator[int]:
    """While this is open, let no other process of this machine lock a folder, also once it was renamed.

    Yields:
        The open folder.

    Raises:
        BlockingIOError: another process has locked it.
    """
    opened = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield opened
    finally:
        os.close(opened)  # which unlocks it, as does the end of the process


@contextmanager
def new(path: Path) -> Iterator[tuple[Path, bool]]:
    """While this is open, let no other training begin in a folder; if it has not been made by then, nothing is left.

    Yields:
        Where to make the folder, and whether that place is new: if not, it stays.

    Raises:
        UserError: the folder holds something, cannot be made, or is being made by another process.
    """
    require_new(path)
    place = unfinished(path)
    is_ours = not place.exists()  # else it is what a training that was killed has left, or another process makes it
    place.mkdir(exist_ok=True)
    try:
        with locked(place) as opened:
            require_new(path)  # for it may have been made since
            if not is_called(opened, place):
                raise BlockingIOError
            require_made(place, path)
            try:
                yield place, is_ours
            finally:
                if is_ours and is_called(opened, place):
                    shutil.rmtree(place, ignore_errors=True)
    except BlockingIOError as error:
        raise UserError(f"another training is beginning in {path}; give another --out") from error


def is_called(opened: int, path: Path) -> bool:
    """Return whether an open folder is the one at a path."""
    with suppress(OSError):
        return os.path.samestat(os.fstat(opened), path.stat())
    return False


@contextmanager
def resumed(path: Path) -> Iterator[tuple[Path, bool]]:
    """While this is open, let no other training use a folder.

    Yields:
        The folder, which is not new.

    Raises:
        UserError: it holds no training, or one that is running.
    """
    if not (path / STATE).is_file():
        raise UserError(f"{path} holds no training: it has no {STATE}. Give --resume the folder that was --out")
    try:
        with locked(path):
            yield path, False
    except BlockingIOError as error:
        raise UserError(f"the training in {path} is running; wait until it ends, or stop it first") from error
