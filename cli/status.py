"""List every step and warm-up, and how far along each is."""

from __future__ import annotations

from checker.course.progress import next_to_do, standing
from checker.course.steps import Step, all_steps, relative_path
from checker.session.printer import Printer

STYLES = {"done": "green", "untouched": "dim", "missing": "yellow"}


def is_sought(step: Step, words: str) -> bool:
    """Return whether a step has these words in its task or its title."""
    return words.lower() in f"{step.task} {step.title}".lower()


def list_all(printer: Printer, current: Step | None = None, sought: str = "") -> None:
    """Print a line for every step that is ``sought``, with an arrow at ``current``, and how many of all are done."""
    standings = [standing(step) for step in all_steps()]
    width = max(len(now.words) for now in standings)
    for now in (now for now in standings if is_sought(now.step, sought)):
        mark = ">" if now.step == current else " "
        about = "" if printer.console.width < width + 40 else f"  {now.step.title}"
        style = STYLES.get(now.state, "yellow")
        printer.styled(f"{mark} {now.step.task}  ", (f"{now.words:<{width}}", style), about)
    done = sum(now.state == "done" for now in standings)
    printer.line(f"\n{done} of {len(standings)} done.")


def say_what_is_next(printer: Printer) -> None:
    """Print which step to continue with, and what checks it."""
    step = next_to_do(all_steps())
    if step:
        printer.line(f"Next: {relative_path(step.learner_file)}, checked by `./run {step.task}`.")
