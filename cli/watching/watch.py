"""Check a step at every save, and do what keys ask for.

The verdict on the numbers need not wait for MAX to be imported: the child was started before the save and has already
imported it (``cli.shared.background``). A save during a check restarts it. When the file of another step is saved, that
step is followed. After a pass the key n goes on to the next step that is not done, while MAX compiles the last one.
"""

from __future__ import annotations

import contextlib
import queue
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from checker.course.blanks import blanks_of
from checker.course.standings import StepState, all_standings, first_to_do, next_to_do, standing_of
from checker.course.steps import Step, all_steps, relative_path
from checker.errors import INTERRUPTED, UserError, exit_on_termination
from checker.parent.check import Check
from checker.parent.printer import Printer
from checker.parent.sentences import pass_is_kept_or_not
from checker.parent.state import Blames, Tried, VerdictKind
from checker.protocol.job import Options
from checker.terminal import Terminal
from cli import compare, hint
from cli.reset import start_over
from cli.shared.background import FAULT, BackgroundCheck, ReadyChild, Report
from cli.status import list_all
from cli.watching import keyboard
from cli.watching.editor import open_in_editor
from cli.watching.keyboard import ESC, keys_of_terminal
from cli.watching.offers import AT_SAVE, BY_KEYS
from cli.watching.saves import Saves

LOOK_SECONDS = 0.05  # between looks at the files
KEYS = "h hint, s numbers, c compare, x reset, n next, p previous, l list, e edit, r again, q quit"
NONE_LEFT = "No other step is left to do."


@dataclass(frozen=True)
class FilesSaved:
    """The files of these steps were saved."""

    steps: frozenset[Step]


@dataclass(frozen=True)
class Key:
    """A key was pressed: its letter, or the characters that it sends."""

    letter: str


@dataclass(frozen=True)
class Reported:
    """A check in the background has reported something."""

    background: BackgroundCheck
    report: Report


Input = FilesSaved | Key | Reported


@dataclass(frozen=True)
class Watching:
    """The mode in which every key is a command."""


@dataclass(frozen=True)
class Offering:
    """The mode in which the key y does ``action``; any other key is a command, and ends the offer, as a check does."""

    action: Callable[[], None]


Mode = Watching | Offering


