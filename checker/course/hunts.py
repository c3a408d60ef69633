"""Hunts for a known mistake in a copy of a step's solution. No mistake comes twice until all have come."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from checker.course.progress import SavedHunts, changing_progress, read_progress
from checker.course.reading import Unreadable, read_text
from checker.course.skeletons import back_up
from checker.course.steps import Step
from checker.files import digest, replacing

SENTENCES = 4  # among which the mistake is named


class HuntedStep(Step):
    """A step whose file is a copy of the solution with a mistake. It equals no other step, not even of its name."""

    @property
    def short_name(self) -> str:
        """``07`` or ``w01``."""
        return super().task.removeprefix("s")

    @property
    def task(self) -> str:
        """The task that checks the copy: ``hunt 07`` or ``hunt w01``."""
        return f"hunt {self.short_name}"

    @property
    def learner_file(self) -> Path:
        """The copy, such as ``steps/hunt_07.py``."""
        return super().learner_file.with_stem(f"hunt_{self.short_name}")


class Hunt:
    """The hunt for a mistake in a step's solution.

    Args:
        name: the step's.
        keys: the key of each known mistake, by the sentence that names it.

    Attributes:
        step: the step.
        copy: the step with the mistaken copy as its file.
    """

    def __init__(self, name: str, keys: Mapping[str, str]) -> None:
        self.step, self.copy, self.keys = Step(name), HuntedStep(name), keys

    def saved(self) -> SavedHunts:
        """Return what is saved of the step's hunts; if the copy is gone, or its mistake is not known, no hunt is on."""
        saved, sentences = self._in_file(), {key: sentence for sentence, key in self.keys.items()}
        mistake = sentences.get(saved.mistake, "") if self.copy.learner_file.exists() else ""
        return replace(saved, mistake=mistake, seen=tuple(sentences[key] for key in saved.seen if key in sentences))

    def is_gone(self) -> bool:
        """Return whether the copy in which a mistake was hunted for is gone."""
        return bool(self._in_file().mistake) and not self.copy.learner_file.exists()

    def _in_file(self) -> SavedHunts:
        """Return what is saved of the step's hunts as the file has it, with the keys of mistakes."""
        return read_progress().hunts.get(self.step.name, SavedHunts())

    def begin(self, copies: Mapping[str, str], seed: int | None = None) -> Path | None:
        """Draw one of some copies, each by the name of its mistake, and write it as the file to hunt in.

        A seed draws the same copy every time, even one that has come before.

        Returns:
            Where the file of the last hunt is kept, if the learner had edited it.

        Raises:
            OSError: a file cannot be written.
        """
        saved, path = self.saved(), self.copy.learner_file
        unseen = [name for name in copies if name not in saved.seen]
        drawn_from = [*copies] if seed is not None or not unseen else unseen
        mistake = random.Random(seed).choice(drawn_from)
        kept_copy = back_up(path) if is_edited(path, saved.left_as) else None
        seen_before = [name for name in saved.seen if name != mistake] if unseen else []
        begun = replace(
            saved,
            mistake=mistake,
            began=time.time(),
            left_as=digest(copies[mistake]),
            guesses=0,
            is_named=False,
            seen=[*seen_before, mistake],
        )
        with replacing(path) as unfinished:  # the file stays as it was where the hunt cannot be saved
            unfinished.write_text(copies[mistake], encoding="utf-8")
            self.save(begun)
        return kept_copy

    def end(self, passed: str | None = None) -> str:
        """End the hunt that is on: its copy has ``passed`` with this text, or the learner gives up.

        Returns:
            A sentence: how the hunt ended, after how long, and the mistake.

        Raises:
            OSError: a file cannot be written.
        """
        saved = self.saved()
        new = 0 if saved.is_named else 1  # a mistake that was named is counted already
        if passed is None:
            ending, ended = "Given up", replace(saved, given_up=saved.given_up + new)
        else:
            ending = "Repaired" if saved.is_named else "Found"
            ended = replace(saved, found=saved.found + new, left_as=digest(passed))
        self.save(replace(ended, mistake=""))
        return f"{ending} {saved.after()}: {saved.mistake}"

    def guess(self, mistake: str) -> str:
        """Take a guess at the mistake that is hunted for, and that nobody has named yet; return a sentence on it.

        Raises:
            OSError: a file cannot be written.
        """
        saved = self.saved()
        saved = replace(saved, guesses=saved.guesses + 1)
        if mistake == saved.mistake:
            saved = replace(saved, is_named=True, named=saved.named + 1)
        self.save(saved)
        return self.how_named() if saved.is_named else f"It is another one; that was guess {saved.guesses}."

    def how_named(self) -> str:
        """Return a sentence on the mistake that is named: at which guess, and after how long."""
        saved = self.saved()
        return f"Named at guess {saved.guesses}, {saved.after()}: {saved.mistake}"

    def save(self, hunts: SavedHunts) -> None:
        """Save what is known of the step's hunts now, mistakes by their keys; raise OSError if that is impossible."""
        seen = [self.keys[mistake] for mistake in hunts.seen]
        by_keys = replace(hunts, mistake=self.keys.get(hunts.mistake, ""), seen=seen)
        with changing_progress() as progress:
            progress.hunts[self.step.name] = by_keys


def is_edited(path: Path, left_as: str) -> bool:
    """Return whether a file has another text than the one whose digest is ``left_as``; line ends do not count."""
    if not path.is_file():
        return False
    try:
        return digest(read_text(path)) != left_as
    except Unreadable:
        return True
