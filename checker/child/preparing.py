"""Prepare a child for a learner's file: import MAX and the claims, for a job or ahead of it.

A trick, ``gc``: Python looks for cycles neither while it imports MAX nor later among the objects of that import.
"""

from __future__ import annotations

import gc
import importlib
import sys

from checker.child.selection import ClaimsToRun
from checker.child.session import run_claims
from checker.course.check_file import uses_max
from checker.course.steps import Step


def import_max(step: Step) -> None:
    """Import MAX and hook into it, if a step needs it."""
    if not uses_max(step):
        return
    gc.disable()  # the collector would scan MAX's new objects several times, which takes 0.17 s
    from checker.max_adapter.hooks import install_hooks

    install_hooks()
    import checker.claims.modules  # noqa: F401 - the rest of MAX, which every such check file imports

    gc.freeze()  # what has been imported is not scanned again
    gc.enable()


def import_claims(step: Step) -> None:
    """Import a check file before the learner's file runs, which can then put nothing in its place."""
    folder = str(step.check_file.parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    importlib.import_module(step.check_file.stem)


def prepare_ahead(step: Step) -> None:
    """Do ahead of a job what a check of ``step`` does before it runs the learner's file.

    pytest collects the check file but runs none of it; MAX runs one operation, which starts its threads.
    """
    import_max(step)
    run_claims(ClaimsToRun(step, {}))
    if uses_max(step):
        from checker.max_adapter.runtime import start_threads

        start_threads()
