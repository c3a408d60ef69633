"""Check a step at every save.

The verdict on the numbers need not wait for MAX to be imported: the grading child was started before the save and has
already imported it (``session.child``). Every check gets a new child. A save during a check restarts it. When the file
of another step is saved, that step is followed. After a pass the key n goes on to the next step that is not done;
without a terminal, which has no keys, ``watch`` goes on by itself.
"""

from __future__ import annotations

import contextlib
import queue
import time
from collections.abc import Callable
from enum import Enum, auto
from functools import partial
from pathlib import Path

from checker.course.blanks import blanks_of
from checker.course.paths import relative_path
from checker.course.standing import first_to_do, standing
from checker.course.steps import Step, all_steps, find_step
from checker.events import DRAWN, StageEnded
from checker.interrupts import exit_on_termination
from checker.session.printer import Printer
from checker.session.session import Options, Session
from checker.session.verdict import INTERRUPTED, PASSED
from cli import hint
from cli.compare import WARNING, compare
from cli.reset import CannotReset, reset
from cli.status import list_all
from cli.watch.background import Compilation
from cli.watch.inputs import Compiled, Inputs, Pressed, Saved, keys_of_terminal, saves_in, take
from cli.watch.ready import ReadyChild

LOOK_SECONDS = 1.0  # between looks at the file itself, in case the system reports no change (network drives)
REPLACE_SECONDS = 0.3  # how long a file may be missing or empty while an editor replaces it
KEYS = "h hint, s show numbers, c compare, x reset, n next, p previous, l list, r check again, q quit"

#: A file as it was found: when it was changed, and its content. None if there is none.
Look = tuple[int, bytes] | None