class Watch:
    """Checks the file of one step after another, and does what keys ask for, one input after another.

    Args:
        step: the first step.
        ready: the child of the next check.
        read_keys: returns the keys that have been pressed; None without a terminal.
    """

    def __init__(self, step: Step, ready: ReadyChild, read_keys: Callable[[], str] | None) -> None:
        self.step, self.ready, self.read_keys = step, ready, read_keys
        self.mode: Mode = Watching()
        self.inputs = queue.SimpleQueue[Input]()
        self.saves = Saves({step: step.learner_file for step in all_steps()})
        self.terminal = Terminal()
        self.running: BackgroundCheck | None = None  # the check whose verdict is awaited
        self.going_on: dict[Step, BackgroundCheck] = {}  # checks that have passed, and go on in the background
        self.to_show = Options()  # the options with which the key s would check
        self.is_over = False

    def follow(self) -> int:
        """Check at every save until the learner quits; return the exit status."""
        self.check()
        while not self.is_over:
            self.handle(self.next_input())
        return 0

    def next_input(self) -> Input:
        """Wait for an input: a report of a check, a key that was pressed, or files that were saved."""
        while True:
            with contextlib.suppress(queue.Empty):
                return self.inputs.get(timeout=LOOK_SECONDS)
            for letter in self.read_keys() if self.read_keys else "":
                self.inputs.put(Key(letter))
            if steps := self.saves.look():
                self.inputs.put(FilesSaved(steps))

    def handle(self, received: Input) -> None:
        """Do what an input asks for, or say why it cannot be done."""
        try:
            match self.mode, received:
                case _, FilesSaved(steps):
                    self.follow_saves(steps)
                case _, Reported(background, report):
                    self.follow_check(background, report)
                case _, Key(keyboard.GONE):
                    self.is_over = True
                case Offering(action), Key("y"):
                    self.mode = Watching()
                    action()
                case _, Key(letter):
                    self.mode = Watching()
                    self.press(letter)
        except UserError as error:
            words = str(error)
            self.terminal.line(words if words.endswith((".", "?")) else f"{words}.")

    # ------------------------------------------------------------ checks

    def check(self, options: Options | None = None, words: Sequence[str] = ()) -> None:
        """Check the file as it is now, and end any other check of it.

        Args:
            options: how the step is checked.
            words: sentences on what was done to the file before.
        """
        started = time.perf_counter()
        for before in (self.running, self.going_on.pop(self.step, None)):
            if before:  # a pass of it stays, not compiled
                before.cancel()
                before.join()
        self.saves.settle(self.step)
        self.mode, self.to_show = Watching(), Options()
        self.terminal.close()
        self.terminal = Terminal(blank.label for blank in blanks_of(self.step))
        if self.read_keys:
            self.terminal.console.clear()
        for line in words:
            self.terminal.line(line)
        offers = BY_KEYS if self.read_keys else AT_SAVE
        check = Check(self.step, Printer(self.terminal), options, offers=offers, started=started)
        running = BackgroundCheck(check, self.ready, self.notify)
        running.start()
        self.running = running

    def notify(self, background: BackgroundCheck, report: Report) -> None:
        """Put the report of a check among the inputs; called in the check's thread."""
        if report is Report.GOES_ON:
            background.check.stop_showing()  # its result will come in one line
        self.inputs.put(Reported(background, report))

    def follow_check(self, background: BackgroundCheck, report: Report) -> None:
        """Say what can be done after a check; print the result of a check that went on in the background."""
        step, state = background.check.step, background.check.state
        verdict = state.verdict
        if report is Report.GOES_ON and background is self.running:
            self.running, self.going_on[step] = None, background
            self.go_on(is_done=not state.why_not_saved)
        elif verdict and background is self.running:
            self.running = None
            if report is Report.BROKEN:  # on a GPU, after the verdict
                self.terminal.line(f"\n{FAULT}")
            about = next((explanation.about for explanation in verdict.explanations if explanation.has_numbers), "")
            self.to_show = Options(show=about, seed=state.failed_seed)
            self.go_on(is_done=verdict.kind is VerdictKind.PASS and not state.why_not_saved)
        elif report is Report.BROKEN and background is self.running:
            self.running = None
            self.terminal.line(f"\n{FAULT}")
            self.go_on(is_done=False)
        elif verdict and background is self.going_on.get(step):
            del self.going_on[step]
            self.terminal.line(f"\n{in_one_line(background.check)}")
            if report is Report.BROKEN:
                self.terminal.line(FAULT)
        elif report is Report.BROKEN and background is self.going_on.get(step):
            del self.going_on[step]
            self.terminal.line(f"\n{step.task} is not compiled. {pass_is_kept_or_not(state)} {FAULT}")

    def go_on(self, *, is_done: bool) -> None:
        """Say what can be done now; a step ``is_done`` if it has passed, and the pass is saved."""
        if is_done:
            self.terminal.line(f"\n{self.step.task} is done. {self.how_to_go_on()}")
        self.print_keys()

    def how_to_go_on(self) -> str:
        """Return how to get to the next step that is not done."""
        next_step = self.step_after()
        if not next_step:
            return NONE_LEFT
        if self.read_keys:
            return f"Press n for {next_step.task}, {next_step.read_title()}."
        return f"Save {relative_path(next_step.learner_file)} to go on with {next_step.task}, {next_step.read_title()}."

    def print_keys(self) -> None:
        """Say which file is watched, and which keys there are."""
        self.terminal.line(f"\nWatching {relative_path(self.step.learner_file)}: save it to check it again.")
        self.terminal.line(KEYS if self.read_keys else "Ctrl-C ends this.")

    def close(self) -> None:
        """End all checks."""
        for check in filter(None, [self.running, *self.going_on.values()]):
            check.cancel()
            check.join()
        self.terminal.close()

    # ------------------------------------------------------------ steps

    def follow_saves(self, steps: frozenset[Step]) -> None:
        """Check again if the file was saved; if another step's file was, and no other, check that step."""
        if self.step in steps:
            self.check()
        elif len(steps) == 1:
            (step,) = steps
            if standing_of(step).state not in (StepState.UNTOUCHED, StepState.MISSING):  # it was not reset
                self.go_to(step)

    def go_to(self, step: Step | None) -> None:
        """Go to another step, if there is one."""
        if step is None:
            self.terminal.line(f"\n{NONE_LEFT}")
        else:
            self.step = step
            self.check()

    def step_before(self) -> Step:
        """Return the step before this one in the order of the book; the first step has none, and is returned itself."""
        steps = all_steps()
        return steps[max(steps.index(self.step) - 1, 0)]

    def step_after(self) -> Step | None:
        """Return the next step that is not done."""
        steps = all_steps()
        at = steps.index(self.step)
        return first_to_do(map(standing_of, steps[at + 1 :] + steps[:at]))

    # ------------------------------------------------------------ keys

    def press(self, letter: str) -> None:
        """Do what a key asks for."""
        match letter:
            case "h":
                self.hint()
            case "s":
                self.check(self.to_show)
            case "c":
                self.do_or_offer(compare.warning_before(self.step), self.compare)
            case "x":
                self.offer_reset()
            case "n":
                self.go_to(self.step_after())
            case "p":
                self.go_to(self.step_before())
            case "l":
                list_all(self.terminal, self.step)
                self.print_keys()
            case "e":
                self.edit()
            case "r":
                self.check()
            case "q":
                self.is_over = True
            case _ if letter.strip() and letter != ESC:
                self.terminal.line(f"\nUnknown key. The keys are {KEYS}")

    def offer(self, what: str, action: Callable[[], None]) -> None:
        """Say what the key y would do, and do it if y is the next key."""
        self.terminal.line(f"\n{what} Press y to do so.")
        self.mode = Offering(action)

    def do_or_offer(self, warning: str, action: Callable[[], None]) -> None:
        """Do something at once, or offer it if there is a warning."""
        if warning:
            self.offer(warning, action)
        else:
            action()

    def compare(self) -> None:
        """Show the file beside the solution."""
        self.terminal.line()
        compare.show_differences(self.step, anyway=True)
        self.print_keys()

    def offer_reset(self) -> None:
        """Offer to start the step over."""
        file = relative_path(self.step.learner_file)
        self.offer(f"This makes {file} the skeleton again; what is there now is kept beside it.", self.reset)

    def reset(self) -> None:
        """Start the step over, and check it."""
        self.check(words=start_over(self.step))

    def edit(self) -> None:
        """Open the file in an editor; a running check, which would print into it, begins anew afterwards."""
        if not (running := self.running):
            open_in_editor(self.step.learner_file)
            return
        running.cancel()
        running.join()
        self.terminal.close()
        try:
            open_in_editor(self.step.learner_file)
        finally:
            self.check()

    def hint(self) -> None:
        """Give the next hint; offer the last one first."""
        self.terminal.line()
        following = hint.next_hint(self.step)
        warning = following.warning if following else ""
        self.do_or_offer(warning, partial(hint.show_hint, self.step, sure=True))


