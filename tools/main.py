"""One command for each maintainer task: it parses, calls, and returns the exit status.

Only what parsing needs is imported here; a command imports the rest when it runs, so that ``--help`` answers at once
and in an environment that lacks torch or a browser.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import click

from checker.course.paths import SMALL_MODEL
from checker.course.steps import Step, all_steps
from cli.commands import Commands, Several, StepName

FILE = click.Path(dir_okay=False, path_type=Path)
FOLDER = click.Path(file_okay=False, path_type=Path)


def timed(rounds: int) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a benchmark command its two options, ``--rounds`` and ``--out``."""
    how_often = click.option("--rounds", type=click.IntRange(min=1), default=rounds, show_default=True)
    out = click.option("--out", type=FILE, help="Write the figures as JSON.")
    return lambda command: how_often(out(command))


def refuse_unknown(what: str, wanted: Iterable[str], there: Iterable[str]) -> None:
    """Refuse names of parts, servers or figures that do not exist, and list those that do."""
    if unknown := [one for one in wanted if one not in there]:
        raise click.UsageError(f"{', '.join(unknown)}: there is no such {what}; choose from {', '.join(there)}")


@click.group(cls=Commands)
def main() -> None:
    """Run a maintainer's task; `./run` lists them beside the learner's."""


# ---------------------------------------------------------------- benchmarks


@main.command()
@click.option(
    "--only",
    type=Several(click.STRING),
    metavar="PARTS",
    help="Some of peak,attention,forward,generation,memory,first,growth,gpu.",
)
@click.option("--quick", is_flag=True, help="Run a few short cases, to see that everything works.")
@click.option("--cold", is_flag=True, help="Also time MAX's first result with an empty cache (minutes).")
@click.option("--model", type=FOLDER, help="Load this checkpoint instead of seeded weights.")
@timed(rounds=5)
def bench(only: list[str] | None, quick: bool, cold: bool, model: Path | None, rounds: int, out: Path | None) -> None:
    """Time the model beside Hugging Face's: --only forward, --quick; --help lists the rest"""
    from tools.benchmarks.comparison import WrongOutput
    from tools.benchmarks.speed import QUICK, Plan, run

    refuse_unknown("part", only or [], Plan.parts)
    plan = QUICK if quick else Plan()
    try:
        run(model, only or plan.parts, rounds, plan, cold, out)
    except (WrongOutput, RuntimeError) as error:
        raise click.ClickException(str(error)) from error


@main.command()
@click.option("--cold", is_flag=True, help="Also time the very first check, with an empty cache (minutes).")
@click.option("--naive", is_flag=True, help="Also time the same check done the obvious way.")
@timed(rounds=5)
def bench_loop(cold: bool, naive: bool, rounds: int, out: Path | None) -> None:
    """Time the learner's loop: how long each verdict takes"""
    from tools.benchmarks.checks.loop import run

    run(rounds, cold, naive, out)


@main.command()
@click.option("--steps", type=Several(StepName()), help="Only these, such as 02,w05.")
@timed(rounds=3)
def bench_steps(steps: list[Step] | None, rounds: int, out: Path | None) -> None:
    """Time the check of every step"""
    from tools.benchmarks.checks.steps import run

    run(steps or all_steps(), rounds, out)


@main.command()
@click.option("--steps", type=Several(StepName()), default="02,07,09", show_default=True)
@click.option("--pause", default=3.0, show_default=True, help="Seconds between a verdict and the next save.")
@timed(rounds=20)
def bench_watch(steps: list[Step], pause: float, rounds: int, out: Path | None) -> None:
    """Time watch: how long after a save the verdict comes"""
    from tools.benchmarks.checks.save_to_verdict import run

    run(steps, rounds, pause, out)


@main.command()
@click.option("--steps", type=Several(StepName()), default="02,07", show_default=True)
@click.option("--pause", default=2.0, show_default=True, help="Seconds between a verdict and the next check.")
@timed(rounds=5)
def bench_page(steps: list[Step], pause: float, rounds: int, out: Path | None) -> None:
    """Time the page of the book beside watch: how soon a check answers, and a key is seen"""
    from tools.benchmarks.checks.page import run

    run(steps, rounds, pause, out)


@main.command()
@click.option("--clients", type=Several(click.INT), default="1,8,32", show_default=True)
@click.option("--servers", type=Several(click.STRING), help="Some servers, such as max,transformers; default: all.")
@click.option("--seconds", default=4.0, show_default=True, help="Length of each turn.")
@click.option("--tokens", default=32, show_default=True, help="Tokens of each request.")
@click.option("--large", is_flag=True, help="Also time GPT-2 small's architecture, with random weights.")
@timed(rounds=3)
def bench_serve(
    clients: list[int],
    servers: list[str] | None,
    seconds: float,
    tokens: int,
    large: bool,
    rounds: int,
    out: Path | None,
) -> None:
    """Time the server at 1, 8 and 32 clients, beside Hugging Face's"""
    from tools.benchmarks.serving import SERVERS, run

    refuse_unknown("server", servers or [], SERVERS)
    run(servers or list(SERVERS), clients, rounds, seconds, tokens, large, out)


