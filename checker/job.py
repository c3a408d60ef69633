"""How a step is checked, and the work that the parent of a check gives its child."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from checker.device import DeviceKind


@dataclass(frozen=True)
class Options:
    """How a step is checked.

    Attributes:
        solution: grade the reference solution instead of the learner's file.
        compile: go on to the compiled verdict after the numbers.
        device: compile for this device alone.
        show: the function whose numbers are to be shown.
        seed: of the second configuration, which is random; by default, a new one.
        hunt: do not name the mistake, since the learner is to find it, and do not compile.
    """

    solution: bool = False
    compile: bool = True
    device: DeviceKind | None = None
    show: str = ""
    seed: int | None = None
    hunt: bool = False


@dataclass(frozen=True, kw_only=True)
class Job(Options):
    """The work of a child: to grade ``source``, the file ``path``, as the step of that name, such as ``step_07``.

    ``to_write`` are the functions whose blank is still to write; what needs one of them waits for it. ``compile`` is
    off also where the step has no compiled claims.
    """

    step: str
    source: str
    path: str
    seed: int = 0
    to_write: Sequence[str] = ()
