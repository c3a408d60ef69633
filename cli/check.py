"""The check of a step: ``./run s07``.

A check begins with its child, which takes longest to start. So what this process needs only from then on, to drive and
show the check, is imported once the child has been started.
"""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from checker.course.blanks import blanks_of
from checker.course.steps import Step, relative_path
from checker.device import DeviceKind
from checker.errors import exit_on_termination
from checker.parent.child_process import Child
from checker.protocol.job import Options
from cli.shared.command_line import FORM, SEED, DeviceName, require_label, step_argument

if TYPE_CHECKING:
    from checker.parent.check import Check

CHECK_OPTIONS: list[click.Parameter] = [
    click.Option(["--solution"], is_flag=True, help="Check the reference solution instead of your file."),
    click.Option(["--no-compile"], is_flag=True, help="Stop after the numbers."),
    click.Option(["--device"], type=DeviceName(), help="Compile for this device alone."),
    click.Option(["--show"], default="", metavar="FUNCTION", help="Show its numbers beside the right ones."),
    click.Option(["--seed"], type=SEED, help="Draw the second configuration from this number again."),
    *FORM,
]


def check_command(step: Step) -> click.Command:
    """Return the command that checks a step."""
    help_text = f"Check {relative_path(step.learner_file)}: {step.read_title()}"
    return click.Command(step.task, callback=partial(check_step, step), params=CHECK_OPTIONS, help=help_text)


@click.command("step", params=[*CHECK_OPTIONS])
@step_argument
def check_named(step: Step, **options: Any) -> int:
    """Check the step whose file has this name, as editors call it: ./run step step_07."""
    return check_step(step, **options)


def check_step(
    step: Step,
    *,
    solution: bool,
    no_compile: bool,
    device: DeviceKind | None,
    show: str,
    seed: int | None,
    form: str | None,
) -> int:
    """Check a step, and print the verdict; return the exit status, which is 0 only for a pass."""
    exit_on_termination()
    if show:
        require_label(show, [blank.label for blank in blanks_of(step)])
    if device is DeviceKind.GPU:
        from cli.shared.programs import require_gpu

        require_gpu()
    options = Options(is_solution=solution, compile=not no_compile, device=device, show=show, seed=seed)
    with Child() as child:
        check = run_check_in(child, step, options, form)
    assert check.state.verdict
    if form:
        print_for_programs(check, form)
    return check.state.verdict.status


def run_check_in(child: Child, step: Step, options: Options, form: str | None) -> Check:
    """Carry out a check in a child, which imports pytest while this process imports the rest; return the check."""
    from checker.parent.check import Check
    from checker.parent.offers import IN_TERMINAL
    from checker.parent.printer import Printer
    from checker.parent.view import View
    from checker.terminal import Terminal

    terminal = Terminal(blank.label for blank in blanks_of(step))
    check = Check(step, View() if form == "json" else Printer(terminal), options, offers=IN_TERMINAL)
    if form == "github":
        from cli.shared.problems import without_workflow_commands

        with without_workflow_commands():
            check.run(child)
    else:
        check.run(child)
    return check


def print_for_programs(check: Check, form: str) -> None:
    """Print the verdict of a check in a form for other programs."""
    from checker.parent.records import verdict_record
    from cli.shared.problems import as_lines, problems_of

    verdict = verdict_record(check)
    if form == "json":
        click.echo(json.dumps(verdict, indent=1))
    for line in as_lines(problems_of(verdict), form):
        click.echo(line)
