"""Hunts for a known mistake in a copy of a step's solution. No mistake comes twice until all have come."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from checker.course import progress
from checker.course.skeletons import back_up
from checker.course.steps import Step


@dataclass(frozen=True)
class Hunts:
    """What is saved of the hunts of a step."""

    mistake: str = ""  # that is hunted for; nothing if none is
    began: float = 0.0  # as ``time.time`` has it
    left_as: str = ""  # the digest of the file as it was drawn, or as it has passed: that text needs no copy
    guesses: int = 0  # of its name
    is_named: bool = False  # by the last of them
    seen: Sequence[str] = ()  # the mistakes that have come
    found: int = 0  # repaired before they were named
    named: int = 0
    given_up: int = 0

    def after(self) -> str:
        """Return how long the hunt has been on, in words."""
        minutes, seconds = divmod(round(time.time() - self.began), 60)
        return f"after {minutes} min {seconds} s" if minutes else f"after {seconds} s"


class Hunt:
    """The hunt for a mistake in a step's solution: ``copy`` is the step with the mistaken copy as its file."""

    def __init__(self, name: str) -> None:
        self.step, self.copy = Step(name), Step(name, hunted=True)

    def read(self) -> Hunts:
        """Return what is saved; no hunt is on where the copy is gone."""
        saved = self._saved()
        return saved if self.copy.learner_file.exists() else replace(saved, mistake="")

    def is_gone(self) -> bool:
        """Return whether the copy in which a mistake was hunted for is gone."""
        return bool(self._saved().mistake) and not self.copy.learner_file.exists()

    def _saved(self) -> Hunts:
        with suppress(TypeError):  # another version has saved it
            return Hunts(**progress.read()["hunts"].get(self.step.name, {}))
        return Hunts()

    def begin(self, copies: Mapping[str, str], seed: int | None = None) -> Path | None:
        """Draw one of some copies, each by the name of its mistake; return where the copy of a learner's last one is.

        A seed draws the same one every time, even one that has come before.

        Raises:
            OSError: a file cannot be written.
        """
        hunts, path = self.read(), self.copy.learner_file
        left = [name for name in copies if name not in hunts.seen]
        mistake = random.Random(seed).choice([*copies] if seed is not None else left or [*copies])
        is_edited = path.is_file() and progress.digest(path.read_bytes()) != hunts.left_as
        copy = back_up(path) if is_edited else None
        path.write_text(copies[mistake], encoding="utf-8")
        seen = [*(name for name in hunts.seen if left and name != mistake), mistake]
        as_drawn = progress.digest(copies[mistake])
        ended = replace(hunts, guesses=0, is_named=False)
        self.note(replace(ended, mistake=mistake, began=time.time(), seen=seen, left_as=as_drawn))
        return copy

    def end(self, passed: str | None = None) -> str:
        """End the hunt that is on, at a text that has ``passed`` or else unsolved; return after how long, and its name.

        Raises:
            OSError: a file cannot be written.
        """
        hunts = self.read()
        new = 0 if hunts.is_named else 1  # one that was named is counted already
        if passed is None:
            how, ended = "Given up", replace(hunts, given_up=hunts.given_up + new)
        else:
            how = "Repaired" if hunts.is_named else "Found"
            ended = replace(hunts, found=hunts.found + new, left_as=progress.digest(passed))
        self.note(replace(ended, mistake=""))
        return f"{how} {hunts.after()}: {hunts.mistake}"

    def guess(self, mistake: str) -> str:
        """Guess the name of the mistake that is hunted for; return how that went, unless it was named before.

        Raises:
            OSError: a file cannot be written.
        """
        hunts = self.read()
        if not hunts.is_named:
            hunts = replace(hunts, guesses=hunts.guesses + 1)
            if mistake == hunts.mistake:
                hunts = replace(hunts, is_named=True, named=hunts.named + 1)
            self.note(hunts)
        if hunts.is_named:
            return f"Named at guess {hunts.guesses}, {hunts.after()}: {hunts.mistake}"
        return f"It is another one; that was guess {hunts.guesses}."

    def note(self, hunts: Hunts) -> None:
        """Save how the hunts are now; it raises OSError if that is impossible."""
        with progress.changing() as saved:
            saved["hunts"][self.step.name] = asdict(hunts)
