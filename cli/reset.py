"""Start a step over: generate its skeleton again, and go back to its first hint.

The learner's file is kept beside it first, so nothing is lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from checker.course import progress
from checker.course.progress import Progress
from checker.course.skeletons import back_up, is_untouched, skeleton_of
from checker.course.steps import Step, relative_path
from checker.files import replace_learners_file
from checker.terminal import Terminal
from cli.shared.command_line import confirm, writing


def reset_steps(steps: Sequence[Step], *, sure: bool) -> None:
    """Replace the learner's files with skeletons, after keeping copies.

    A person at a terminal is asked first, unless the call is ``sure``. Nothing is lost either way.

    Raises:
        UserError: a file cannot be written.
    """
    terminal, steps_to_reset = Terminal(), [step for step in steps if not is_untouched(step)]
    files = ", ".join(relative_path(step.learner_file) for step in steps_to_reset if step.learner_file.is_file())
    warning = f"This puts the skeleton in place of {files}. What is there now is kept beside it."
    if files and not sure and confirm(f"{warning} Reset?") is False:
        terminal.line("Nothing was changed.")
        return
    for step in steps:
        words = start_over(step)
        if step in steps_to_reset or len(steps) == 1:
            for line in words:
                terminal.line(line)
    if len(steps) > 1:
        terminal.line(f"All {len(steps)} files in steps/ are skeletons.")


def start_over(step: Step) -> list[str]:
    """Begin a step again; return sentences on what was done.

    Raises:
        UserError: a file cannot be kept or written.
    """
    file, was_untouched = relative_path(step.learner_file), is_untouched(step)
    with writing():
        copy, _ = write_skeleton(step)
    if was_untouched:
        return [f"{file} is untouched."]
    return [
        f"Your {file} is kept as {relative_path(copy)}." if copy else f"{file} was missing.",
        f"{file} is the skeleton again.",
    ]


def write_skeleton(step: Step) -> tuple[Path | None, Progress]:
    """Write the skeleton of a step, and forget its hints and verdicts.

    Returns:
        The copy of the learner's work, if there was any, and what is forgotten.

    Raises:
        OSError: the file cannot be kept or written.
    """
    path, copy = step.learner_file, None
    if not is_untouched(step):
        copy = back_up(path) if path.is_file() else None
        path.parent.mkdir(exist_ok=True)
        replace_learners_file(path, skeleton_of(step).encode())
    return copy, progress.forget(step)
