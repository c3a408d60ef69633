"""Check a step at every save, and do what keys ask for.

The verdict on the numbers need not wait for MAX to be imported: the child was started before the save and has already
imported it (``cli.checking``). A save during a check restarts it. When the file of another step is saved, that step is
followed. After a pass the key n goes on to the next step that is not done, while MAX compiles the last one.
"""

from __future__ import annotations

import contextlib
import os
import queue
import re
import select
import shlex
import subprocess
import sys
import termios
import time
import tty
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from checker.course.blanks import blanks_of
from checker.course.progress import first_to_do, next_to_do, standing
from checker.course.steps import Step, all_steps, relative_path
from checker.errors import UserError
from checker.events import Options
from checker.interrupts import INTERRUPTED, exit_on_termination
from checker.session.printer import Printer, View
from checker.session.session import Session
from checker.session.state import Verdict
from checker.session.verdict import PASSED
from cli import hint
from cli.checking import Came, Check, ReadyChild
from cli.compare import WARNING, compare
from cli.reset import reset
from cli.status import is_sought, list_all

LOOK_SECONDS = 0.05  # between looks at the files
REPLACE_SECONDS = 0.3  # how long a file may be missing or empty while an editor replaces it
KEYS = "h hint, s numbers, c compare, x reset, n next, p previous, l list, e edit, r again, q quit"
ESC, BACKSPACE = "\x1b", ("\x7f", "\b")
SEQUENCE = re.compile(r"\x1b(\[[0-?]*[@-~]|O?.)")  # an arrow, say: none of its characters was meant as a letter

#: Which file this is, when it was changed, and its size. None if there is none.
Stamp = tuple[int, int, int] | None
WAIT = ("--wait", "-w")  # what makes an editor with a window of its own wait until it is closed, as git wants it


