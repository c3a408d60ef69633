"""Check a step at every save.

The verdict on the numbers need not wait for MAX to be imported: the grading child was started before the save and has
already imported it (``session.child``). Every check gets a new child. ``./run bench-loop`` times it. A save during a
check restarts it. When the file of another step is saved, that step is followed. After a pass the key n goes on to the
next step that is not done; without a terminal, which has no keys, ``watch`` goes on by itself.
"""

from __future__ import annotations

import contextlib
import queue
import time
from collections.abc import Generator
from pathlib import Path

from checker.course.blanks import blanks_of
from checker.course.paths import relative_path
from checker.course.standing import first_to_do, standing
from checker.course.steps import Step, all_steps
from checker.events import DRAWN, Event, StageEnded
from checker.interrupts import exit_on_termination
from checker.session.child import Child
from checker.session.printer import Printer
from checker.session.session import Options, Session
from checker.session.verdict import INTERRUPTED, PASSED
from cli.watch.background import Compilation
from cli.watch.inputs import Compiled, Inputs, Pressed, Saved, keys_of_terminal, saves_in, take
from cli.watch.keys import KEYS, Keys, Next
from cli.watch.ready import ReadyChild

LOOK_SECONDS = 1.0  # between looks at the file itself, in case the system reports no change (network drives)
REPLACE_SECONDS = 0.3  # how long a file may be missing or empty while an editor replaces it

#: A file as it was found: when it was changed, and its content. None if there is none.
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
    """Checks the file of one step after another."""

    def __init__(self, step: Step, inputs: Inputs, ready: ReadyChild, *, has_keys: bool) -> None:
        self.step = step
        self.inputs = inputs
        self.ready = ready
        self.has_keys = has_keys
        self.printer = Printer()
        self.seen: Look = None  # the file of the last check
        self.looked = 0.0
        self.keys = Keys(self)
        self.showing = ""  # the function whose numbers the next check shows
        self.to_show = ""  # the function whose numbers the key s would show
        self.compilations: dict[Step, Compilation] = {}

    def follow(self) -> int:
        """Check at every save until the learner quits or, without keys, nothing is left; return the exit status."""
        while True:
            result = self.check()
            following = result if isinstance(result, Next) else self.after(result)
            if following is Next.QUIT:
                return 0

    def check(self) -> int | Next:
        """Check the file as it is now; return the exit status of its verdict, or the move that interrupted it.

        After an s, it also shows the numbers that were asked for.
        """
        show, self.showing = self.showing, ""
        started = time.perf_counter()
        self.cancel(self.step)
        self.to_show = ""
        self.seen = self.settled()
        self.printer = Printer(blank.label for blank in blanks_of(self.step))
        self.printer.again = "save"
        if self.has_keys:
            self.printer.console.clear()
        check = Session(self.step, self.printer, Options(show=show), started)
        if not check.job:
            self.ready.prepare(self.step)
            return check.conclude().status
        child = self.ready.take(self.step)
        events = child.run(check.job)
        try:
            for event in events:
                check.hear(event)
                if event == StageEnded(DRAWN):  # from now on this child only compiles
                    self.ready.prepare(self.step)
                if check.may_go_on:
                    return self.go_on(check, child, events)
                following = self.react(checking=True)
                if following is not Next.WAIT:
                    return following
        finally:
            self.printer.close()
            if check.step not in self.compilations:  # self.step may be another by now
                child.stop()
        self.ready.prepare(self.step)
        verdict = check.conclude()
        self.to_show = next((one.about for one in verdict.explanations if one.numbers), "")
        return verdict.status

    def go_on(self, check: Session, child: Child, events: Generator[Event]) -> int:
        """Let the rest of a check that has passed already go on in the background."""
        self.compilations[check.step] = Compilation(check, child, events, self.inputs)
        return PASSED

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
        while True:
            found = look(self.step.learner_file)
            if (found and found[1]) or time.monotonic() > deadline:
                return found
            time.sleep(0.01)

    def after(self, verdict: int) -> Next:
        """Say what can be done now, and wait until a key or a save asks for something."""
        coming = self.step_after()
        if verdict == PASSED and coming and not self.has_keys:
            self.printer.line(f"\nOn to {relative_path(coming.learner_file)}.\n")
            self.step = coming
            return Next.CHECK
        if verdict == PASSED:
            on = f"Press n for {coming.task}, {coming.title}." if coming else "No other step is left to do."
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
        """Return the next step that is not done; without keys, only a later one."""
        steps = all_steps()
        at = steps.index(self.step)
        return first_to_do(steps[at + 1 :] + (steps[:at] if self.has_keys else []))

    def react(self, *, checking: bool, seconds: float = 0) -> Next:
        """Act on the saves and keys that have come, or on the first that comes within ``seconds``."""
        while came := take(self.inputs, seconds):
            match came:
                case Pressed(key):
                    following = self.keys.press(key)
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
        if compilation and compilation.check is compiled.check:
            del self.compilations[compiled.step]
            self.printer.line(f"\n{compiled.line}")
        return Next.WAIT

    def wait_for_compilations(self) -> Next:
        """Quit when everything in the background has ended; go on if something is saved before that."""
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
        """Return whether the file has changed since the last check; during a check, whether its content has."""
        now = look(self.step.learner_file)
        if checking:
            return now is not None and (self.seen is None or now[1] != self.seen[1])
        return now != self.seen

    def other_saved(self, names: frozenset[str]) -> Step | None:
        """Return the other step whose file was saved, if it is the only one and is not the skeleton again."""
        saved = [step for step in all_steps() if step.learner_file.name in names and step != self.step]
        if len(saved) != 1 or standing(saved[0]).state in ("untouched", "missing"):
            return None
        return saved[0]


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
