"""Run the claims of a step on one subject or many, in one pytest session, and report their outcomes.

Of pytest's plugins there are four of ours: in ``selection``, ``Selection`` says which claims run, and ``Runner`` how
far each goes; ``fixtures`` gives them what they ask for, and ``reporting`` tells what each says. Pytest calls them in
this order:

=============================  =============  ================================================================
the hook                       is that of     and
=============================  =============  ================================================================
pytest_generate_tests          ``selection``  makes of a claim one for each subject and, if drawn, each seed
pytest_generate_tests          ``fixtures``   makes of a claim that MAX compiles one for each device
pytest_collection_modifyitems  ``selection``  drops the claims that were not asked for
pytest_collection_finish       ``selection``  hands the subjects to ``fixtures``
pytest_runtest_setup           ``reporting``  reports that a claim begins; then it gets its module and numbers
pytest_pyfunc_call             ``selection``  runs the claim, when tracing up to where MAX would compile
pytest_runtest_makereport      ``reporting``  makes the outcome, and reports it
pytest_keyboard_interrupt      ``reporting``  does the same of a claim that raised an exception which ends pytest
=============================  =============  ================================================================

A trick, ``plugins``: the plugins of pytest's that would take what a learner's file prints, logs or raises are off.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING

import pytest

from checker.child.reporting import Reporter
from checker.child.selection import ClaimsToRun, Runner, Selection
from checker.course.steps import Step
from checker.device import DeviceKind
from checker.max_adapter.tracing import GraphMode
from checker.outcomes import Outcome
from checker.protocol.events import FromChild, Send
from checker.stages import Stage

if TYPE_CHECKING:  # a step without MAX does not import it
    from max.graph import Graph


def send_to_nobody(event: FromChild) -> None:
    """Send an event to nobody."""


#: Plugins of pytest's that print, write files beside the claims, or take what a learner's file logs or raises.
UNUSED_PLUGINS = (
    "terminal",
    "cacheprovider",
    "debugging",
    "logging",
    "faulthandler",
    "unraisableexception",
    "threadexception",
)


def run_claims(claims_to_run: ClaimsToRun, send: Send = send_to_nobody) -> dict[str, dict[str, Outcome]]:
    """Run claims; return the outcomes for each subject, in the order of the check.

    Args:
        claims_to_run: which claims.
        send: called with an event when a claim starts and when it ends.
    """
    runner = Runner(claims_to_run)
    reporter = Reporter(claims_to_run, runner, send)
    run_pytest(claims_to_run, [runner, reporter])
    return reporter.outcomes


def collect_graphs(step: Step, subjects: Mapping[str, ModuleType]) -> list[Graph]:
    """Run the compiled claims up to where MAX would compile for the CPU; return the graphs that it would compile."""
    claims_to_run = ClaimsToRun(step, subjects, Stage.TRACING, device=DeviceKind.CPU)
    runner = Runner(claims_to_run, GraphMode.COLLECT)
    run_pytest(claims_to_run, [runner])
    return [*runner.abandoned_graphs.values()]


def run_pytest(claims_to_run: ClaimsToRun, plugins: Sequence[Runner | Reporter]) -> None:
    """Run claims in one pytest session of this process, with these ``plugins`` beside the selection."""
    options = ["--capture=no"]
    for plugin in UNUSED_PLUGINS:
        options += ["-p", f"no:{plugin}"]
    # Without a limit, pytest reads every folder from the root of the disk.
    tests = str(claims_to_run.step.check_file.parent)
    options += ["-c", os.devnull, "--rootdir", tests, "--confcutdir", tests]
    options += ["-p", "checker.child.fixtures", "--assert=plain", "--disable-plugin-autoload"]
    options += ["--device", claims_to_run.device] if claims_to_run.device else []
    for name in ("PYTEST_ADDOPTS", "PYTEST_PLUGINS"):  # set by a user, for tests of their own
        os.environ.pop(name, None)
    with tempfile.TemporaryDirectory() as folder:  # else pytest spends seconds on old folders
        options += ["--basetemp", f"{folder}/claims", str(claims_to_run.step.check_file)]
        pytest.main(options, plugins=[Selection(claims_to_run), *plugins])
