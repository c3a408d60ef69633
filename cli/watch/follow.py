"""Check a step at every save.

The verdict on the numbers need not wait for MAX to be imported: the child was started before the save and has already
imported it (``cli.checking``). A save during a check restarts it. When the file of another step is saved, that step is
followed. After a pass the key n goes on to the next step that is not done, while MAX compiles the last one.
"""

from __future__ import annotations

import contextlib
import queue
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from checker.course.blanks import blanks_of
from checker.course.paths import relative_path
from checker.course.standing import first_to_do, standing
from checker.course.steps import Step, all_steps, find_step
from checker.events import Options
from checker.interrupts import exit_on_termination
from checker.session.printer import Printer, View
from checker.session.session import Session
from checker.session.verdict import INTERRUPTED, PASSED
from cli import hint
from cli.checking import Check, ReadyChild
from cli.compare import WARNING, compare
from cli.reset import CannotReset, reset
from cli.status import list_all
from cli.watch.inputs import Inputs, Pressed, Saved, keys_of_terminal, saves_in, take

LOOK_SECONDS = 1.0  # between looks at the file itself, in case the system reports no change (network drives)
REPLACE_SECONDS = 0.3  # how long a file may be missing or empty while an editor replaces it
KEYS = "h hint, s show numbers, c compare, x reset, n next, p previous, l list, r check again, q quit"

#: When a file was changed, and its content. None if there is none.
Look = tuple[int, bytes] | None


class NothingToWatch(Exception):
    """There is no file to watch; the message says what to do."""


def look(path: Path) -> Look:
    """Return a file as it is now."""
    try:
        return path.stat().st_mtime_ns, path.read_bytes()
    except OSError:
        return None


