"""The server's answers to the panel: functions that read or write a step's files, and return an object for JSON.

They run in threads. A ``body`` is the object that a request brings.
"""

from __future__ import annotations

from dataclasses import asdict

from checker.course import progress
from checker.course.blanks import blanks_of
from checker.course.hunts import HuntedStep
from checker.course.progress import Progress
from checker.course.standings import all_standings, next_to_do, standing_of
from checker.course.steps import Step, relative_path
from cli import compare, hint, hunt, reset
from cli.page import versions
from cli.page.offers import WRITER
from cli.page.requests import Json, field_of


def describe_standings() -> Json:
    """Return how far each step is, and the step to go on with."""
    all_of_them = all_standings()
    next_step = next_to_do(all_of_them)
    return {
        "steps": [
            {"name": standing.step.name, "state": standing.state, "failed": standing.failed} for standing in all_of_them
        ],
        "done": sum(standing.is_done for standing in all_of_them),
        "next": {"name": next_step.name, "title": next_step.read_title()} if next_step else None,
    }


def describe_file(step: Step, known_version: str | None) -> Json:
    """Return the learner's file, and how far the step is; without the text if that is the ``known_version``."""
    now, words = versions.read(step), standing_of(step).words_with(WRITER)
    answer = {"file": relative_path(step.learner_file), "version": now.version, "words": words}
    return answer if now.version == known_version else {**answer, "text": now.text}


def save(step: Step, body: Json) -> Json:
    """Save a text in place of the version that the page began from; return its own version."""
    return {"version": versions.save(step, field_of(body, "text", str), field_of(body, "replaces", str))}


def next_hint(step: Step, body: Json) -> Json:
    """Return the next hint's number and words to say; before the last one, a warning unless the body is ``sure``."""
    following = hint.next_hint(step)
    if not following:
        return {"number": len(hint.hints_of(step)), "words": "These are all the hints."}
    if following.warning and not body.get("sure"):
        return {"ask": following.warning}
    why = hint.note_hint(step, following)
    return {"number": following.number, "words": f"The button shows this one again: {why}." if why else ""}


def differences(step: Step, body: Json) -> Json:
    """Return how the file differs from the solution; before a pass, return a warning unless the body is ``sure``."""
    warning = compare.warning_before(step)
    if warning and not body.get("sure"):
        return {"ask": warning}
    return {"differences": list(map(asdict, compare.differences(step))), "count": len(blanks_of(step))}


def replace_file(step: Step, body: Json) -> Json:
    """Put the skeleton, or another copy to hunt in, in place of the file; return it, and where the old file is kept.

    What is forgotten of the step is for ``undo_reset``.
    """
    if isinstance(step, HuntedStep):
        copy, forgotten = hunt.begin(hunt.hunt_in(step)), Progress({}, {}, {}, {})
    else:
        copy, forgotten = reset.write_skeleton(step)
    kept = relative_path(copy) if copy else ""
    return {**asdict(versions.read(step)), "kept": kept, "forgotten": progress.as_object(forgotten)}


def undo_reset(step: Step, body: Json) -> Json:
    """Save again the hints and verdicts that a reset has forgotten; the file, the page has saved again itself."""
    progress.save_again(progress.progress_in(field_of(body, "forgotten", dict)))
    return {}


def begin_hunt(step: Step, body: Json) -> Json:
    """Begin a hunt if none is on; return the name of its copy on the page, the file, and what to do with it."""
    new_hunt = hunt.hunt_in(step)
    if not new_hunt.saved().mistake:
        hunt.begin(new_hunt)
    file = new_hunt.copy.learner_file
    return {"name": file.stem, "file": relative_path(file), "words": hunt.BEGUN}