@main.command()
@click.option(
    "--only", type=Several(click.STRING), metavar="PARTS", help="Some of ladder,ground,core,linear,forward,generation."
)
@click.option("--quick", is_flag=True, help="Run few short cases, to see that all of it works.")
@click.option("--model", type=FOLDER, help="Load this checkpoint instead of seeded weights.")
@timed(rounds=5)
def bench_kernels(only: list[str] | None, quick: bool, model: Path | None, rounds: int, out: Path | None) -> None:
    """Time the kernels in Mojo beside MAX's operations and PyTorch's"""
    from tools.benchmarks.comparison import WrongOutput
    from tools.benchmarks.kernels.timing import PARTS, run

    refuse_unknown("part", only or [], PARTS)
    try:
        run(only, model, quick, rounds, out)
    except (WrongOutput, RuntimeError) as error:
        raise click.ClickException(str(error)) from error


@main.command()
@timed(rounds=21)
def bench_projections(rounds: int, out: Path | None) -> None:
    """Time one fused projection against three, in NumPy"""
    from tools.benchmarks.projections import run

    run(rounds, out)


@main.command()
@click.option("--only", type=Several(click.STRING), metavar="VARIANTS", help="Some, such as rope,swiglu; default: all.")
@click.option("--quick", is_flag=True, help="Leave out the blocks with a cache.")
@timed(rounds=7)
def bench_modern(only: list[str] | None, quick: bool, rounds: int, out: Path | None) -> None:
    """Time a block of GPT-2 small against those of newer models"""
    from tools.modern.timing import run
    from tools.modern.variants import VARIANTS

    refuse_unknown("variant", only or [], VARIANTS)
    run(only, quick, rounds, out)


@main.command()
@click.option("--only", type=Several(click.STRING), metavar="SIZES", help="Some, such as small,gpt2; default: all.")
@click.option("--cold", is_flag=True, help="Also time a first step that has to compile everything.")
@click.option("--follow", type=FOLDER, help="Instead, repeat the training of this folder in PyTorch, and compare.")
@click.option("--steps", type=click.IntRange(min=1), help="With --follow, only its first steps.")
@timed(rounds=5)
def bench_train(
    only: list[str] | None, cold: bool, follow: Path | None, steps: int | None, rounds: int, out: Path | None
) -> None:
    """Time a step of training against PyTorch"""
    from tools.benchmarks.comparison import WrongOutput
    from tools.benchmarks.training import SIZES, run, run_after

    refuse_unknown("size", only or [], SIZES)
    try:
        run_after(follow, steps, out) if follow else run(only, cold, rounds, out)
    except (WrongOutput, RuntimeError, ValueError) as error:
        raise click.ClickException(str(error)) from error


@main.command()
@click.option("--only", type=Several(click.STRING), metavar="PARTS", help="Some of prefill,generation,start,memory.")
@click.option("--peers", type=Several(click.STRING), metavar="PEERS", help="Some, as course,ctranslate2; default: all.")
@click.option("--lengths", type=Several(click.INT), metavar="TOKENS", help="Prompts of so many tokens, as 8,512.")
@click.option("--batches", type=Several(click.INT), metavar="SEQUENCES", help="So many sequences at once, as 1,8.")
@click.option("--small", is_flag=True, help="Run the model in the box in a few short cases, to see that all works.")
@click.option("--wait", type=float, metavar="SECONDS", help="Wait for Enter once all is compiled, then every SECONDS.")
@timed(rounds=3)
def bench_peers(
    only: list[str] | None,
    peers: list[str] | None,
    lengths: list[int] | None,
    batches: list[int] | None,
    small: bool,
    wait: float | None,
    rounds: int,
    out: Path | None,
) -> None:
    """Time the model beside what a user would pick instead: --peers course,ctranslate2; --help lists the rest

    Each library gets an environment of its own under .peers/, once: 5 GB with the models. --out adds to a file what was
    measured on this processor.
    """
    from tools.benchmarks.peers.catalog import PEERS
    from tools.benchmarks.peers.environments import CannotPrepare
    from tools.benchmarks.peers.measuring import Plan, plan_of, run

    refuse_unknown("part", only or [], Plan.parts)
    refuse_unknown("peer", peers or [], PEERS)
    try:
        plan = plan_of(small, parts=only, lengths=lengths, batches=batches)
        run(plan, peers or list(PEERS), small, wait, rounds, out)
    except (CannotPrepare, RuntimeError) as error:
        raise click.ClickException(str(error)) from error


# ---------------------------------------------------------------- the book


