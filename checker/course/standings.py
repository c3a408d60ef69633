"""How far a step is: untouched, in progress, done, or done but changed since.

The file says that, and beside it what is saved of its last check (``progress``), which counts only for a file that
means the same as the one that was checked.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from checker.course.blanks import label_of, skeleton
from checker.course.opening import OpenedFile, open_file
from checker.course.progress import Progress, digest_of_check, digest_of_code, read_progress
from checker.course.reading import NoSuchFile, Unreadable
from checker.course.source import Source
from checker.course.steps import Step, all_steps
from checker.files import saved_at

NOT_COMPILED, LAST_FAILED = "pass, not compiled", "last check: fail"  # the first counts as done


class StepState(StrEnum):
    """How far a step is, in a word."""

    UNTOUCHED = "untouched"
    MISSING = "missing"
    IN_PROGRESS = "in progress"
    DONE = "done"
    CHANGED = "changed"  # since its pass


#: How it is said that a file has been begun.
BEGUN = {StepState.IN_PROGRESS: "in progress", StepState.CHANGED: "changed since its pass"}


@dataclass(frozen=True)
class Standing:
    """Where one step stands.

    ``failed`` says that the file as it is failed its last check, and ``uncompiled`` that its pass left compiling out;
    ``by_its_check``, of a step that has changed, that not its file has, but the check that this passed.
    """

    step: Step
    state: StepState
    words: str
    failed: bool = False
    uncompiled: bool = False
    by_its_check: bool = False

    @property
    def is_done(self) -> bool:
        """Whether its file has passed as it is."""
        return self.state is StepState.DONE

    def words_with(self, writer: str) -> str:
        """Return the words and, if the file is missing, what writes another: a command, or a button."""
        return f"{self.words}: {writer} writes it anew" if self.state is StepState.MISSING else self.words


def standing_of(step: Step) -> Standing:
    """Return where a step stands now."""
    return _standing(step, read_progress())


def all_standings() -> list[Standing]:
    """Return where every step stands now."""
    progress = read_progress()
    return [_standing(step, progress) for step in all_steps()]


def _standing(step: Step, progress: Progress) -> Standing:
    """Return where a step stands, by its file and by the ``progress`` that is saved."""
    last_pass, last_failure = progress.passes.get(step.name), progress.failures.get(step.name)
    state = StepState.CHANGED if last_pass else StepState.IN_PROGRESS
    try:
        file = open_file(step, step.learner_file)
    except NoSuchFile:
        return Standing(step, StepState.MISSING, "missing")
    except Unreadable as error:
        failed = error.source is not None and digest_of_code(step, error.source) == last_failure
        return Standing(step, state, _words_of_unreadable(state, error, failed=failed), failed)
    if file.source.text == skeleton(step.read_solution(), step.language):
        return Standing(step, StepState.UNTOUCHED, "untouched")
    code_digest = digest_of_code(step, file.source)
    if last_pass and last_pass.code_digest == code_digest:
        if last_pass.check_digest != digest_of_check(step):
            return Standing(step, StepState.CHANGED, _words_of_changed_check(step, file.source), by_its_check=True)
        words = "done" if last_pass.compiled else NOT_COMPILED
        return Standing(step, StepState.DONE, words, uncompiled=not last_pass.compiled)
    failed = last_failure == code_digest
    return Standing(step, state, _words_of_begun(state, file, failed=failed), failed)


def _words_of_unreadable(state: StepState, error: Unreadable, *, failed: bool) -> str:
    reason = f"line {error.location.line}: {error.short}" if error.location else error.short
    return f"{BEGUN[state]} ({reason}, {LAST_FAILED})" if failed else f"{BEGUN[state]} ({reason})"


def _words_of_changed_check(step: Step, source: Source) -> str:
    from checker.course.compatibility import incompatible_parts  # which a check does without

    words = "done, but its check has changed since"
    names = [label_of(name) for name in incompatible_parts(step, source)]
    if not names:
        return words
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    return f"{words} (see {names[0]}{more})"


def _words_of_begun(state: StepState, file: OpenedFile, *, failed: bool) -> str:
    unwritten, details = len(file.unwritten), []
    if unwritten or state is StepState.IN_PROGRESS:
        details.append(f"{file.blanks - unwritten} of {file.blanks} blanks")
    if failed:
        details.append(LAST_FAILED)
    elif state is StepState.CHANGED or not unwritten:
        details.append("not checked")
    return f"{BEGUN[state]} ({', '.join(details)})"


def first_to_do(standings: Iterable[Standing]) -> Step | None:
    """Return the first step that is not done."""
    return next((standing.step for standing in standings if not standing.is_done), None)


def next_to_do(standings: Sequence[Standing]) -> Step | None:
    """Return the step to continue with: the one being worked on, else the first to do after the last that is done.

    So a learner who skips a step is not sent back to it before everything else is done. The one being worked on was
    saved last; if none is in progress, it is the first that has changed since its pass, or whose check has.
    """
    steps_begun = [
        standing.step for standing in standings if standing.state in (StepState.IN_PROGRESS, StepState.CHANGED)
    ]
    if any(standing.state is StepState.IN_PROGRESS for standing in standings):
        return max(steps_begun, key=lambda step: saved_at(step.learner_file))
    if steps_begun:
        return steps_begun[0]
    after = max((number for number, standing in enumerate(standings, 1) if standing.is_done), default=0)
    return first_to_do([*standings[after:], *standings[:after]])
