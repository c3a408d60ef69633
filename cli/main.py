"""The learner's command line: the check of a step, ``python -m cli s07``, and where every other command is.

A command parses, calls, and returns the exit status, or refuses in one sentence: 0 is a pass or done, 1 a failure, 2 a
call that cannot be carried out, 130 an interrupt. It imports what it runs when it is called, so ``--help`` answers at
once and needs no MAX.
"""

from __future__ import annotations

import importlib
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from checker.course.steps import Step, all_steps, find_step, relative_path
from checker.device import DeviceKind
from cli.shared.command_line import FORM, SEED, Commands, DeviceName, require_label, step_argument

if TYPE_CHECKING:
    from checker.parent.check import Check
    from checker.parent.child_process import Child
    from checker.protocol.job import Options

#: Every task that is no check, and its command, whose module is imported when somebody asks for it.
ELSEWHERE = {
    "watch": "cli.course_commands.watch",
    "hint": "cli.course_commands.hint",
    "status": "cli.course_commands.status",
    "reset": "cli.course_commands.reset",
    "compare": "cli.course_commands.compare",
    "hunt": "cli.course_commands.hunt",
    "grade": "cli.course_commands.grade",
    "skeletons": "cli.course_commands.skeletons",
    "warm": "cli.course_commands.warm",
    "book": "cli.course_commands.book",
    "doctor": "cli.course_commands.doctor",
    "try": "cli.model_commands.try_",
    "python": "cli.model_commands.python",
    "generate": "cli.model_commands.generate",
    "chat": "cli.model_commands.chat",
    "serve": "cli.model_commands.serve",
    "attention": "cli.model_commands.attention",
    "export": "cli.model_commands.export",
    "ablate": "cli.model_commands.ablate",
    "train": "cli.model_commands.train",
}


class LearnersCommands(Commands):
    """The commands: one for each step, then the others."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands, the steps' first."""
        return [*(step.task for step in all_steps()), *super().list_commands(ctx), *ELSEWHERE]

    def get_command(self, ctx: click.Context, name: str) -> click.Command:
        """Return a command by its name, or the check of a step by ``07``, ``7``, ``s07`` or ``step_07``."""
        if name in ELSEWHERE:
            return command_at(ELSEWHERE[name])
        if command := super().get_command(ctx, name):
            return command
        return check_command(find_step(name))


def command_at(dotted_name: str) -> click.Command:
    """Return the command that a module defines, and import the module if nobody has."""
    module, _, name = dotted_name.rpartition(".")
    command: click.Command = getattr(importlib.import_module(module), name)
    return command


@click.group(cls=LearnersCommands, context_settings={"help_option_names": ["-h", "--help"], "show_default": True})
def main() -> None:
    """Build GPT-2 step by step: check a step, ask for a hint, run the finished model."""


def check_command(step: Step) -> click.Command:
    """Return the command that checks a step."""
    help_text = f"Check {relative_path(step.learner_file)}: {step.read_title()}"
    return click.Command(step.task, callback=partial(check_step, step), params=CHECK_OPTIONS, help=help_text)


CHECK_OPTIONS: list[click.Parameter] = [
    click.Option(["--solution"], is_flag=True, help="Grade the reference solution instead of your file."),
    click.Option(["--no-compile"], is_flag=True, help="Stop after the numbers."),
    click.Option(["--device"], type=DeviceName(), help="Compile for this device alone."),
    click.Option(["--show"], default="", metavar="FUNCTION", help="Show its numbers beside the right ones."),
    click.Option(["--seed"], type=SEED, help="Draw the second configuration from this number again."),
    *FORM,
]


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
    from checker.errors import exit_on_termination
    from checker.parent.child_process import Child
    from checker.protocol.job import Options

    exit_on_termination()
    if show:
        from checker.course.blanks import blanks_of

        require_label(show, [blank.label for blank in blanks_of(step)])
    if device is DeviceKind.GPU:
        from cli.shared.programs import require_gpu

        require_gpu()
    options = Options(solution=solution, compile=not no_compile, device=device, show=show, seed=seed)
    with Child() as child:
        check = run_check_in(child, step, options, form)
    assert check.state.verdict
    if form:
        print_for_programs(check, form)
    return check.state.verdict.status


def run_check_in(child: Child, step: Step, options: Options, form: str | None) -> Check:
    """Carry out a check in a child, which imports pytest while this process imports the rest; return the check."""
    from checker.course.blanks import blanks_of
    from checker.parent.check import Check
    from checker.parent.printer import Printer
    from checker.parent.view import View
    from checker.terminal import Terminal

    terminal = Terminal(blank.label for blank in blanks_of(step))
    check = Check(step, View() if form == "json" else Printer(terminal), options)
    if form == "github":
        from cli.shared.problems import without_workflow_commands

        with without_workflow_commands():
            check.run(child)
    else:
        check.run(child)
    return check


def print_for_programs(check: Check, form: str) -> None:
    """Print the verdict of a check in a form for other programs."""
    import json

    from checker.parent.records import verdict_record
    from cli.shared.problems import as_lines, problems_of

    verdict = verdict_record(check)
    if form == "json":
        click.echo(json.dumps(verdict, indent=1))
    for line in as_lines(problems_of(verdict), form):
        click.echo(line)


@main.command("step", params=[*CHECK_OPTIONS])
@step_argument
def check_named(step: Step, **options: Any) -> int:
    """Check the step whose file has this name, as editors call it: ./run step step_07."""
    return check_step(step, **options)
