"""Generate ``steps/`` from ``solutions/``.

A file in which a blank is written is never overwritten. Any other file is first copied beside itself, unless it is a
skeleton that git has.
"""

from __future__ import annotations

import shutil
import time
from contextlib import suppress
from pathlib import Path

from checker.course.blanks import blanks_of, skeleton
from checker.course.opening import open_file
from checker.course.reading import Unreadable, read_text
from checker.course.source import Source
from checker.course.steps import Step, all_steps, relative_path
from checker.files import ROOT, replace_learners_file
from checker.machine import output_of


def skeleton_of(step: Step) -> str:
    """Return the skeleton of a step, as its solution gives it now."""
    return skeleton(step.read_solution(), step.language)


def is_untouched(step: Step) -> bool:
    """Return whether the learner's file is the skeleton, to the letter."""
    with suppress(Unreadable):
        return read_text(step.learner_file) == skeleton_of(step)
    return False


def is_committed_skeleton(step: Step) -> bool:
    """Return whether the learner's file is, to the letter, the skeleton of the solution at git's last commit."""
    committed = f"HEAD:{step.solution_file.relative_to(ROOT)}"
    solution = Source(output_of("git", "-C", str(ROOT), "show", committed))
    with suppress(Unreadable, ValueError):
        return read_text(step.learner_file) == skeleton(solution, step.language)
    return False


def is_begun(step: Step, path: Path | None = None) -> bool:
    """Return whether a file has work in it: a blank written or started, or text that cannot be read.

    Args:
        step: the step.
        path: the file; the learner's if it is left out.
    """
    try:
        file = open_file(step, path or step.learner_file)
    except Unreadable:
        return True
    return file.can_be_tried or any(blank.started or blank.line is None for blank in file.unwritten)


def back_up(path: Path) -> Path:
    """Copy a learner's file beside itself, under an unused name that contains the time; return the copy's path."""
    stem, number = f"{path.stem}.kept-{time.strftime('%Y%m%d-%H%M%S')}", 1
    copy = path.with_name(f"{stem}{path.suffix}")
    while copy.exists():
        number += 1
        copy = path.with_name(f"{stem}-{number}{path.suffix}")
    return Path(shutil.copy2(path, copy))


def write_all() -> int:
    """Write every skeleton anew that is not what its solution gives now; return the exit status.

    Raises:
        OSError: a file cannot be written.
    """
    for step in all_steps():
        path = step.learner_file
        if is_untouched(step):
            continue
        if path.exists() and not is_committed_skeleton(step):
            if is_begun(step):
                print(f"{relative_path(path)} is left alone: it has your work in it")
                continue
            print(f"{relative_path(path)} was changed and is kept as {relative_path(back_up(path))}")
        path.parent.mkdir(exist_ok=True)
        replace_learners_file(path, skeleton_of(step).encode())
        print(f"{relative_path(path)} written")
    return 0


def check_all() -> int:
    """Say which learner's files are not the skeletons of their solutions; return 1 if there are any, else 0."""
    steps = all_steps()
    wrong = [step for step in steps if not is_untouched(step)]
    for step in wrong:
        file, solution = relative_path(step.learner_file), relative_path(step.solution_file)
        print(f"{file} is not what `skeletons` makes of {solution}: run ./run skeletons")
    print(f"{len(steps)} steps have {sum(len(blanks_of(step)) for step in steps)} blanks")
    return 1 if wrong else 0
