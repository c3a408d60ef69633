"""The learner's commands: ``python -m cli s07``, ``python -m cli hint 07``, one for each learner task.

A command parses, calls, and returns the exit status, or refuses in one sentence: 0 is a pass or done, 1 a failure, 2 a
call that cannot be carried out, 130 an interrupt. It imports what it runs when it is called, so ``--help`` answers at
once and needs no MAX. ``finished`` has those that run the finished model; ``tools.main`` is made of the same parts.
"""

from __future__ import annotations

import contextlib
import math
import signal
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import click

from checker.course.steps import ROOT, Step, all_steps, find_step, relative_path
from checker.errors import UserError
from checker.interrupts import INTERRUPTED

DEVICE = click.Choice(["cpu", "gpu"])
FOLDER = click.Path(path_type=Path, resolve_path=True)
SEED = click.IntRange(0)  # NumPy draws from no other number
UNUSABLE = 2  # the exit status of a call that cannot be carried out

# ---------------------------------------------------------------- what every command line here has in common


class Commands(click.Group):
    """A group of commands that return their exit status, listed in the order of their definition."""

    def invoke(self, ctx: click.Context) -> NoReturn:
        """Run a command, and exit with the status that it returns, or say why it cannot be carried out."""
        if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a caller may ignore Ctrl-C, as `nohup … &` does
            signal.signal(signal.SIGINT, signal.default_int_handler)
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


# ---------------------------------------------------------------- the learner's


class LearnersCommands(Commands):
    """The commands: one for each step, then the others."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands, the steps' first."""
        from cli import finished  # noqa: F401 (it adds its own)

        return [*(step.task for step in all_steps()), *super().list_commands(ctx)]

    def get_command(self, ctx: click.Context, name: str) -> click.Command:
        """Return a command by its name, or the check of a step by ``07``, ``7``, ``s07`` or ``step_07``."""
        try:
            return super().get_command(ctx, name) or check_of(find_step(name))
        except ValueError as error:
            from cli import finished  # noqa: F401 (which a check does without)

            if command := super().get_command(ctx, name):
                return command
            raise UserError(str(error)) from error


step_argument = click.argument("step", type=StepName(), help="07, s07 or w01")


@click.group(cls=LearnersCommands, context_settings={"help_option_names": ["-h", "--help"], "show_default": True})
def main() -> None:
    """Build GPT-2 step by step: check a step, ask for a hint, run the finished model."""


# ---------------------------------------------------------------- the check


def check_of(step: Step) -> click.Command:
    """Return the command that checks a step."""
    about = f"Check {relative_path(step.learner_file)}: {step.title}"
    return click.Command(step.task, callback=partial(check, step), params=CHECK_OPTIONS, help=about)


FORM = [  # of a report; the last one counts
    click.Option(["--json", "form"], flag_value="json", help="Print the verdict as one JSON object, for programs."),
    click.Option(["--problems", "form"], flag_value="problems", help="Then print FILE:LINE: error: WHY, for editors."),
    click.Option(["--github", "form"], flag_value="github", help="Then print annotations, for GitHub's workflows."),
]
CHECK_OPTIONS: list[click.Parameter] = [
    click.Option(["--solution"], is_flag=True, help="Grade the reference solution instead of your file."),
    click.Option(["--no-compile"], is_flag=True, help="Stop after the numbers."),
    click.Option(["--device"], type=DEVICE, help="Compile for this device alone."),
    click.Option(["--show"], default="", metavar="FUNCTION", help="Show its numbers beside the right ones."),
    click.Option(["--seed"], type=SEED, help="Draw the second configuration from this number again."),
    *FORM,
]


def check(step: Step, *, no_compile: bool, form: str | None, **options: Any) -> int:
    """Grade a step and print the verdict; only a pass is 0."""
    from checker.session.child import Child

    with Child() as child:  # it imports pytest and MAX, most of the time until a verdict, while this imports the rest
        from checker.course.blanks import blanks_of
        from checker.events import Options
        from checker.session.printer import Printer, View
        from checker.session.session import Session

        labels = [blank.label for blank in blanks_of(step)]
        if options["show"] not in ("", *labels):
            raise UserError(f"there is no function {options['show']} to show; choose from {', '.join(labels)}")
        if form:
            import json

            from checker.session.records import verdict_record
            from cli.problems import as_lines, not_obeyed, problems_of
        with not_obeyed() if form == "github" else contextlib.nullcontext():
            view = View() if form == "json" else Printer(labels)
            session = Session(step, view, Options(compile=not no_compile, **options))
            status = session.run(child).status
    if form == "json":
        click.echo(json.dumps(verdict_record(session), indent=1))
    elif form:
        for line in as_lines(problems_of(verdict_record(session)), form):
            click.echo(line)
    return status


