"""The commands beside the check of a step: ``watch``, ``hint``, ``status``, ``reset``, ``compare``, ``grade`` …"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from checker.course.hunts import SENTENCES
from checker.course.steps import Step, all_steps
from checker.device import DeviceKind
from checker.errors import UserError, exit_on_termination
from checker.files import ROOT
from cli.shared.command_line import (
    FORM,
    SEED,
    DeviceName,
    Finite,
    Several,
    StepName,
    refusing,
    step_argument,
    teller,
    writing,
)

CHECKOUT = click.Path(path_type=Path, resolve_path=True)


@click.command()
@click.argument("step", type=StepName(), required=False, help="07, s07 or w01; else the one to continue with")
def watch(step: Step | None) -> int:
    """Check a step at every save, the one to continue with or another: ./run watch, ./run watch 07."""
    from cli.watching.watch import watch_step

    return watch_step(step)


@click.command()
@step_argument
@click.option("--all", "every", is_flag=True, help="Every hint, from the first.")
@click.option("--yes", is_flag=True, help="Do not ask before the last hint, which tells the most.")
def hint(step: Step, every: bool, yes: bool) -> None:
    """Show the next hint for a step: ./run hint 07."""
    from cli.hint import show_hint

    show_hint(step, every=every, sure=yes)


@click.command()
def status() -> None:
    """List every step and warm-up, and how far along each is."""
    from checker.terminal import Terminal
    from cli.status import list_all

    list_all(Terminal())


@click.command()
@click.argument("step", type=StepName(), required=False, help="07, s07 or w01")
@click.option("--all", "every", is_flag=True, help="Every step and warm-up.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def reset(step: Step | None, every: bool, yes: bool) -> None:
    """Start a step over: ./run reset 07; your file is kept beside it."""
    from cli.reset import reset_steps

    if every == bool(step):
        raise UserError("say which step to reset, `./run reset 07`, or `./run reset --all`")
    reset_steps([step] if step else all_steps(), sure=yes)


@click.command()
@step_argument
@click.option("--anyway", is_flag=True, help="Show it even if it has not passed.")
def compare(step: Step, anyway: bool) -> int:
    """Show your file beside the solution, once it has passed: ./run compare 07."""
    from cli.compare import show_differences

    return show_differences(step, anyway=anyway)


@click.command()
@step_argument
@click.option(
    "--name",
    "number",
    is_flag=False,
    flag_value=0,
    type=int,
    metavar="[NUMBER]",
    help=f"Choose among {SENTENCES} sentences.",
)
@click.option("--give-up", is_flag=True, help="Tell the mistake.")
@click.option("--new", is_flag=True, help="Begin another hunt; what you have written is kept beside it.")
@click.option("--show", default="", metavar="FUNCTION", help="Show its numbers beside the right ones.")
@click.option("--seed", type=SEED, help="Draw the mistake, or what its check draws, from this number.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, for programs.")
def hunt(step: Step, **options: Any) -> int:
    """Find the mistake in a copy of the solution, once your file has passed: ./run hunt 07"""
    from cli.hunt import hunt_mistake

    if [options["number"] is not None, options["give_up"], options["new"]].count(True) > 1:
        raise UserError("--name, --give-up and --new exclude each other; give one")
    with refusing(OSError):
        return hunt_mistake(step, **options)


@click.command(params=[*FORM])
@click.argument("checkout", type=CHECKOUT, required=False, help="a clone with the steps; else this one")
@click.option("--steps", type=Several(StepName()), metavar="STEPS", help="Only these, such as 07,w05; each must pass.")
@click.option("--no-compile", is_flag=True, help="Stop each check after the numbers.")
@click.option("--seed", type=SEED, help="Draw every second configuration from this number.")
@click.option("--limit", type=Finite(1), default=1800.0, metavar="SECONDS", help="End a check after so long.")
def grade(
    checkout: Path | None,
    steps: list[Step] | None,
    no_compile: bool,
    seed: int | None,
    limit: float,
    form: str | None,
) -> int:
    """Grade every step of a checkout, of which only steps/ is taken: ./run grade ../submission"""
    from cli.grade import grade_checkout

    options = ["--no-compile"] if no_compile else []
    if seed is not None:
        options.append(f"--seed={seed}")
    return grade_checkout(checkout or ROOT, steps or (), options, limit, form)


@click.command()
@click.option("--check", "only_check", is_flag=True, help="Write nothing; fail where steps/ differs.")
def skeletons(only_check: bool) -> int:
    """Make steps/ from solutions/; your own work in steps/ is left alone."""
    from checker.course.skeletons import check_all, write_all

    with writing():
        return check_all() if only_check else write_all()


@click.command()
@click.argument("steps", type=StepName(), nargs=-1, help="07, s07 or w01; all when none is named")
@click.option("--device", type=DeviceName(), default="cpu", help="gpu: what checks and generate need on it.")
@click.option("--all", "every", is_flag=True, help="First install what book, serve and notebook need.")
def warm(steps: tuple[Step, ...], device: DeviceKind, every: bool) -> int:
    """Compile everything that the checks and the finished model need, once, so that nothing waits later.

    With --all, nothing needs a network afterwards but published weights.
    """
    exit_on_termination()
    if every:
        from cli.start.setup import install_all

        install_all()
    from cli.warm import warm_up

    return warm_up(steps, device)


@click.command()
@click.option("--port", type=click.IntRange(1, 65535), show_default="3000, or a free one", help="Where to serve it.")
@click.option("--open/--no-open", "open_", default=True, help="Open the browser.")
@click.option(
    "--trusted-origin", multiple=True, metavar="ORIGIN", help="Another address that leads here, as in a devcontainer."
)
def book(port: int | None, open_: bool, trusted_origin: tuple[str, ...]) -> int:
    """Serve the book with an editor and the check on its pages, at http://127.0.0.1:3000."""
    from cli.page.server import serve

    return serve(teller(), port=port, open_=open_, trusted=trusted_origin)


@click.command()
def doctor() -> int:
    """Describe this machine in a block to paste into a bug report."""
    from cli.doctor import describe_machine

    return describe_machine()