def in_one_line(check: Check) -> str:
    """Return the result of compiling, in one line."""
    task, state, verdict = check.step.task, check.state, check.state.verdict
    assert verdict
    if verdict.tried is not Tried.SOME:
        return f"{task} is compiled too, and gives the same numbers ({check.seconds():.1f} s)."
    if verdict.kind is VerdictKind.PASS:
        return f"{task}: {' '.join(verdict.sentences)}"
    sentences = " ".join(explanation.sentence for explanation in verdict.explanations)
    if verdict.blames is not Blames.NOT_THE_FILE:
        return f"{task} is no longer done: once compiled, it is wrong. {sentences} `./run {task}` shows it."
    return f"{task} is not compiled. {pass_is_kept_or_not(state)} {sentences}"


def watch_step(step: Step | None) -> int:
    """Watch a step, or the one to continue with, until the learner quits; return the exit status."""
    step = step or next_to_do(all_standings()) or all_steps()[0]
    exit_on_termination()
    with contextlib.closing(ReadyChild()) as ready, keys_of_terminal() as read_keys:
        try:
            with contextlib.closing(Watch(step, ready, read_keys)) as watching:
                return watching.follow()
        except KeyboardInterrupt:
            print("\nStopped. `./run watch` goes on with the next step to do.")
            return INTERRUPTED
