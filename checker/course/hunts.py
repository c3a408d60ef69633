"""Hunts for a known mistake in a copy of a step's solution. No mistake comes twice until all have come."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from checker.course.progress_file import HuntProgress, changing_progress, read_progress
from checker.course.reading import Unreadable, read_text
from checker.course.skeletons import back_up
from checker.course.steps import Step
from checker.files import digest, replacing

SENTENCES = 4  # among which the mistake is named


class Hunt:
    """The hunt for a mistake in a step's solution: ``copy`` is the step with the mistaken copy as its file."""

    def __init__(self, name: str) -> None:
        self.step, self.copy = Step(name), Step(name, hunted=True)

    def progress(self) -> HuntProgress:
        """Return what is saved; no hunt is on where the copy is gone."""
        progress = self._saved_progress()
        return progress if self.copy.learner_file.exists() else replace(progress, mistake="")

    def is_gone(self) -> bool:
        """Return whether the copy in which a mistake was hunted for is gone."""
        return bool(self._saved_progress().mistake) and not self.copy.learner_file.exists()

    def _saved_progress(self) -> HuntProgress:
        return read_progress().hunts.get(self.step.name, HuntProgress())

    def begin(self, copies: Mapping[str, str], seed: int | None = None) -> Path | None:
        """Draw one of some copies, each by the name of its mistake; return where the copy of a learner's last one is.

        A seed draws the same one every time, even one that has come before.

        Raises:
            OSError: a file cannot be written.
        """
        progress, path = self.progress(), self.copy.learner_file
        unseen = [name for name in copies if name not in progress.seen]
        drawn_from = [*copies] if seed is not None or not unseen else unseen
        mistake = random.Random(seed).choice(drawn_from)
        copy = back_up(path) if is_edited(path, progress.left_as) else None
        before = [name for name in progress.seen if name != mistake] if unseen else []
        seen_mistakes = [*before, mistake]
        as_drawn = digest(copies[mistake])
        hunts = replace(progress, guesses=0, is_named=False)
        with replacing(path) as unfinished:  # which stays as it was where the hunt cannot be saved
            unfinished.write_text(copies[mistake], encoding="utf-8")
            self.save(replace(hunts, mistake=mistake, began=time.time(), seen=seen_mistakes, left_as=as_drawn))
        return copy

    def end(self, passed: str | None = None) -> str:
        """End the hunt that is on, at a text that has ``passed`` or else unsolved; return after how long, and its name.

        Raises:
            OSError: a file cannot be written.
        """
        progress = self.progress()
        new = 0 if progress.is_named else 1  # one that was named is counted already
        if passed is None:
            ending, hunts = "Given up", replace(progress, given_up=progress.given_up + new)
        else:
            ending = "Repaired" if progress.is_named else "Found"
            hunts = replace(progress, found=progress.found + new, left_as=digest(passed))
        self.save(replace(hunts, mistake=""))
        return f"{ending} {progress.after()}: {progress.mistake}"

    def guess(self, mistake: str) -> str:
        """Guess the name of the mistake that is hunted for; return how that went, unless it was named before.

        Raises:
            OSError: a file cannot be written.
        """
        progress = self.progress()
        if not progress.is_named:
            progress = replace(progress, guesses=progress.guesses + 1)
            if mistake == progress.mistake:
                progress = replace(progress, is_named=True, named=progress.named + 1)
            self.save(progress)
        if progress.is_named:
            return f"Named at guess {progress.guesses}, {progress.after()}: {progress.mistake}"
        return f"It is another one; that was guess {progress.guesses}."

    def save(self, hunts: HuntProgress) -> None:
        """Save how the hunts are now; it raises OSError if that is impossible."""
        with changing_progress() as progress:
            progress.hunts[self.step.name] = hunts


def is_edited(path: Path, left_as: str) -> bool:
    """Return whether a file has another text than the one whose digest is ``left_as``; line ends do not count."""
    if not path.is_file():
        return False
    try:
        return digest(read_text(path)) != left_as
    except Unreadable:
        return True
