"""How a step is checked, and the work that the parent of a check gives its child."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from checker.course.source import Source
from checker.device import DeviceKind
from checker.protocol.processes import Message


@dataclass(frozen=True)
class Options:
    """How a step is checked.

    Attributes:
        is_solution: check the reference solution instead of the learner's file.
        compile: go on to the compiled verdict after the numbers.
        device: compile for this device alone.
        show: the function whose numbers are to be shown.
        seed: the seed of the configuration that is drawn; None is a new one each time.
        hunt: name no mistake, since the learner is to find it, and do not compile.
    """

    is_solution: bool = False
    compile: bool = True
    device: DeviceKind | None = None
    show: str = ""
    seed: int | None = None
    hunt: bool = False


@dataclass(frozen=True, kw_only=True)
class Job:
    """The work of a child.

    Attributes:
        step: the name of the step, such as ``step_07``.
        source: the text of the file to check.
        path: where that file is.
        to_write: the labels of the functions whose blank is still to write; a claim that needs one of them waits.
        options: how the step is checked.
        seed: the seed of the configuration that is drawn: that of the options, or one that was drawn itself.
        tries_compiled_claims: whether the compiled claims are tried, once all others hold.
    """

    step: str
    source: Source
    path: str
    to_write: Sequence[str]
    options: Options
    seed: int
    tries_compiled_claims: bool


def job_of(message: Message) -> Job:
    """Return the job that a message carries."""
    options = message["options"]
    device = DeviceKind(options["device"]) if options["device"] else None
    read = {"source": Source(**message["source"]), "options": Options(**{**options, "device": device})}
    return Job(**{**message, **read})
