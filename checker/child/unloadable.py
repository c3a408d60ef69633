"""Say why the file of a learner cannot be loaded."""

from __future__ import annotations

from checker.course.compatibility import incompatible_parts
from checker.course.steps import SOLUTIONS, Step
from checker.diagnosis.locating import reason_of
from checker.outcomes import with_printable_message
from checker.protocol.events import Unloadable
from checker.protocol.job import Job


def unloadable_event(step: Step, job: Job, error: BaseException) -> Unloadable:
    """Return the event that tells of a file which has raised an error as it was loaded."""
    error = with_printable_message(error)
    changed_since: list[str] = []
    if isinstance(error, ImportError) and (error.name or "").startswith(f"{SOLUTIONS.name}."):
        changed_since = [name.removesuffix(".__init__") for name in incompatible_parts(step, job.source)]
    return Unloadable(reason_of(error, job.path), changed_since)
