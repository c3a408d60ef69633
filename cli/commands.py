"""What every command line here has in common: a command returns its exit status, or refuses in one sentence.

0 is a pass or done, 1 a failure, 2 a call that cannot be carried out, 130 an interrupt. ``cli.main`` and ``tools.main``
are made of this; it imports nothing but click and ``course``.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import click

from checker.course.steps import Step, find_step
from checker.errors import UserError
from checker.interrupts import INTERRUPTED

UNUSABLE = 2  # the exit status of a call that cannot be carried out


class Commands(click.Group):
    """A group of commands that return their exit status, listed in the order of their definition."""

    def invoke(self, ctx: click.Context) -> NoReturn:
        """Run a command, and exit with the status that it returns, or say why it cannot be carried out."""
        try:
            status = super().invoke(ctx)
        except KeyboardInterrupt:
            status = INTERRUPTED
        except UserError as error:
            click.echo(f"{ctx.invoked_subcommand or 'check'}: {error}", err=True)
            status = UNUSABLE
        ctx.exit(status or 0)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands."""
        return list(self.commands)


@contextlib.contextmanager
def refusing(*kinds: type[Exception]) -> Iterator[None]:
    """Turn errors of these kinds, whose messages say what to do, into a ``UserError``."""
    try:
        yield
    except kinds as error:
        raise UserError(str(error)) from error


class StepName(click.ParamType):
    """A step as a person names it: ``07``, ``s07`` or ``w01``."""

    name = "step"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Step:
        """Return the step of that name."""
        with refusing(ValueError):
            return value if isinstance(value, Step) else find_step(value)


class Several(click.ParamType):
    """One or more values, with commas between them."""

    def __init__(self, kind: click.ParamType) -> None:
        self.kind, self.name = kind, f"{kind.name},…"

    def convert(self, value: Any, param: click.Parameter | None, context: click.Context | None) -> list[Any]:
        """Return the values as a list."""
        parts = value.split(",") if isinstance(value, str) else value
        return [self.kind.convert(part, param, context) for part in parts]


def teller() -> Callable[[str], None]:
    """Return a function that prints a message on standard error, after the name of the running command."""
    command = click.get_current_context().info_name
    return lambda text: click.echo(f"{command}: {text}", err=True)


def each(*decorators: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return one decorator that applies several, for options that commands share."""

    def decorate(function: Any) -> Any:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return decorate
