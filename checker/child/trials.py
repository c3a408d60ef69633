"""Try code that was put together, for a diagnosis.

A trick, ``silence``: from a diagnosis on, which is the last that it does, the process prints nothing.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import CodeType, ModuleType

from checker.child.loading import load_code
from checker.child.selection import ClaimsToRun
from checker.child.session import run_claims, send_to_nobody
from checker.course.steps import Step
from checker.outcomes import Outcomes
from checker.protocol.events import Send
from checker.stages import Stage


@dataclass(frozen=True)
class ClaimTrials:
    """Tries code that was put together, for a diagnosis.

    Attributes:
        step: whose claims.
        stage: at which claims failed, so that they are tried again.
        seeds: of the configurations, if they failed on some that were drawn.
        send: is given every event of the claims that are tried.
        show: whether what is compared is recorded, with what the functions were given.
    """

    step: Step
    stage: Stage = Stage.NUMBERS
    seeds: Sequence[int] = ()
    send: Send = send_to_nobody
    show: bool = False

    def run(
        self, codes: Mapping[str, CodeType], claims: Mapping[str, Collection[str]], *, show: bool = False
    ) -> Mapping[str, Outcomes]:
        """Run claims on each code; return the outcomes by the same names, without codes that cannot be loaded."""
        subjects = dict[str, ModuleType]()
        for number, (name, code) in enumerate(codes.items()):
            module = try_to_load(f"checked.tried_{number}", code)
            if module:
                subjects[name] = module
        to_run = ClaimsToRun(self.step, subjects, self.stage, self.seeds, claims, show=show or self.show)
        return run_claims(to_run, self.send)


def try_to_load(name: str, code: CodeType) -> ModuleType | None:
    """Return the module that code makes; None if running it raises an error."""
    with contextlib.suppress(Exception, SystemExit):
        return load_code(name, code)
    return None


def drop_output() -> None:
    """Drop all that is printed from now on: a diagnosis runs the learner's file again, whose output was shown."""
    sys.stdout.flush()
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
