"""The learner's command line: where each command is, ``python -m cli s07`` or ``python -m cli hint 07``.

A command parses, calls, and returns the exit status, or refuses in one sentence: 0 is a pass or done, 1 a failure, 2 a
call that cannot be carried out, 130 an interrupt. It imports what it runs when it is called, so ``--help`` answers at
once and needs no MAX.
"""

from __future__ import annotations

import importlib

import click

from checker.course.steps import all_steps, find_step
from cli.shared.command_line import Commands

#: Every task but the steps' own, and its command, whose module is imported when somebody asks for it.
COMMANDS = {
    "step": "cli.check.check_named",
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
        return [*(step.task for step in all_steps()), *COMMANDS]

    def get_command(self, ctx: click.Context, name: str) -> click.Command:
        """Return a command by its name, or the check of a step by ``07``, ``7``, ``s07`` or ``step_07``."""
        if name in COMMANDS:
            return command_at(COMMANDS[name])
        from cli.check import check_command

        return check_command(find_step(name))


def command_at(dotted_name: str) -> click.Command:
    """Return the command that a module defines, and import the module if nobody has."""
    module, _, name = dotted_name.rpartition(".")
    command: click.Command = getattr(importlib.import_module(module), name)
    return command


@click.group(cls=LearnersCommands, context_settings={"help_option_names": ["-h", "--help"], "show_default": True})
def main() -> None:
    """Build GPT-2 step by step: check a step, ask for a hint, run the finished model."""