class Next(Enum):
    """The next move, after something has happened."""

    WAIT = auto()
    CHECK = auto()
    QUIT = auto()


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
        inputs: saves, keys, and what was compiled.
        ready: the child of the next check.
        has_keys: whether there is a terminal.
    """

    def __init__(self, step: Step, inputs: Inputs, ready: ReadyChild, *, has_keys: bool) -> None:
        self.step = step
        self.inputs = inputs
        self.ready = ready
        self.has_keys = has_keys
        self.printer = Printer()
        self.seen: Look = None  # the file of the last check
        self.looked = 0.0
        self.showing = ""  # the function whose numbers the next check shows
        self.to_show = ""  # the function whose numbers the key s would show
        self.offered: Callable[[], Next] | None = None  # what the key y would do
        self.picking: str | None = None  # what has been typed of a step's name after an l
        self.compilations: dict[Step, Compilation] = {}

    def follow(self) -> int:
        """Check at every save until the learner quits or, without keys, nothing is left; return the exit status."""
        following = Next.CHECK
        while following is not Next.QUIT:
            result = self.check()
            following = result if isinstance(result, Next) else self.after(result)
        return 0

    def check(self) -> int | Next:
        """Check the file as it is now; return the exit status of its verdict, or the move that interrupted it.

        After an s, it also shows the numbers that were asked for.
        """
        step, started = self.step, time.perf_counter()
        options, self.showing, self.to_show = Options(show=self.showing), "", ""
        self.cancel(step)
        self.seen = self.settled()
        self.printer = Printer(blank.label for blank in blanks_of(step))
        self.printer.again = "save"
        if self.has_keys:
            self.printer.console.clear()
        session = Session(step, self.printer, options, started)
        if session.job:
            child = self.ready.take(step)
            events = child.run(session.job)
            try:
                for event in events:
                    session.hear(event)
                    if event == StageEnded(DRAWN):  # from now on this child only compiles
                        self.ready.prepare(step)
                    if session.may_go_on:
                        self.compilations[step] = Compilation(session, child, events, self.inputs)
                        return PASSED
                    if (following := self.react(checking=True)) is not Next.WAIT:
                        return following
            finally:
                self.printer.close()
                if step not in self.compilations:
                    child.stop()
        self.ready.prepare(step)
        verdict = session.conclude()
        self.to_show = next((why.about for why in verdict.explanations if why.numbers), "")
        return verdict.status

    def cancel(self, step: Step) -> None:
        """Stop what runs in the background for a step; its pass stays, not compiled."""
        if compilation := self.compilations.pop(step, None):
            compilation.cancel()

    def close(self) -> None:
        """Stop everything that runs in the background."""
        for step in list(self.compilations):
            self.cancel(step)

    def settled(self) -> Look:
        """Return the file, after giving an editor that is replacing it time to finish."""
        deadline = time.monotonic() + REPLACE_SECONDS
        while not ((now := look(self.step.learner_file)) and now[1]) and time.monotonic() < deadline:
            time.sleep(0.01)
        return now

    def after(self, verdict: int) -> Next:
        """Say what can be done now, and wait until a key or a save asks for something."""
        coming = self.step_after()
        if verdict == PASSED and coming and not self.has_keys:
            self.printer.line(f"\nOn to {relative_path(coming.learner_file)}.\n")
            return self.go_to(coming, "")
        if verdict == PASSED:
            on = f"Press n for {coming.task}, {coming.title}." if coming else "No other step is left to do."
            self.printer.line(f"\n{self.step.task} is done. {on}")
        ends = verdict == PASSED and not self.has_keys  # once everything in the background has ended
        if not ends:
            self.say_keys()
        following = Next.WAIT
        while following is Next.WAIT:
            if ends and not self.compilations:
                return Next.QUIT
            following = self.react(checking=False, seconds=LOOK_SECONDS)
        return following

    def say_keys(self) -> None:
        """Say what is watched, and which keys there are."""
        self.printer.line(f"\nWatching {relative_path(self.step.learner_file)}: save it to check it again.")
        self.printer.line(KEYS if self.has_keys else "Ctrl-C ends this.")

    def step_after(self) -> Step | None:
        """Return the next step that is not done; without keys, only a later one."""
        steps = all_steps()
        at = steps.index(self.step)
        return first_to_do(steps[at + 1 :] + (steps[:at] if self.has_keys else []))

    # ------------------------------------------------------------ saves

    def react(self, *, checking: bool, seconds: float = 0) -> Next:
        """Act on the saves and keys that have come, or on the first that comes within ``seconds``."""
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
        """Print the result of a check that ran in the background, unless it was canceled just then."""
        compilation = self.compilations.get(compiled.step)
        if compilation and compilation.session is compiled.session:
            del self.compilations[compiled.step]
            self.printer.line(f"\n{compiled.line}")
        return Next.WAIT

    def follow_save(self, names: frozenset[str], checking: bool) -> Next:
        """Check again if the file was saved, or check another step whose file is the only one among ``names``."""
        self.looked = time.monotonic()
        now = look(self.step.learner_file)
        has_other_text = now is not None and (self.seen is None or now[1] != self.seen[1])
        if has_other_text if checking else now != self.seen:
            if checking and not self.has_keys:
                self.printer.line("\nSaved again: this check is abandoned.\n")
            return Next.CHECK
        saved = [step for step in all_steps() if step.learner_file.name in names and step != self.step]
        if len(saved) == 1 and standing(saved[0]).state not in ("untouched", "missing"):  # it was not reset
            return self.go_to(saved[0], "")
        return Next.WAIT

    # ------------------------------------------------------------ keys

    def press(self, key: str) -> Next:
        """Do what a key asks for."""
        if self.picking is not None and (following := self.pick(key)):
            return following
        offered, self.offered = self.offered, None
        steps = all_steps()
        at = steps.index(self.step)
        match key:
            case "y" if offered:
                return offered()
            case "h":
                self.hint()
            case "s" if self.to_show:
                self.showing = self.to_show
                return Next.CHECK
            case "s":
                self.printer.line("\nThe last check has no wrong numbers to show.")
            case "c":
                return self.offer_compare()
            case "x":
                file = relative_path(self.step.learner_file)
                return self.offer(
                    f"This makes {file} the skeleton again; what is there now is kept beside it.", self.reset
                )
            case "l":
                self.printer.line()
                list_all(self.printer, self.step)
                self.printer.line("\nType a step, 07 or w01, and Enter to go there.")
                self.picking = ""
                self.say_keys()
            case "n":
                return self.go_to(self.step_after(), "No other step is left to do.")
            case "p":
                return self.go_to(steps[at - 1] if at else None, "This is the first.")
            case "r":
                return Next.CHECK
            case "q":
                return Next.QUIT
            case _ if key.strip():
                self.printer.line(f"\nUnknown key. The keys are {KEYS}")
        return Next.WAIT

    def pick(self, key: str) -> Next | None:
        """Take in a key of a step's name; return None if it is not part of one, and keeps its usual meaning."""
        typed = self.picking or ""
        if key.isdigit() or (key in "sw" and not typed):
            self.picking = typed + key
            self.printer.console.print(key, end="")
            return Next.WAIT
        self.picking = None
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
        """Say what a y would do, and do it if y is the next key."""
        self.printer.line(f"\n{what} Press y to do so.")
        self.offered = then
        return Next.WAIT

    def offer_compare(self) -> Next:
        """Show the file beside the solution; if it has not passed, offer that first."""
        return self.compare() if standing(self.step).state == "done" else self.offer(WARNING, self.compare)

    def compare(self) -> Next:
        """Show the file beside the solution."""
        self.printer.line()
        compare(self.step, whole=False, anyway=True)
        self.say_keys()
        return Next.WAIT

    def reset(self) -> Next:
        """Start the step over."""
        try:
            reset([self.step], sure=True)
        except CannotReset as error:
            self.printer.line(f"{error}.")
        return Next.CHECK

    def hint(self, *, last: bool = False) -> Next:
        """Give the next hint; offer the last one first."""

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
