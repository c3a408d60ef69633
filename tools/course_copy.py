"""A copy of the course, in which tests and the book's transcripts may work as a learner does."""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from checker.course.blanks import blanks_of, skeleton
from checker.course.skeletons import skeleton_of
from checker.course.steps import all_steps, find_step
from checker.diagnosis.mistakes import apply_edits, load_attempts
from checker.files import ROOT
from cli import grade

PARTS = (*grade.PARTS, "play", "steps", "tools", "requirements", "run")
BOOK = ("src", "theme", "book.toml")  # of the book, which nobody writes to

untouched = functools.cache(skeleton_of)  # the skeleton of a step; nothing changes the solutions meanwhile


def python(
    folder: Path,
    *arguments: object,
    status: int | None = None,
    timeout: int = 300,
    input: str | None = None,
    **variables: str,
) -> subprocess.CompletedProcess[str]:
    """Run Python in a folder; a check is patient there, since a machine that runs tests is busy.

    Raises:
        AssertionError: it does not end with ``status``, or has a traceback, where a status is demanded.
    """
    variables = {"COURSE_QUIET_SECONDS": "60"} | os.environ | {"COLUMNS": "500", "NO_COLOR": "1"} | variables
    limits: Any = {"cwd": folder, "env": variables, "timeout": timeout, "check": False}
    command = [sys.executable, *map(str, arguments)]
    done = subprocess.run(command, input=input, capture_output=True, text=True, **limits)
    if status is not None:
        assert done.returncode == status, done.stdout + done.stderr
        assert "Traceback" not in done.stderr, done.stderr
    return done


class Course:
    """A copy of the course under ``root``, with untouched skeletons and the book."""

    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir(parents=True)
        grade.copy_course(root, PARTS)
        (root / "book").mkdir()
        for part in BOOK:
            (root / "book" / part).symlink_to(ROOT / "book" / part)
        self.reset()

    def path(self, step: str) -> Path:
        """Return the learner's file of a step."""
        return self.root / "steps" / find_step(step).learner_file.name

    def reset(self) -> None:
        """Make every learner's file the untouched skeleton again."""
        steps = self.root / "steps"
        for path in (*steps.glob("*.kept-*.*"), *steps.glob("hunt_*")):
            path.unlink(missing_ok=True)
        shutil.rmtree(self.root / ".course", ignore_errors=True)
        for step in all_steps():
            self.write(step.task, untouched(step))

    def write(self, step: str, source: str | None = None, edits: dict[str, str] | None = None) -> None:
        """Put ``source``, or the edited solution, where the learner's file of a step is."""
        name = find_step(step)
        source = source if source is not None else name.read_solution().text
        for old, new in (edits or {}).items():
            assert old in source
            source = source.replace(old, new)
        self.path(step).write_text(source)

    def fill(self, step: str, *labels: str) -> None:
        """Write the skeleton of a step with the blanks named in ``labels`` filled in.

        Raises:
            ValueError: the step has no such blank.
        """
        name = find_step(step)
        blanks = [blank.label for blank in blanks_of(name)]
        if unknown := [label for label in labels if label not in blanks]:
            raise ValueError(f"step {step} has no blank {unknown[0]!r}; it has {', '.join(blanks)}")
        self.write(step, skeleton(name.read_solution(), name.language, labels))

    def spoil(self, step: str, beginning: str, kind: str = "mistakes") -> None:
        """Make the mistake whose sentence starts with ``beginning``, or write with the habit that is called so.

        Raises:
            ValueError: none of that kind of the step's attempts, or more than one, starts that way.
        """
        name = find_step(step)
        known = getattr(load_attempts(name), kind)
        fitting = [attempt for attempt in known if attempt.startswith(beginning)]
        if len(fitting) != 1:
            all_of_them = "".join(f"\n  {attempt}" for attempt in known)
            count = f"{len(fitting)} {kind} of {name.name} start with {beginning!r}"
            raise ValueError(f"{count}; use the beginning of one of:{all_of_them}")
        self.write(step, apply_edits(name.read_solution().text, known[fitting[0]]))

    def line_of(self, step: str, text: str) -> int:
        """Return the number of the only line of a learner's file that has ``text``."""
        lines = self.path(step).read_text().splitlines()
        (number,) = [number for number, line in enumerate(lines, start=1) if text in line]
        return number

    def check(self, *arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
        """Run a command, such as the check of a step, as a learner does; the options are those of :func:`python`."""
        return python(self.root, "-m", "cli", *arguments, **options)

    def shell(self, line: str, timeout: int = 300) -> str:
        """Return what a terminal shows when ``line`` is entered in the copy, for ``./run`` too; without color."""
        self._lend_environment()
        variables = os.environ | {"NO_PIXI": "1", "NO_COLOR": "1", "TERM": "dumb", "HF_HUB_OFFLINE": "1"}
        variables["PYTHONPATH"] = str(self.root)
        limits: Any = {"cwd": self.root, "env": variables, "timeout": timeout, "check": False}
        streams: Any = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        return subprocess.run(["bash", "-c", line], text=True, **streams, **limits).stdout

    def _lend_environment(self) -> None:
        """Give the copy the running ``.venv``, so that ``./run`` does not set up another."""
        venv = self.root / ".venv"
        if venv.exists():
            return
        venv.mkdir()
        for path in Path(sys.prefix).iterdir():
            if not path.name.startswith("installed-"):
                (venv / path.name).symlink_to(path)
        for path in (ROOT / "requirements").glob("*.txt"):
            shutil.copy(path, venv / f"installed-{path.name}")


NEXT = re.compile(r";\s*(?=\S+ (?:untouched|solved|mistake:|habit:|fill:))")  # a sentence may have semicolons, too


def set_up_files(course: Course, order: str) -> None:
    """Set the learner's files as the book instructs: ``07 solved; 04 fill: __init__, forward``.

    A part is a step and then ``untouched``, ``solved``, ``mistake: BEGINNING``, ``habit: NAME`` or
    ``fill: BLANK, BLANK``. All other files are untouched.

    Raises:
        ValueError: the instruction cannot be read, or names something that does not exist.
    """
    course.reset()
    for part in NEXT.split(" ".join(order.split())):
        step, _, state = part.partition(" ")
        match state.partition(": "):
            case "untouched", "", "":
                pass
            case "solved", "", "":
                course.write(step)
            case "fill", _, words if words:
                course.fill(step, *words.split(", "))
            case "mistake" | "habit" as kind, _, words if words:
                course.spoil(step, words, f"{kind}s")
            case _:
                raise ValueError(
                    f"{part!r} is not an instruction for a learner's file; write `07 untouched`, `07 solved`, "
                    "`07 mistake: BEGINNING OF THE SENTENCE`, `07 habit: NAME` or `07 fill: BLANK, BLANK`"
                )