@main.command()
@click.argument("chapters", nargs=-1)
@click.option("--dry-run", is_flag=True, help="Print the differences and rewrite nothing.")
def book_update(chapters: tuple[str, ...], dry_run: bool) -> int:
    """Run again the commands that the book shows, and rewrite their output: step_07 …, or all chapters"""
    from tools.book_maker.transcripts import update

    return update(_found(chapters), rewrite=not dry_run)


@main.command()
@click.argument("chapters", nargs=-1)
def book_check(chapters: tuple[str, ...]) -> int:
    """List the faults of chapters without building the book: step_07 …, or all"""
    from tools.book_maker.preprocess import check

    return check(_found(chapters))


@main.command()
@click.argument("out", type=FOLDER)
@click.argument("figures", nargs=-1)
def book_figures(out: Path, figures: tuple[str, ...]) -> None:
    """Draw figures without building the book: OUT, then step_07.heads … or all"""
    from tools.book_maker.drawing.preview import names, preview

    refuse_unknown("figure", figures, there := names())
    preview(out, list(figures) or there)


@main.command()
@click.argument("names", nargs=-1)
def book_widgets(names: tuple[str, ...]) -> None:
    """Record what the book's pictures that can be touched show without a server: sampling …, or all"""
    from tools.book_maker.values.recording import RECORDED, record

    refuse_unknown("picture", names, RECORDED)
    record(list(names or RECORDED))


@main.command()
def readme_picture() -> None:
    """Draw the verdict that README.md shows, as the check prints it now"""
    from tools.book_maker.drawing.terminal import draw

    draw()


def _found(names: tuple[str, ...]) -> list[str]:
    """Return the files of the chapters that a person names, or of all."""
    from play.reading.chapters import chapters, find_chapter

    try:
        return [find_chapter(name) for name in names] or [path.name for path in chapters()]
    except ValueError as error:
        raise click.UsageError(str(error)) from error


# ---------------------------------------------------------------- for those who change the course


@main.command()
@click.argument("steps", nargs=-1, type=StepName())
def kernels(steps: tuple[Step, ...]) -> int:
    """Grade solutions, alternatives and mistakes; record their answers, and their kernels: 07 …, or all"""
    from tools.surveys.survey import record

    return record(steps or all_steps())


@main.command()
def references() -> None:
    """Record Hugging Face's numbers again"""
    from tools.references import record

    record()


@main.command()
@click.argument("version")
@click.argument("steps", nargs=-1, type=StepName())
def try_max(version: str, steps: tuple[Step, ...]) -> int:
    """Build an environment with another MAX, and say which checks it passes: ./run try-max 26.6.0

    VERSION may be `next`: the newest that pip finds, including pre-releases.
    """
    from tools.try_max import try_max

    return try_max(version, steps=list(steps))


@main.command()
def lock() -> int:
    """Pin every package in requirements/ from pyproject.toml (needs uv)"""
    from tools.lock import write_requirements

    return write_requirements()


# ---------------------------------------------------------------- the small model


@main.command()
@click.option("--model", type=FOLDER, default=SMALL_MODEL, help="A folder in Hugging Face's layout.")
@click.option("--also", type=FILE, multiple=True, help="A text it has read beside Moby Dick; may be repeated.")
def evaluate(model: Path, also: tuple[Path, ...]) -> None:
    """Measure how well a GPT-2 predicts the held-out chapters of Moby Dick, beside an n-gram and xz"""
    from tools.small_model.evaluate import record_evaluation

    record_evaluation(model, also)


@main.command("period-texts")
@click.argument("folder", type=FOLDER)
def period_texts(folder: Path) -> None:
    """Fetch old prose to train on beside Moby Dick into a folder, by checksum"""
    from tools.small_model.period_texts import fetch_all

    try:
        fetch_all(folder, click.echo)
    except OSError as error:
        raise click.ClickException(str(error)) from error


@main.command("evaluate-writing")
@click.option("--model", type=FOLDER, default=SMALL_MODEL, help="A folder in Hugging Face's layout.")
@click.option("--also", type=FILE, multiple=True, help="A text it has read beside Moby Dick; may be repeated.")
@click.option("--out", type=FILE, help="Write the texts and their figures as JSON.")
def evaluate_writing(model: Path, also: tuple[Path, ...], out: Path | None) -> None:
    """Show what a GPT-2 writes after five fixed beginnings: invented words, repetition, the longest copy"""
    from tools.small_model.evaluate import record_writing

    record_writing(model, also, out)


@main.command("evaluate-small")
@click.option("--out", type=FILE, help="Write the figures as JSON.")
def evaluate_small(out: Path | None) -> None:
    """Measure what weights of 8 and 4 bits cost: how the small model predicts the held-out chapters with them"""
    from tools.benchmarks.quantized import record_quality

    record_quality(out)
