"""Check a step at every save.

The verdict on the numbers need not wait for MAX to be imported: the child that grades was started before the
save and has done that (``session.child``); every check has a new one. ``./run bench-watch`` times it. A save
during a check begins it anew. When the file of another step is saved, that step is followed. After a yes the
key n goes on to the next step that is not done; without a terminal, which has no keys, ``watch`` goes on by
itself.
"""

from __future__ import annotations

import contextlib
import queue
import signal
import sys
import time
from collections.abc import Callable, Generator
from enum import Enum, auto
from functools import partial
from pathlib import Path

from checker.companions import hint
from checker.companions.compare import compare
from checker.companions.reset import CannotReset, reset
from checker.companions.status import list_all
from checker.companions.watch.background import Compilation
from checker.companions.watch.inputs import Compiled, Inputs, Pressed, Saved, keys_of_terminal, saves_in, take
from checker.course.blanks import find_blanks
from checker.course.paths import ROOT, SOLUTIONS, TESTS, relative_path
from checker.course.standing import first_to_do, standing, title
from checker.course.steps import Step, all_steps, find_step
from checker.events import Decided, Event
from checker.session.check import Check, open_check
from checker.session.child import Child
from checker.session.printer import Printer
from checker.session.verdict import INTERRUPTED, YES

KEYS = "h hint, s show numbers, c compare, x reset, n next, p previous, l list, r check again, q quit"

LOOK_SECONDS = 1.0  # between looks at the file itself, should the system not tell of a change (network drives)
REPLACE_SECONDS = 0.3  # for an editor that replaces a file: so long there may be none, or an empty one

#: A file as it was found: when it was changed, and its content. None if there is none.
Look = tuple[int, bytes] | None


class NothingToWatch(Exception):
    """There is no file to watch; the message says what to do."""


class Next(Enum):
    """The next move, after something has happened."""

    WAIT = auto()
    CHECK = auto()
    QUIT = auto()


class ReadyChild:
    """The child of the next check, started ahead of it."""

    def __init__(self) -> None:
        self.child: Child | None = None
        self.step: Step | None = None
        self.started = 0

    def prepare(self, step: Step) -> None:
        """Have a child get ready for a check of ``step``, which takes it a second."""
        if not self._fits(step):
            self.close()
            self.child, self.step, self.started = Child(step), step, newest_change()

    def take(self, step: Step) -> Child:
        """Return a child for a check of ``step``; the caller stops it."""
        if not self._fits(step):
            self.close()
        child, self.child = self.child or Child(), None
        return child

    def _fits(self, step: Step) -> bool:
        alive = self.child is not None and self.child.process.poll() is None
        return alive and self.step == step and self.started == newest_change()

    def close(self) -> None:
        """End the child that nobody took."""
        if self.child:
            self.child.stop()
        self.child = None


def newest_change() -> int:
    """Return the time of the last change of a file that a child imports beforehand, in nanoseconds."""
    folders = (ROOT / "checker", SOLUTIONS, TESTS)
    return max(path.stat().st_mtime_ns for folder in folders for path in folder.rglob("*.py"))


def look(path: Path) -> Look:
    """Return a file as it is now."""
    try:
        return path.stat().st_mtime_ns, path.read_bytes()
    except OSError:
        return None


