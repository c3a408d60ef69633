"""The choice whose steps run, the solutions or the learner's own; it is made once, and handed on to processes."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from checker.course.compatibility import incompatible_parts
from checker.course.opening import open_file
from checker.course.reading import NoSuchFile, Unreadable, read_text
from checker.course.source import Source
from checker.course.standings import Standing, StepState, standing_of
from checker.course.steps import CACHED_MODEL, SOLUTIONS, Step, all_steps, find_step, relative_path, steps_up_to
from checker.errors import UserError
from play.mine.stand_ins import stand_in

IMPORTED = re.compile(r"^from solutions\.(\w+) import", re.MULTILINE)
HANDED_ON = "COURSE_STEPS"  # the environment variable that names the chosen steps to processes which are started


@dataclass(frozen=True)
class OwnSteps:
    """A user's wish that the learner's steps run, and what to do about those that are missing or wrong."""

    fill_in: bool = False  # let the solutions stand in for steps that are not complete
    anyway: bool = False  # also run steps whose last check failed


@dataclass(frozen=True)
class Chosen:
    """The learner's ``steps`` that stand in for solutions, and ``sentences`` about them to print first."""

    steps: tuple[Step, ...] = ()
    sentences: tuple[str, ...] = ()

    def install(self) -> None:
        """Let imports of these solutions import the learner's files. Call this before any solution is imported."""
        stand_in(self.steps)

    def hand_on(self) -> None:
        """Hand the choice on to the processes that this one starts, where :func:`handed_on` returns it."""
        os.environ[HANDED_ON] = " ".join(step.name for step in self.steps)


def handed_on() -> Chosen:
    """Return the choice of the process that has started this one."""
    return steps_named(os.environ.get(HANDED_ON, "").split())


def steps_named(names: Sequence[str]) -> Chosen:
    """Return the learner's steps of these names, such as ``step_07``."""
    return Chosen(tuple(step for step in all_steps() if step.name in names))


def done_steps() -> Chosen:
    """Return the learner's steps of the model that have passed as they are, and fit together."""
    done = (step for step in steps_up_to(CACHED_MODEL) if standing_of(step).is_done)
    return Chosen(tuple(step for step in done if not incompatible_parts_of(step)))


def file_if_complete(step: Step) -> Chosen:
    """Return the choice of the learner's file of one step, if it is complete; else of no file."""
    file = relative_path(step.learner_file)
    if reason := why_unreadable(step):
        return Chosen((), (f"{file}: {reason} The solution stands in",))
    if not is_complete(step):
        return Chosen((), (f"{file} is not written yet, so the solution stands in",))
    return Chosen((step,), (f"on {file}; --solution runs it on the solution",))


def choose_own_steps(needed: Sequence[str], own: OwnSteps | None) -> Chosen:
    """Return the choice of the learner's steps among those that a command needs.

    Args:
        needed: the names of the steps that the command needs; all that :func:`needed_by` finds are added.
        own: the wish that they run; without it, only solutions do.

    Returns:
        The choice; it says for which steps solutions stand in, and which have not passed as they are.

    Raises:
        UserError: steps cannot be read, are not complete, or the last check of one failed, and no option allows it.
    """
    if own is None:
        return Chosen()
    steps = sorted(needed_by("05", *needed))  # step 05 checks the tokens of every text
    missing = [step for step in steps if not is_complete(step)]
    unfit = {step: parts for step in steps if step not in missing and (parts := incompatible_parts_of(step))}
    if not own.fill_in:
        require_complete(steps, missing, unfit)
    missing = sorted([*missing, *unfit])
    standings = [standing_of(step) for step in steps if step not in missing]
    failed = [standing.step.task for standing in standings if standing.failed]
    if failed and not own.anyway:
        raise UserError(
            f"the last check of {', '.join(failed)} failed; `./run {failed[0]}` says why. "
            "Add --anyway to run them regardless"
        )
    sentences = [f"the solutions stand in for {', '.join(step.task for step in missing)}"] if missing else []
    if failed:
        sentences.append(f"with {', '.join(failed)} in spite of a failed check, so expect wrong results")
    sentences += unchecked([standing for standing in standings if not standing.is_done and not standing.failed])
    return Chosen(tuple(standing.step for standing in standings), tuple(sentences))


