"""List every step and warm-up, and how far along each is."""

from __future__ import annotations

from checker.course.progress import read_progress
from checker.course.standings import NOT_COMPILED, Standing, StepState, all_standings, next_to_do
from checker.course.steps import FAST_PATH, Step, relative_path
from checker.parent.offers import IN_TERMINAL
from checker.terminal import Terminal

STYLES = {StepState.DONE: "green", StepState.UNTOUCHED: "dim", StepState.MISSING: "yellow"}
INDENT = len("> w01  ")
TITLE = 33  # columns for the longest


def list_all(terminal: Terminal, current: Step | None = None) -> None:
    """Print a line for every step, an arrow at ``current``, how many are done, and which is next."""
    standings = all_standings()
    width = max(len(words_of(standing)) for standing in standings)
    for standing in standings:
        print_standing(terminal, standing, width, is_current=standing.step == current)
    done = [standing.step.task for standing in standings if standing.is_done]
    fast = sum(task in FAST_PATH for task in done)
    terminal.line(f"\n{len(done)} of {len(standings)} done; fast path: {fast} of {len(FAST_PATH)}.")
    if hunts := read_progress().hunts.values():
        found, named = sum(hunt.found for hunt in hunts), sum(hunt.named for hunt in hunts)
        given_up = sum(hunt.given_up for hunt in hunts)
        terminal.line(f"Mistakes found in hunts: {found}; named: {named}; given up: {given_up}.")
    if any(standing.uncompiled for standing in standings):
        terminal.line(f"`{NOT_COMPILED}` counts as done.")
    if fast == len(FAST_PATH):
        terminal.line('The fast path is done: `./run generate "Call me" --mine --fill-in` writes with your steps.')
    on_fast_path = [standing for standing in standings if standing.step.task in FAST_PATH]
    for way, among in ("Next", standings), ("On the fast path", on_fast_path):
        if step := next_to_do(among):
            terminal.line(f"{way}: {relative_path(step.learner_file)}, checked by `./run {step.task}`.")


def words_of(standing: Standing) -> str:
    """Return how far a step is, and what writes another file if it is missing."""
    return standing.words_with(IN_TERMINAL.writer)


def print_standing(terminal: Terminal, standing: Standing, width: int, *, is_current: bool) -> None:
    """Print the line of a step: its standing, ``width`` columns wide, and its title if the terminal has room."""
    task, style = f"{'>' if is_current else ' '} {standing.step.task}", STYLES.get(standing.state, "yellow")
    words = words_of(standing)
    room = terminal.console.width - INDENT - len(words)
    if room < 0:
        terminal.styled(task)
        terminal.below(words, INDENT, style)
    elif terminal.console.width < INDENT + width + TITLE:
        terminal.styled(f"{task}  ", (words, style))
    else:
        terminal.styled(f"{task}  ", (f"{words:<{width}}", style), f"  {standing.step.read_title()}")