class Watch:
    """Checks the file of one step after another, and does what keys ask for.

    Args:
        step: the first step.
        inputs: saves, keys, and checks.
        ready: the child of the next check.
        has_keys: whether there is a terminal.
    """

    def __init__(self, step: Step, inputs: Inputs, ready: ReadyChild, *, has_keys: bool) -> None:
        self.step, self.inputs, self.ready, self.has_keys = step, inputs, ready, has_keys
        self.printer = Printer()
        self.seen: Look = None  # the file of the last check
        self.running: Check | None = None  # the check whose verdict is awaited
        self.compiling: dict[Step, Check] = {}  # those that have passed, and go on in the background
        self.to_show = ""  # the function whose numbers the key s would show
        self.offered: Callable[[], None] | None = None  # what the key y would do
        self.typed: str | None = None  # what has been typed of a step's name after an l
        self.is_over = False
        self.keys: dict[str, Callable[[], None]] = {
            "h": self.hint,
            "s": self.show_numbers,
            "c": self.offer_compare,
            "x": self.offer_reset,
            "n": lambda: self.go_to(self.step_after(), "No other step is left to do."),
            "p": lambda: self.go_to(self.step_before(), "This is the first."),
            "l": self.list,
            "r": self.check,
            "q": self.quit,
        }

    def follow(self) -> int:
        """Check at every save until the learner quits; return the exit status."""
        self.check()
        while not self.is_over:
            match take(self.inputs, LOOK_SECONDS):
                case Pressed(key):
                    self.press(key)
                case Saved(names):
                    self.follow_save(names)
                case Check() as check:
                    self.hear(check)
                case None:
                    self.follow_save(frozenset())
        return 0

    # ------------------------------------------------------------ checks

    def check(self, show: str = "") -> None:
        """Check the file as it is now, and nothing else any more; ``show`` the numbers of a function."""
        started = time.perf_counter()
        for before in (self.running, self.compiling.pop(self.step, None)):
            if before:  # a pass stays, not compiled
                before.end()
                before.join()
        self.seen, self.to_show = self.settled(), ""
        self.printer.close()
        self.printer = Printer(blank.label for blank in blanks_of(self.step))
        self.printer.again = "save"
        if self.has_keys:
            self.printer.console.clear()
        session = Session(self.step, self.printer, Options(show=show), started)
        self.running = Check(session, self.ready, self.note)

    def settled(self) -> Look:
        """Return the file, after giving an editor that is replacing it time to finish."""
        deadline = time.monotonic() + REPLACE_SECONDS
        while not ((now := look(self.step.learner_file)) and now[1]) and time.monotonic() < deadline:
            time.sleep(0.01)
        return now

    def note(self, check: Check) -> None:
        """Take in what a check has come to, in its thread."""
        if check.may_go_on:
            check.session.view.close()
            check.session.view = View()  # what it goes on to say comes in one line
        self.inputs.put(check)

    def hear(self, check: Check) -> None:
        """Print the verdict of the check that was awaited, or the result of one that went on in the background."""
        step = check.session.step
        if check is self.running:
            self.running = None
            if check.may_go_on:
                self.compiling[step] = check
                return self.go_on(has_passed=True)
            verdict = check.session.conclude()
            self.to_show = next((why.about for why in verdict.explanations if why.numbers), "")
            self.go_on(has_passed=verdict.status == PASSED)
        elif check is self.compiling.get(step):
            del self.compiling[step]
            self.printer.line(f"\n{in_one_line(check.session)}")

    def go_on(self, *, has_passed: bool) -> None:
        """Say what can be done now."""
        if has_passed:
            coming = self.step_after()
            on = f"Press n for {coming.task}, {coming.title}." if coming else "No other step is left to do."
            self.printer.line(f"\n{self.step.task} is done. {on}")
        self.say_keys()

    def say_keys(self) -> None:
        """Say what is watched, and which keys there are."""
        self.printer.line(f"\nWatching {relative_path(self.step.learner_file)}: save it to check it again.")
        self.printer.line(KEYS if self.has_keys else "Ctrl-C ends this.")

    def close(self) -> None:
        """End all checks."""
        checks = [*self.compiling.values(), *filter(None, [self.running])]
        for check in checks:
            check.end()
        for check in checks:
            check.join()
        self.printer.close()

    # ------------------------------------------------------------ steps

    def follow_save(self, names: frozenset[str]) -> None:
        """Check again if the file was saved, or check another step whose file is the only one among ``names``."""
        now = look(self.step.learner_file)
        has_other_text = now is not None and (self.seen is None or now[1] != self.seen[1])
        if has_other_text if self.running else now != self.seen:
            return self.check()
        saved = [step for step in all_steps() if step.learner_file.name in names and step != self.step]
        if len(saved) == 1 and standing(saved[0]).state not in ("untouched", "missing"):  # it was not reset
            self.go_to(saved[0])

    def go_to(self, step: Step | None, otherwise: str = "") -> None:
        """Go to another step, or say why there is none."""
        if step is None:
            return self.printer.line(f"\n{otherwise}")
        self.step = step
        self.check()

    def step_after(self) -> Step | None:
        """Return the next step that is not done."""
        steps = all_steps()
        at = steps.index(self.step)
        return first_to_do(steps[at + 1 :] + steps[:at])

    def step_before(self) -> Step | None:
        """Return the step before this one."""
        steps = all_steps()
        at = steps.index(self.step)
        return steps[at - 1] if at else None

    # ------------------------------------------------------------ keys

    def press(self, key: str) -> None:
        """Do what a key asks for."""
        if self.typed is not None and self.type_name(key):
            return
        offered, self.offered = self.offered, None
        if key == "y" and offered:
            offered()
        elif key in self.keys:
            self.keys[key]()
        elif key.strip():
            self.printer.line(f"\nUnknown key. The keys are {KEYS}")

    def quit(self) -> None:
        """End the watch."""
        self.is_over = True

    def list(self) -> None:
        """List all steps, and let the learner type the name of one."""
        self.printer.line()
        list_all(self.printer, self.step)
        self.printer.line("\nType a step, 07 or w01, and Enter to go there.")
        self.typed = ""
        self.say_keys()

    def type_name(self, key: str) -> bool:
        """Take in a key of a step's name, or the end of it; return whether it was one."""
        typed = self.typed or ""
        if key.isdigit() or (key in "sw" and not typed):
            self.typed = typed + key
            self.printer.console.print(key, end="")
            return True
        self.typed = None
        if not key.isspace() or not typed:
            return False
        try:
            self.go_to(find_step(typed))
        except ValueError as error:
            self.printer.line(f"\n{error}")
        return True

    def offer(self, what: str, then: Callable[[], None]) -> None:
        """Say what a y would do, and do it if y is the next key."""
        self.printer.line(f"\n{what} Press y to do so.")
        self.offered = then

    def show_numbers(self) -> None:
        """Check again, and show the numbers of the function that was wrong."""
        if self.to_show:
            self.check(self.to_show)
        else:
            self.printer.line("\nThe last check has no wrong numbers to show.")

    def offer_compare(self) -> None:
        """Show the file beside the solution; if it has not passed, offer that first."""
        if standing(self.step).state == "done":
            self.compare()
        else:
            self.offer(WARNING, self.compare)

    def compare(self) -> None:
        """Show the file beside the solution."""
        self.printer.line()
        compare(self.step, whole=False, anyway=True)
        self.say_keys()

    def offer_reset(self) -> None:
        """Offer to start the step over."""
        file = relative_path(self.step.learner_file)
        self.offer(f"This makes {file} the skeleton again; what is there now is kept beside it.", self.reset)

    def reset(self) -> None:
        """Start the step over."""
        try:
            reset([self.step], sure=True)
        except CannotReset as error:
            self.printer.line(f"{error}.")
        self.check()

    def hint(self, *, last: bool = False) -> None:
        """Give the next hint; offer the last one first."""

        def may_tell_all(what: str) -> bool:
            if not last:
                self.offer(what, partial(self.hint, last=True))
            return last

        self.printer.line()
        try:
            hint.tell(self.step, self.printer, may_tell_all)
        except hint.NoHints as error:
            self.printer.line(f"{error}.")


def in_one_line(session: Session) -> str:
    """Return the result of compiling, in one line."""
    task, verdict = session.step.task, session.conclude()
    if verdict.status == PASSED:
        return f"{task} is compiled too, and gives the same numbers ({session.seconds():.1f} s)."
    why = " ".join(explanation.sentence for explanation in verdict.explanations)
    if session.state.has_failed:
        return f"{task} is no longer done: once compiled, it is wrong. {why} `./run {task}` shows it."
    return f"{task} is not compiled; its pass is kept. {why}"


def watch(step: Step | None) -> int:
    """Watch a step, or the first that is not done, until the learner quits; return the exit status.

    Raises:
        NothingToWatch: the folder of the learner's files is missing.
    """
    step = step or first_to_do(all_steps())
    if step is None:
        print("Every step and warm-up is done. `./run watch 07` watches one anyway.")
        return 0
    folder = step.learner_file.parent
    if not folder.is_dir():
        raise NothingToWatch(f"{relative_path(folder)} is missing; `./run skeletons` writes it anew")
    exit_on_termination()
    inputs: Inputs = queue.SimpleQueue()
    with (
        contextlib.closing(ReadyChild()) as ready,
        saves_in(folder, inputs),
        keys_of_terminal(inputs) as has_keys,
    ):
        try:
            with contextlib.closing(Watch(step, inputs, ready, has_keys=has_keys)) as watching:
                return watching.follow()
        except KeyboardInterrupt:
            print("\nStopped. `./run watch` goes on with the first step that is not done.")
            return INTERRUPTED
