"""Give the static verdict: what can be said of a learner's file without running it."""

from __future__ import annotations

import stat
from dataclasses import dataclass
from pathlib import Path

from checker.course.blanks import Unwritten, blanks_of, unwritten
from checker.course.languages import Unreadable
from checker.course.steps import Step

MOST_BYTES = 1_000_000  # a step has a few thousand


class Missing(Unreadable):
    """There is no such file."""


@dataclass(frozen=True)
class StaticVerdict:
    """What is known of a file before it runs: its source, and which of the step's blanks are still to write."""

    source: str
    blanks: int
    to_write: tuple[Unwritten, ...]

    @property
    def can_be_tried(self) -> bool:
        """Whether there is anything to run."""
        return len(self.to_write) < self.blanks or not self.blanks


def read_text(path: Path) -> str:
    """Return the text of a file, without waiting on a pipe or the like in its place.

    Raises:
        Unreadable: there is no such file, or it is not text.
    """
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            kind = "a folder, not a file" if stat.S_ISDIR(status.st_mode) else "not a regular file"
            raise Unreadable(f"This is {kind}. Move it away; `./run skeletons` writes the file anew.", "not a file")
        if status.st_size > MOST_BYTES:
            size = f"{status.st_size:,} bytes, and a step has a few thousand"
            raise Unreadable(f"The file has {size}. Is it the right file?", "too large")
        return path.read_text(encoding="utf-8-sig")  # some editors begin a file with a byte order mark
    except FileNotFoundError:
        raise Missing("The file is missing. `./run skeletons` writes it anew.") from None
    except UnicodeDecodeError as error:
        byte = f"byte {error.start} is {error.object[error.start]:#04x}"
        raise Unreadable(f"The file is not UTF-8 text: {byte}. Save it as UTF-8.", "not UTF-8 text") from None
    except OSError as error:  # a circular link, a file that may not be read
        why = (error.strerror or str(error)).lower()
        raise Unreadable(f"The file cannot be read: {why}. Move it away; `./run skeletons` writes it anew.") from None


def read_statically(step: Step, path: Path, *, is_solution: bool = False) -> StaticVerdict:
    """Return the static verdict on a file.

    Args:
        step: the step that the file is to solve.
        path: the learner's file, or the solution.
        is_solution: whether it is the solution, in which nothing is left to write.

    Raises:
        Unreadable: the file cannot be graded.
    """
    source, solution = read_text(path), step.solution_file.read_text()
    step.language.refuse(source, str(path))
    missing = [] if is_solution else unwritten(source, solution, step.language)
    return StaticVerdict(source, len(blanks_of(step)), tuple(missing))


def what_to_do(missing: Unwritten, stop: str) -> str:
    """Return what to do about a blank that is still to write, if a skeleton stops at the statement ``stop``."""
    if missing.line is None:
        return f"there is no {missing.blank.function} in the file any more; ./run skeletons shows what belongs there"
    if missing.started:
        return f"line {missing.line} still says {stop}: delete that line"
    return f"line {missing.line}: {missing.blank.words}"
