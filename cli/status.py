"""List every step and warm-up, and how far along each is."""

from __future__ import annotations

from checker.course.progress import next_to_do, standing
from checker.course.steps import FAST_PATH, Step, all_steps, relative_path
from checker.session.printer import Printer

STYLES = {"done": "green", "untouched": "dim", "missing": "yellow"}


def is_sought(step: Step, words: str) -> bool:
    """Return whether a step has these words in its task or its title."""
    return words.lower() in f"{step.task} {step.title}".lower()


def list_all(printer: Printer, current: Step | None = None, sought: str = "") -> None:
    """Print a line for every step that is ``sought``, an arrow at ``current``, how many are done, and which is next."""
    steps = all_steps()
    standings = [standing(step) for step in steps]
    width = max(len(now.words) for now in standings)
    for now in (now for now in standings if is_sought(now.step, sought)):
        mark = ">" if now.step == current else " "
        about = "" if printer.console.width < width + 40 else f"  {now.step.title}"
        style = STYLES.get(now.state, "yellow")
        printer.styled(f"{mark} {now.step.task}  ", (f"{now.words:<{width}}", style), about)
    done = [now.step.task for now in standings if now.state == "done"]
    fast = sum(task in FAST_PATH for task in done)
    printer.line(f"\n{len(done)} of {len(steps)} done; fast path: {fast} of {len(FAST_PATH)}.")
    for way, among in ("Next", steps), ("On the fast path", [step for step in steps if step.task in FAST_PATH]):
        if step := next_to_do(among):
            printer.line(f"{way}: {relative_path(step.learner_file)}, checked by `./run {step.task}`.")
