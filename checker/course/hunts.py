"""The hunts of a step: for a mistake in a copy of its solution. No mistake comes twice until all have come."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from checker.course import progress
from checker.course.blanks import read_text
from checker.course.languages import Unreadable
from checker.course.skeletons import keep
from checker.course.steps import STEPS, Step


@dataclass(frozen=True)
class Hunts:
    """What is kept of the hunts of a step."""

    mistake: str = ""  # that is hunted for; nothing if none is
    began: float = 0.0  # as ``time.time`` has it
    seen: Sequence[str] = ()  # the mistakes that have come
    found: int = 0
    given_up: int = 0


class Hunted(Step):
    """A step whose file is the copy with the mistake: ``steps/hunt_07.py``, or ``hunt_w01.py`` of a warm-up."""

    @property
    def task(self) -> str:
        """What checks the copy: ``hunt 07``, or ``hunt w01``."""
        return f"hunt {super().task.removeprefix('s')}"

    @property
    def learner_file(self) -> Path:
        """The copy."""
        return STEPS / f"{self.task.replace(' ', '_')}{self.language.suffix}"

    @property
    def hunts(self) -> Hunts:
        """What is kept; no hunt is on where the copy is gone."""
        with suppress(TypeError):  # another version has kept it
            kept = Hunts(**progress.read()["hunts"].get(self.name, {}))
            return kept if self.learner_file.exists() else replace(kept, mistake="")
        return Hunts()

    def begin(self, copies: Mapping[str, str], seed: int | None = None) -> Path | None:
        """Draw one of some copies, each by the name of its mistake; return where a learner's last one is kept.

        Raises:
            OSError: a file cannot be written.
        """
        hunts, path, kept = self.hunts, self.learner_file, None
        left = [name for name in copies if name not in hunts.seen]
        mistake = random.Random(seed).choice(left or [*copies])
        if self.is_edited(copies):
            kept = keep(path)
        path.write_text(copies[mistake], encoding="utf-8")
        seen = [*(hunts.seen if left else ()), mistake]
        self.note(replace(hunts, mistake=mistake, began=time.time(), seen=seen))
        return kept

    def is_edited(self, copies: Mapping[str, str]) -> bool:
        """Return whether there is a file, and it is none of the copies."""
        with suppress(Unreadable):
            return read_text(self.learner_file) not in copies.values()
        return self.learner_file.is_file()

    def end(self, *, found: bool) -> str:
        """End the hunt that is on; return after how long, and the name of the mistake.

        Raises:
            OSError: a file cannot be written.
        """
        hunts = self.hunts
        minutes, seconds = divmod(round(time.time() - hunts.began), 60)
        self.note(replace(hunts, mistake="", found=hunts.found + found, given_up=hunts.given_up + (not found)))
        return f"{'Found' if found else 'Given up'} after {minutes} min {seconds} s: {hunts.mistake}"

    def note(self, hunts: Hunts) -> None:
        """Keep how the hunts are now; it raises OSError if that is impossible."""
        with progress.changing() as kept:
            kept["hunts"][self.name] = asdict(hunts)