def require_complete(steps: Sequence[Step], missing: Sequence[Step], unfit: Mapping[Step, Mapping[str, str]]) -> None:
    """Refuse to run steps of which some cannot be read, are ``missing``, or ``unfit`` for what later ones call.

    Raises:
        UserError: there are such steps.
    """
    for step in steps:
        if reason := why_unreadable(step):
            file = relative_path(step.learner_file)
            raise UserError(
                f"{file}: {reason} `./run {step.task}` shows the place, and --fill-in lets the solution stand in"
            )
    if missing:
        names = ", ".join(step.task for step in missing)
        raise UserError(
            f"these steps are not written yet: {names}. Write them, or add --fill-in to let the solutions stand in"
        )
    if unfit:
        raise UserError(f"{to_fit(unfit)}, or add --fill-in to let the solutions stand in")


def is_complete(step: Step) -> bool:
    """Return whether the learner's file of a step is there, is Python, and has no blank to write."""
    try:
        return not open_file(step, step.learner_file).unwritten
    except Unreadable:
        return False


def why_unreadable(step: Step) -> str:
    """Return why the learner's file of a step cannot be read, in a sentence; nothing if it can, or is missing."""
    try:
        open_file(step, step.learner_file)
    except NoSuchFile:
        return ""
    except Unreadable as error:
        return str(error)
    return ""


def incompatible_parts_of(step: Step) -> dict[str, str]:
    """Return the functions in the learner's file of a step that later steps cannot call, with the right parameters."""
    return incompatible_parts(step, Source(read_text(step.learner_file)))


def to_fit(unfit: Mapping[Step, Mapping[str, str]]) -> str:
    """Return what to change in ``unfit`` steps, so that later ones can call their functions."""
    changes = (
        f"{', '.join(name + parameters for name, parameters in parts.items())} in {relative_path(step.learner_file)}"
        for step, parts in unfit.items()
    )
    return f"later steps call your functions as the skeletons have them: write {'; '.join(changes)}"


def needed_by(*names: str) -> list[Step]:
    """Return the steps of these names, and those whose solutions theirs import, directly or not."""
    found, to_read = set[str](), [find_step(name).solution_file.stem for name in names]
    while to_read:
        module = to_read.pop()
        if module not in found:
            found.add(module)
            to_read += IMPORTED.findall((SOLUTIONS / f"{module}.py").read_text("utf-8"))
    return [step for step in all_steps() if step.solution_file.stem in found]


def unchecked(standings: Sequence[Standing]) -> list[str]:
    """Return a sentence on steps that run though no check has passed them as they are; nothing if there are none."""
    tasks_by_reason = defaultdict[str, list[str]](list)
    for standing in standings:
        tasks_by_reason[_why_unchecked(standing)].append(standing.step.task)
    return [_unchecked(tasks, reason) for reason, tasks in tasks_by_reason.items()]


def _why_unchecked(standing: Standing) -> str:
    """Return why no check has passed a step as it is, with ``{its}`` for one step or several."""
    if standing.state is StepState.IN_PROGRESS:
        return "no check has passed yet"
    return "done, but {its} check has changed since" if standing.by_its_check else "changed since {its} pass"


def _unchecked(tasks: Sequence[str], reason: str) -> str:
    """Return a sentence on steps that are unchecked for one reason."""
    its, which = ("its", "it") if len(tasks) == 1 else ("their", "the first")
    reason, names, first = reason.format(its=its), ", ".join(tasks), tasks[0]
    return f"with {names} unchecked ({reason}), so the results may be wrong; `./run {first}` checks {which}"
