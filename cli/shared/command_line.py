"""The parts of a command line: the learner's, ``cli.main``, and the maintainers', ``tools.main``."""

from __future__ import annotations

import contextlib
import io
import math
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn

import click

from checker.course.steps import Step, find_step
from checker.device import DeviceKind
from checker.errors import INTERRUPTED, UNUSABLE, UserError

SEED = click.IntRange(0)  # NumPy takes no negative seed


class Commands(click.Group):
    """A group of commands that return their exit status, listed in the order of their definition."""

    def invoke(self, ctx: click.Context) -> NoReturn:
        """Run a command, and exit with the status that it returns, or say why it cannot be carried out."""
        if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a caller may ignore Ctrl-C, as `nohup … &` does
            signal.signal(signal.SIGINT, signal.default_int_handler)
        for stream, errors in ((sys.stdin, "surrogateescape"), (sys.stdout, "backslashreplace")):
            if isinstance(stream, io.TextIOWrapper):  # whatever the locale's encoding lacks is no traceback
                stream.reconfigure(errors=errors)
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


@contextlib.contextmanager
def writing() -> Iterator[None]:
    """Turn an OSError of writing into a ``UserError``."""
    try:
        yield
    except OSError as error:
        raise UserError(f"{error}. Is the folder of the course writable?") from error


def require_label(function: str, labels: Sequence[str]) -> None:
    """Raise UserError if ``--show`` asks for a function without a blank."""
    if function not in ("", *labels):
        raise UserError(f"there is no function {function} to show; choose from {', '.join(labels)}")


class Finite(click.FloatRange):
    """A number in a range, which for click NaN is."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number."""
        number = float(super().convert(value, param, ctx))
        return number if math.isfinite(number) else self.fail(f"{value} is not a finite number.", param, ctx)


class StepName(click.ParamType):
    """A step as a person names it: ``07``, ``s07`` or ``w01``."""

    name = "step"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Step:
        """Return the step of that name."""
        return value if isinstance(value, Step) else find_step(value)


class DeviceName(click.Choice[DeviceKind]):
    """A kind of device as a person names it: ``cpu`` or ``gpu``."""

    def __init__(self) -> None:
        super().__init__(DeviceKind)

    def normalize_choice(self, choice: object, ctx: click.Context | None) -> str:
        """Return the word for a kind; click itself would ask for the enum's names, ``CPU`` and ``GPU``."""
        return str(choice)


class Several(click.ParamType):
    """One or more values, with commas between them."""

    def __init__(self, kind: click.ParamType) -> None:
        self.kind, self.name = kind, f"{kind.name},…"

    def convert(self, value: Any, param: click.Parameter | None, context: click.Context | None) -> list[Any]:
        """Return the values as a list."""
        parts = value.split(",") if isinstance(value, str) else value
        return [self.kind.convert(part, param, context) for part in parts]


def confirm(question: str) -> bool | None:
    """Return whether a person answers yes; None if there is no terminal to ask at."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return None
    try:
        return input(f"{question} [y/N] ").strip().lower() in ("y", "yes")
    except EOFError:
        print()
        return False


def teller() -> Callable[[str], None]:
    """Return a function that prints a message on standard error, after the name of the running command."""
    command = click.get_current_context().info_name
    return lambda text: click.echo(f"{command}: {text}", err=True)


def all_of(*decorators: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return one decorator that applies several, for options that commands share."""

    def decorate(function: Any) -> Any:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return decorate


step_argument = click.argument("step", type=StepName(), help="07, s07 or w01")
FORM: list[click.Parameter] = [  # of a report; the last one counts
    click.Option(["--json", "form"], flag_value="json", help="Print the verdict as one JSON object, for programs."),
    click.Option(["--problems", "form"], flag_value="problems", help="Then print FILE:LINE: error: WHY, for editors."),
    click.Option(["--github", "form"], flag_value="github", help="Then print annotations, for GitHub's workflows."),
]