class Watch:
    """Checks the file of one step after the other."""

    def __init__(self, step: Step, inputs: Inputs, ready: ReadyChild, *, has_keys: bool) -> None:
        self.step = step
        self.inputs = inputs
        self.ready = ready
        self.has_keys = has_keys
        self.printer = Printer()
        self.seen: Look = None  # the file of the last check
        self.looked = 0.0
        self.offered: Callable[[], Next] | None = None  # what a y would do
        self.picking: str | None = None  # what was typed of a step after an l
        self.showing = ""  # the function whose numbers the next check shows
        self.to_show = ""  # the function whose numbers an s would show
        self.compilations: dict[Step, Compilation] = {}

    def follow(self) -> int:
        """Check, and check again, until the learner quits or, without keys, nothing is left; the exit status."""
        while True:
            result = self.check()
            following = result if isinstance(result, Next) else self.after(result)
            if following is Next.QUIT:
                return 0

    def check(self) -> int | Next:
        """Check the file as it is now: the exit status of its verdict, or what has come in between.

        After an s, the numbers are shown that it is about.
        """
        (show, self.showing) = (self.showing, "")
        started = time.perf_counter()
        self.cancel(self.step)
        self.seen = self.settled()
        self.printer = Printer(blank.label for blank in find_blanks(self.step.solution_file.read_text()))
        self.printer.again = "save"
        if self.has_keys:
            self.printer.console.clear()
        check = open_check(self.step, self.printer, started, show=show)
        if isinstance(check, int):
            self.ready.prepare(self.step)
            return check
        child = self.ready.take(self.step)
        events = child.run(check.job)
        try:
            for event in events:
                check.hear(event)
                if isinstance(event, Decided):  # from now on this child only compiles
                    self.ready.prepare(self.step)
                if check.report.may_go_on:
                    return self.go_on(check, child, events)
                following = self.react(checking=True)
                if following is not Next.WAIT:
                    return following
        finally:
            self.printer.close()
            if self.step not in self.compilations:
                child.stop()
        self.ready.prepare(self.step)
        verdict = check.conclude()
        self.to_show = next((one.about for one in verdict.explanations if one.numbers), "")
        return verdict.status

    def go_on(self, check: Check, child: Child, events: Generator[Event]) -> int:
        """Let the rest of a check, which is a yes by now, go on in the background."""
        self.compilations[check.step] = Compilation(check, child, events, self.inputs)
        return YES

    def cancel(self, step: Step) -> None:
        """End what goes on in the background for a step; its yes stays, not compiled."""
        if compilation := self.compilations.pop(step, None):
            compilation.cancel()

    def close(self) -> None:
        """End all that goes on in the background."""
        for step in list(self.compilations):
            self.cancel(step)

    def settled(self) -> Look:
        """Return the file, when an editor that is replacing it has had time to do so."""
        deadline = time.monotonic() + REPLACE_SECONDS
        while True:
            found = look(self.step.learner_file)
            if (found and found[1]) or time.monotonic() > deadline:
                return found
            time.sleep(0.01)

    def after(self, verdict: int) -> Next:
        """Say what can be done now, and wait until something is."""
        coming = self.step_after()
        if verdict == YES and coming and not self.has_keys:
            self.printer.line(f"\nOn to {relative_path(coming.learner_file)}.\n")
            self.step = coming
            return Next.CHECK
        if verdict == YES:
            on = f"Press n for {coming.task}, {title(coming)}." if coming else "No other step is left to do."
            self.printer.line(f"\n{self.step.task} is done. {on}")
            if not self.has_keys:
                return self.wait_for_compilations()
        self.say_keys()
        while (following := self.react(checking=False, seconds=LOOK_SECONDS)) is Next.WAIT:
            pass
        return following

    def say_keys(self) -> None:
        """Say what is watched, and which keys there are."""
        self.printer.line(f"\nWatching {relative_path(self.step.learner_file)}: save it to check it again.")
        self.printer.line(KEYS if self.has_keys else "Ctrl-C ends this.")

    def step_after(self) -> Step | None:
        """Return the next step that is not done, without keys only a later one."""
        steps = all_steps()
        at = steps.index(self.step)
        return first_to_do(steps[at + 1 :] + (steps[:at] if self.has_keys else []))

    def react(self, *, checking: bool, seconds: float = 0) -> Next:
        """Do what saves and keys ask for, those that have come or the first that comes within ``seconds``."""
        while came := take(self.inputs, seconds):
            match came:
                case Pressed(key):
                    following = self.press(key)
                case Saved(names):
                    following = self.follow_save(names, checking)
                case Compiled():
                    following = self.say_compiled(came)
            if following is not Next.WAIT:
                return following
            seconds = 0
        if time.monotonic() - self.looked > LOOK_SECONDS:
            return self.follow_save(frozenset(), checking)
        return Next.WAIT

    def say_compiled(self, compiled: Compiled) -> Next:
        """Say what came of a check that went on in the background, unless it was cancelled just then."""
        compilation = self.compilations.get(compiled.step)
        if compilation and compilation.check is compiled.check:
            del self.compilations[compiled.step]
            self.printer.line(f"\n{compiled.line}")
        return Next.WAIT

    def wait_for_compilations(self) -> Next:
        """Quit when all that goes on in the background has ended; go on if something is saved before."""
        following = Next.WAIT
        while self.compilations and following is Next.WAIT:
            following = self.react(checking=False, seconds=LOOK_SECONDS)
        return Next.QUIT if following is Next.WAIT else following

    def follow_save(self, names: frozenset[str], checking: bool) -> Next:
        """Check again if the file was saved, or check another step whose file is among ``names``."""
        self.looked = time.monotonic()
        if self.was_saved(checking):
            if checking and not self.has_keys:
                self.printer.line("\nSaved again: this check is abandoned.\n")
            return Next.CHECK
        if other := self.other_saved(names):
            self.step = other
            return Next.CHECK
        return Next.WAIT

    def was_saved(self, checking: bool) -> bool:
        """Return whether the file is another than at the last check; during one, whether its content is."""
        now = look(self.step.learner_file)
        if checking:
            return now is not None and (self.seen is None or now[1] != self.seen[1])
        return now != self.seen

    def other_saved(self, names: frozenset[str]) -> Step | None:
        """Return the other step whose file was saved, if it is one, and not put back to its skeleton."""
        saved = [step for step in all_steps() if step.learner_file.name in names and step != self.step]
        if len(saved) != 1 or standing(saved[0]).state in ("untouched", "missing"):
            return None
        return saved[0]

    def press(self, key: str) -> Next:
        """Do what a key asks for."""
        if self.picking is not None and (following := self.pick(key)):
            return following
        (offered, self.offered) = (self.offered, None)
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
                self.printer.line()
                list_all(self.printer, self.step)
                self.printer.line("\nType a step, 07 or w01, and Enter to go there.")
                self.picking = ""
                self.say_keys()
            case "n":
                return self.go_to(self.step_after(), "No other step is left to do.")
            case "p":
                steps = all_steps()
                at = steps.index(self.step)
                return self.go_to(steps[at - 1] if at else None, "This is the first.")
            case "r":
                return Next.CHECK
            case "q":
                return Next.QUIT
            case _ if key.strip():
                self.printer.line(f"\nNo key does that: {KEYS}")
        return Next.WAIT

    def pick(self, key: str) -> Next | None:
        """Take in a key of a step's name; None if it is none, and means what it means elsewhere."""
        assert self.picking is not None
        if key.isdigit() or (key in "sw" and not self.picking):
            self.picking += key
            self.printer.console.print(key, end="")
            return Next.WAIT
        (typed, self.picking) = (self.picking, None)
        if not key.isspace() or not typed:
            return None
        try:
            return self.go_to(find_step(typed), "")
        except ValueError as error:
            self.printer.line(f"\n{error}")
            return Next.WAIT

    def go_to(self, step: Step | None, otherwise: str) -> Next:
        """Go to another step, or say why there is none."""
        if step is None:
            self.printer.line(f"\n{otherwise}")
            return Next.WAIT
        self.step = step
        return Next.CHECK

    def offer(self, what: str, then: Callable[[], Next]) -> Next:
        """Say what a y would do, and have it done if that is the next key."""
        self.printer.line(f"{what} Press y to do so.")
        self.offered = then
        return Next.WAIT

    def show(self) -> Next:
        """Check again, and show the numbers of the function that is to be mended first."""
        if not self.to_show:
            self.printer.line("\nThe last check has no wrong numbers to show.")
            return Next.WAIT
        self.showing = self.to_show
        return Next.CHECK

    def compare(self, *, anyway: bool = False) -> Next:
        """Show the file beside the solution; if it has no yes, only when that was offered and taken."""
        self.printer.line()
        if not anyway and standing(self.step).state != "done":
            return self.offer(
                "This step has no yes yet, and comparing shows the solution.", partial(self.compare, anyway=True)
            )
        compare(self.step, whole=False, anyway=True)
        self.say_keys()
        return Next.WAIT

    def reset(self, *, sure: bool = False) -> Next:
        """Begin the step again, when that was offered and taken."""
        self.printer.line()
        file = relative_path(self.step.learner_file)
        if not sure:
            return self.offer(
                f"This makes {file} the skeleton again; what is there now is kept beside it.",
                partial(self.reset, sure=True),
            )
        try:
            reset([self.step], sure=True)
        except CannotReset as error:
            self.printer.line(f"{error}.")
        return Next.CHECK

    def hint(self, *, last: bool = False) -> Next:
        """Give the next hint; the last one only when it was offered and taken."""

        def may_tell_all(what: str) -> bool:
            if not last:
                self.offer(what, partial(self.hint, last=True))
            return last

        self.printer.line()
        try:
            hint.tell_next(self.step, self.printer, may_tell_all)
        except hint.NoHints as error:
            self.printer.line(f"{error}.")
        return Next.WAIT


def watch(step: Step | None) -> int:
    """Watch a step, or the first that is not done, until the learner quits; return the exit status.

    Raises:
        NothingToWatch: the folder of the learner's files is missing.
    """
    step = step or first_to_do(all_steps())
    if step is None:
        print("Every step and warm-up is done. `./run watch 07` watches one all the same.")
        return 0
    folder = step.learner_file.parent
    if not folder.is_dir():
        raise NothingToWatch(f"{relative_path(folder)} is missing; `./run skeletons` writes it anew")
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, frame: sys.exit(128 + number))  # by way of everything that is closed below
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