@main.command("step", params=[*CHECK_OPTIONS])
@step_argument
def check_named(step: Step, **options: Any) -> int:
    """Check the step whose file has this name, as editors call it: ./run step step_07."""
    return check(step, **options)


# ---------------------------------------------------------------- beside you


@main.command()
@click.argument("step", type=StepName(), required=False, help="07, s07 or w01; else the one to continue with")
def watch(step: Step | None) -> int:
    """Check a step at every save, the one to continue with or another: ./run watch, ./run watch 07."""
    from cli.watch import watch

    return watch(step)


@main.command()
@step_argument
@click.option("--all", "every", is_flag=True, help="Every hint, from the first.")
@click.option("--yes", is_flag=True, help="Do not ask before the last hint, which tells the most.")
def hint(step: Step, every: bool, yes: bool) -> None:
    """Show the next hint for a step: ./run hint 07."""
    from cli.hint import tell

    tell(step, every=every, sure=yes)


@main.command()
def status() -> None:
    """List every step and warm-up, and how far along each is."""
    from checker.session.printer import Printer
    from cli.status import list_all

    list_all(Printer())


@main.command()
@click.argument("step", type=StepName(), required=False, help="07, s07 or w01")
@click.option("--all", "every", is_flag=True, help="Every step and warm-up.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def reset(step: Step | None, every: bool, yes: bool) -> None:
    """Start a step over: ./run reset 07; your file is kept beside it."""
    from cli.reset import reset

    if every == bool(step):
        raise UserError("say which step to reset, `./run reset 07`, or `./run reset --all`")
    reset([step] if step else all_steps(), sure=yes)


@main.command()
@step_argument
@click.option("--whole", is_flag=True, help="Show whole functions, including the given parts.")
@click.option("--anyway", is_flag=True, help="Show it even if it has not passed.")
def compare(step: Step, whole: bool, anyway: bool) -> int:
    """Show your file beside the solution, once it has passed: ./run compare 07."""
    from cli.compare import compare

    return compare(step, whole=whole, anyway=anyway)


@main.command("grade", params=[*FORM])
@click.argument("checkout", type=FOLDER, required=False, help="a clone with the steps; else this one")
@click.option("--steps", type=Several(StepName()), metavar="STEPS", help="Only these, such as 07,w05; each must pass.")
@click.option("--no-compile", is_flag=True, help="Stop each check after the numbers.")
@click.option("--seed", type=SEED, help="Draw every second configuration from this number.")
@click.option("--limit", type=click.FloatRange(1), default=1800.0, metavar="SECONDS", help="End a check after so long.")
def grade_all(
    checkout: Path | None,
    steps: list[Step] | None,
    no_compile: bool,
    seed: int | None,
    limit: float,
    form: str | None,
) -> int:
    """Grade every step of a checkout, of which only steps/ is taken: ./run grade ../submission"""
    from cli.grading import grade

    if not math.isfinite(limit):
        raise UserError(f"--limit is {limit}; give a number of seconds")
    options = [*(["--no-compile"] if no_compile else []), *([] if seed is None else [f"--seed={seed}"])]
    return grade(checkout or ROOT, steps or (), options, limit, form)


@main.command()
@click.option("--check", "only_check", is_flag=True, help="Write nothing; fail where steps/ differs.")
def skeletons(only_check: bool) -> int:
    """Make steps/ from solutions/; your own work in steps/ is left alone."""
    from checker.course.skeletons import check_all, write_all

    return check_all() if only_check else write_all()


@main.command()
@click.argument("steps", type=StepName(), nargs=-1, help="07, s07 or w01; all when none is named")
@click.option("--device", type=DEVICE, default="cpu", help="gpu: what checks and generate need on it.")
@click.option("--all", "every", is_flag=True, help="First install what book, serve, attention and notebook need.")
def warm(steps: tuple[Step, ...], device: str, every: bool) -> int:
    """Compile everything that the checks and the finished model need, once, so that nothing waits later.

    With --all, nothing needs a network afterwards but published weights.
    """
    if every:
        from cli.setup import install_all

        install_all()
    from cli.warm import warm

    return warm(steps, device)


@main.command()
@click.option("--port", type=click.IntRange(1, 65535), show_default="3000, or a free one", help="Where to serve it.")
@click.option("--open/--no-open", "open_", default=True, help="Open the browser.")
@click.option(
    "--trusted-origin", multiple=True, metavar="ORIGIN", help="Another address that leads here, as in a devcontainer."
)
def book(port: int | None, open_: bool, trusted_origin: tuple[str, ...]) -> int:
    """Serve the book with an editor and the check on its pages, at http://127.0.0.1:3000."""
    from cli.page.server import serve

    return serve(teller(), port=port, open_=open_, trusted=trusted_origin)


@main.command()
def doctor() -> int:
    """Describe this machine in a block to paste into a bug report."""
    from cli.doctor import doctor

    return doctor()
