"""What the keys of ``watch`` do."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, auto
from functools import partial
from typing import TYPE_CHECKING

from checker.course.paths import relative_path
from checker.course.standing import standing
from checker.course.steps import Step, all_steps, find_step
from cli import hint
from cli.compare import WARNING, compare
from cli.reset import CannotReset, reset
from cli.status import list_all

if TYPE_CHECKING:
    from cli.watch.follow import Watch

KEYS = "h hint, s show numbers, c compare, x reset, n next, p previous, l list, r check again, q quit"


class Next(Enum):
    """The next move, after something has happened."""

    WAIT = auto()
    CHECK = auto()
    QUIT = auto()


class Keys:
    """Carries out what keys ask for, one after another.

    Args:
        watch: the watch whose step the keys are about, and whose printer they use.
    """

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self.offered: Callable[[], Next] | None = None  # what the key y would do
        self.picking: str | None = None  # what has been typed of a step's name after an l

    def press(self, key: str) -> Next:
        """Do what a key asks for."""
        if self.picking is not None and (following := self.pick(key)):
            return following
        offered, self.offered = self.offered, None
        match key:
            case "y" if offered:
                return offered()
            case "h":
                return self.hint()
            case "s":
                return self.show()
            case "c":
                return self.compare()
            case "x":
                return self.reset()
            case "l":
                self.watch.printer.line()
                list_all(self.watch.printer, self.watch.step)
                self.watch.printer.line("\nType a step, 07 or w01, and Enter to go there.")
                self.picking = ""
                self.watch.say_keys()
            case "n":
                return self.go_to(self.watch.step_after(), "No other step is left to do.")
            case "p":
                steps = all_steps()
                at = steps.index(self.watch.step)
                return self.go_to(steps[at - 1] if at else None, "This is the first.")
            case "r":
                return Next.CHECK
            case "q":
                return Next.QUIT
            case _ if key.strip():
                self.watch.printer.line(f"\nNo key does that: {KEYS}")
        return Next.WAIT

    def pick(self, key: str) -> Next | None:
        """Take in a key of a step's name; return None if it is not part of one, and keeps its usual meaning."""
        assert self.picking is not None
        if key.isdigit() or (key in "sw" and not self.picking):
            self.picking += key
            self.watch.printer.console.print(key, end="")
            return Next.WAIT
        typed, self.picking = self.picking, None
        if not key.isspace() or not typed:
            return None
        try:
            return self.go_to(find_step(typed), "")
        except ValueError as error:
            self.watch.printer.line(f"\n{error}")
            return Next.WAIT

    def go_to(self, step: Step | None, otherwise: str) -> Next:
        """Go to another step, or say why there is none."""
        if step is None:
            self.watch.printer.line(f"\n{otherwise}")
            return Next.WAIT
        self.watch.step = step
        return Next.CHECK

    def offer(self, what: str, then: Callable[[], Next]) -> Next:
        """Say what a y would do, and do it if y is the next key."""
        self.watch.printer.line(f"{what} Press y to do so.")
        self.offered = then
        return Next.WAIT

    def show(self) -> Next:
        """Check again, and show the numbers of the function to fix first."""
        if not self.watch.to_show:
            self.watch.printer.line("\nThe last check has no wrong numbers to show.")
            return Next.WAIT
        self.watch.showing = self.watch.to_show
        return Next.CHECK

    def compare(self, *, anyway: bool = False) -> Next:
        """Show the file beside the solution; if it has not passed, offer that first."""
        self.watch.printer.line()
        if not anyway and standing(self.watch.step).state != "done":
            return self.offer(WARNING, partial(self.compare, anyway=True))
        compare(self.watch.step, whole=False, anyway=True)
        self.watch.say_keys()
        return Next.WAIT

    def reset(self, *, sure: bool = False) -> Next:
        """Start the step over, after offering to."""
        self.watch.printer.line()
        file = relative_path(self.watch.step.learner_file)
        if not sure:
            return self.offer(
                f"This makes {file} the skeleton again; what is there now is kept beside it.",
                partial(self.reset, sure=True),
            )
        try:
            reset([self.watch.step], sure=True)
        except CannotReset as error:
            self.watch.printer.line(f"{error}.")
        return Next.CHECK

    def hint(self, *, last: bool = False) -> Next:
        """Give the next hint; offer the last one first."""

        def may_tell_all(what: str) -> bool:
            if not last:
                self.offer(what, partial(self.hint, last=True))
            return last

        self.watch.printer.line()
        try:
            hint.tell_next(self.watch.step, self.watch.printer, may_tell_all)
        except hint.NoHints as error:
            self.watch.printer.line(f"{error}.")
        return Next.WAIT