def stamp(path: Path) -> Stamp:
    """Return what changes with every save of a file."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size


class Watch:
    """Checks the file of one step after another, and does what keys ask for.

    Args:
        step: the first step.
        ready: the child of the next check.
        read_keys: returns which keys have been pressed; None without a terminal.
    """

    def __init__(self, step: Step, ready: ReadyChild, read_keys: Callable[[], str] | None) -> None:
        self.step, self.ready, self.read_keys = step, ready, read_keys
        self.heard = queue.SimpleQueue[tuple[Check, Came]]()
        self.printer = Printer()
        self.files = {step: step.learner_file for step in all_steps()}
        self.stamps = self.stamps_now()
        self.running: Check | None = None  # the check whose verdict is awaited
        self.compiling: dict[Step, Check] = {}  # those that have passed, and go on in the background
        self.to_show = ""  # the function whose numbers the key s would show
        self.offered: Callable[[], None] | None = None  # what the key y would do
        self.sought: str | None = None  # what was typed since the key l, of the title of a step
        self.is_over = False
        self.keys: dict[str, Callable[[], None]] = {
            "h": self.hint,
            "s": lambda: self.check(self.to_show),
            "c": self.offer_compare,
            "x": self.offer_reset,
            "n": lambda: self.go_to(self.step_after()),
            "p": lambda: self.go_to(all_steps()[max(all_steps().index(self.step) - 1, 0)]),
            "l": lambda: self.list(""),
            "e": self.edit,
            "r": self.check,
            "q": self.quit,
        }

    def follow(self) -> int:
        """Check at every save until the learner quits; return the exit status."""
        self.check()
        while not self.is_over:
            with contextlib.suppress(queue.Empty):
                self.hear(*self.heard.get(timeout=LOOK_SECONDS))
            for key in self.read_keys() if self.read_keys else "":
                self.press(key)
            self.follow_saves()
        return 0

    # ------------------------------------------------------------ checks

    def check(self, show: str = "") -> None:
        """Check the file as it is now, and nothing else any more; ``show`` the numbers of a function."""
        started = time.perf_counter()
        for before in (self.running, self.compiling.pop(self.step, None)):
            if before:  # a pass stays, not compiled
                before.end()
                before.join()
        self.stamps[self.step], self.sought, self.to_show = self.settled(), None, ""
        self.printer.close()
        self.printer = Printer(blank.label for blank in blanks_of(self.step))
        self.printer.again = "save"
        if self.read_keys:
            self.printer.console.clear()
        session = Session(self.step, self.printer, Options(show=show), started)
        self.running = Check(session, self.ready, self.note)

    def settled(self) -> Stamp:
        """Return the stamp of the file, after giving an editor that is replacing it time to finish."""
        deadline = time.monotonic() + REPLACE_SECONDS
        while not ((now := stamp(self.step.learner_file)) and now[-1]) and time.monotonic() < deadline:
            time.sleep(0.01)
        return now

    def note(self, check: Check, came: Came) -> None:
        """Take in what a check has come to, in its thread."""
        if came is Came.GOES_ON:
            check.session.view.close()
            check.session.view = View()  # what it goes on to say comes in one line
        self.heard.put((check, came))

    def hear(self, check: Check, came: Came) -> None:
        """Say what can be done after a check; of one that went on in the background, print the result."""
        step, verdict = check.session.step, check.session.verdict
        if came is Came.GOES_ON and check is self.running:
            self.running, self.compiling[step] = None, check
            self.go_on(has_passed=True)
        elif verdict and check is self.running:
            self.running = None
            self.to_show = next((why.about for why in verdict.explanations if why.numbers), "")
            self.go_on(has_passed=verdict.status == PASSED)
        elif verdict and check is self.compiling.get(step):
            del self.compiling[step]
            self.printer.line(f"\n{in_one_line(step, verdict, check.session)}")

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
        self.printer.line(KEYS if self.read_keys else "Ctrl-C ends this.")

    def close(self) -> None:
        """End all checks."""
        for check in filter(None, [self.running, *self.compiling.values()]):
            check.end()
            check.join()
        self.printer.close()

    # ------------------------------------------------------------ steps

    def follow_saves(self) -> None:
        """Check again if the file was saved, or check another step whose file is the only one that was."""
        before, self.stamps = self.stamps, self.stamps_now()
        saved = [step for step, now in self.stamps.items() if now != before[step]]
        if self.step in saved:
            self.check()
        elif len(saved) == 1 and standing(saved[0]).state not in ("untouched", "missing"):  # it was not reset
            self.go_to(saved[0])

    def stamps_now(self) -> dict[Step, Stamp]:
        """Return the stamps of all files, several times per second."""
        return {step: stamp(file) for step, file in self.files.items()}

    def go_to(self, step: Step | None) -> None:
        """Go to another step, if there is one."""
        if step is None:
            return self.printer.line("\nNo other step is left to do.")
        self.step = step
        self.check()

    def step_after(self) -> Step | None:
        """Return the next step that is not done."""
        steps = all_steps()
        at = steps.index(self.step)
        return first_to_do(steps[at + 1 :] + steps[:at])

    # ------------------------------------------------------------ keys

    def press(self, key: str) -> None:
        """Do what a key asks for."""
        if self.sought is not None:
            return self.seek(self.sought, key)
        offered, self.offered = self.offered, None
        try:
            if key == "y" and offered:
                offered()
            elif key in self.keys:
                self.keys[key]()
            elif key.strip() and key != ESC:
                self.printer.line(f"\nUnknown key. The keys are {KEYS}")
        except UserError as error:
            words = str(error)
            self.printer.line(words if words.endswith((".", "?")) else f"{words}.")

    def quit(self) -> None:
        """End the watch."""
        self.is_over = True

    def list(self, sought: str) -> None:
        """List the steps whose titles have what is typed."""
        self.sought = sought
        self.printer.console.clear()
        list_all(self.printer, self.step, sought)
        self.printer.line(f"\nType a part of a title. Esc leaves, Enter goes to the first step: {sought}")

    def seek(self, sought: str, key: str) -> None:
        """List the steps that a further letter leaves, go to the first of them, or leave the list."""
        if key not in ("\n", ESC):
            return self.list(sought[:-1] if key in BACKSPACE else sought + key)
        self.sought = None
        if key == ESC:
            return self.say_keys()
        matching = [step for step in all_steps() if is_sought(step, sought)] if sought else []
        return self.go_to(matching[0]) if matching else self.say_keys()

    def edit(self) -> None:
        """Open the file in the editor that VISUAL or EDITOR names, else in VS Code."""
        editor = shlex.split(os.environ.get("VISUAL") or os.environ.get("EDITOR") or "code")
        try:
            subprocess.run([*(word for word in editor if word not in WAIT), self.step.learner_file], check=False)
        except OSError as error:
            raise UserError(f"{editor[0]} cannot be started; set VISUAL or EDITOR to your editor") from error

    def offer(self, what: str, then: Callable[[], None]) -> None:
        """Say what a y would do, and do it if y is the next key."""
        self.printer.line(f"\n{what} Press y to do so.")
        self.offered = then

    def offer_compare(self) -> None:
        """Show the file beside the solution; if it has not passed, offer that first."""
        if standing(self.step).state == "done":
            self.compare()
        else:
            self.offer(WARNING, self.compare)

    def compare(self) -> None:
        """Show the file beside the solution."""
        self.printer.line()
        compare(self.step, anyway=True)
        self.say_keys()

    def offer_reset(self) -> None:
        """Offer to start the step over."""
        file = relative_path(self.step.learner_file)
        self.offer(f"This makes {file} the skeleton again; what is there now is kept beside it.", self.reset)

    def reset(self) -> None:
        """Start the step over, and check it."""
        reset([self.step], sure=True)
        self.check()

    def hint(self) -> None:
        """Give the next hint; offer the last one first."""
        self.printer.line()
        following = hint.next_tier(self.step)
        tell = partial(hint.tell, self.step, sure=True)
        if following and following.warning:
            self.offer(following.warning, tell)
        else:
            tell()


def in_one_line(step: Step, verdict: Verdict, session: Session) -> str:
    """Return the result of compiling, in one line."""
    task = step.task
    if verdict.status == PASSED:
        return f"{task} is compiled too, and gives the same numbers ({session.seconds():.1f} s)."
    why = " ".join(explanation.sentence for explanation in verdict.explanations)
    if session.state.has_failed:
        return f"{task} is no longer done: once compiled, it is wrong. {why} `./run {task}` shows it."
    return f"{task} is not compiled; its pass is kept. {why}"


@contextlib.contextmanager
def keys_of_terminal() -> Iterator[Callable[[], str] | None]:
    """Have the terminal give keys one by one and unechoed while this is open.

    Yields:
        A function that returns which were pressed, without waiting for any; None if there is no terminal.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        yield None
        return
    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)

    def read_keys() -> str:
        if not select.select([terminal], [], [], 0)[0]:
            return ""
        with contextlib.suppress(OSError):
            if keys := os.read(terminal, 1024).decode(errors="replace"):
                return SEQUENCE.sub("", keys)
        return "q"  # the terminal is gone

    tty.setcbreak(terminal)
    try:
        yield read_keys
    finally:
        with contextlib.suppress(termios.error):
            termios.tcsetattr(terminal, termios.TCSADRAIN, before)


def watch(step: Step | None) -> int:
    """Watch a step, or the one to continue with, until the learner quits; return the exit status."""
    step = step or next_to_do(all_steps()) or all_steps()[0]
    exit_on_termination()
    with contextlib.closing(ReadyChild()) as ready, keys_of_terminal() as read_keys:
        try:
            with contextlib.closing(Watch(step, ready, read_keys)) as watching:
                return watching.follow()
        except KeyboardInterrupt:
            print("\nStopped. `./run watch` goes on with the next step to do.")
            return INTERRUPTED
