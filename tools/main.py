"""One command for each maintainer task: it parses, calls, and returns the exit status.

Only what parsing needs is imported here; a command imports the rest when it runs, so that ``--help`` answers at once
and in an environment that lacks torch or a browser.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import click

from checker.course.steps import Step, all_steps
from cli.shared.command_line import Commands, Several, StepName, refusing

FILE = click.Path(dir_okay=False, path_type=Path)
Command = Callable[..., None]


def timed(rounds: int) -> Callable[[Command], Command]:
    """Give a benchmark command its two options, ``--rounds`` and ``--out``."""
    how_often = click.option("--rounds", type=click.IntRange(min=1), default=rounds, show_default=True)
    out = click.option("--out", type=FILE, help="Write the figures as JSON.")
    return lambda command: how_often(out(command))


def some_of(option: str, *names: str, more: Sequence[str] = ()) -> Callable[[Command], Command]:
    """Give a benchmark command an option that takes some names, with commas between them; by default ``names``."""
    choices = [*names, *more]
    about = f"Some of {', '.join(choices)}."
    return click.option(option, type=Several(click.Choice(choices)), default=names, metavar="NAME,…", help=about)


@click.group(cls=Commands)
def main() -> None:
    """Run a maintainer's task; `./run` lists them beside the learner's."""


# ---------------------------------------------------------------- benchmarks


@main.command()
@some_of("--only", "forward", "generation", more=("gpu", "smollm2"))
@click.option("--quick", is_flag=True, help="Run a model of one layer in a few short cases, to see that all works.")
@timed(rounds=3)
def bench(only: list[str], quick: bool, rounds: int, out: Path | None) -> None:
    """Time the model beside Hugging Face's: --only forward, --quick; --help lists the rest

    A model of random weights is put under .peers/, once: 0.5 GB. --out adds to a file what was measured on this
    processor. --only gpu, alone, runs both on a GPU, and files that under the GPU's name. --only smollm2 runs the Llama
    that chat fetches.
    """
    from tools.benchmarks.bench import run

    run(only, quick, rounds, out)


@main.command()
@click.option("--cold", is_flag=True, help="Also time the very first check, with an empty cache (minutes).")
@timed(rounds=5)
def bench_loop(cold: bool, rounds: int, out: Path | None) -> None:
    """Time the learner's loop: how long a verdict takes in a terminal"""
    from tools.benchmarks.learners_loop import run

    run(cold, rounds, out)


@main.command()
@click.option("--clients", type=Several(click.INT), default="1,8,32", show_default=True)
@some_of("--servers", "max", "transformers")
@click.option("--large", is_flag=True, help="Also time GPT-2 small's architecture, with random weights.")
@timed(rounds=3)
def bench_serve(clients: list[int], servers: list[str], large: bool, rounds: int, out: Path | None) -> None:
    """Time the server at 1, 8 and 32 clients, beside Hugging Face's"""
    from tools.benchmarks.serving import run

    run(servers, clients, large, rounds, out)


# ---------------------------------------------------------------- the book


@main.command()
@click.argument("chapters", nargs=-1)
def book_update(chapters: tuple[str, ...]) -> int:
    """Run again the commands that the book shows, and rewrite their output: step_07 …, or all chapters"""
    from tools.book_maker.transcripts import update

    return update(_found(chapters))


@main.command()
@click.argument("chapters", nargs=-1)
def book_check(chapters: tuple[str, ...]) -> int:
    """Count the words of chapters and list their faults, without building the book: step_07 …, or all"""
    from tools.book_maker.preprocess import check

    return check(_found(chapters))


@main.command()
@click.argument("names", nargs=-1, type=click.Choice(["attention", "sampling", "cache", "tiles", "training"]))
def book_widgets(names: tuple[str, ...]) -> None:
    """Record what the book's interactive figures show without a server: sampling …, or all"""
    from tools.book_maker.recording import RECORDED, record_widgets

    record_widgets(list(names or RECORDED))


@main.command()
def notebook() -> None:
    """Write the blocks of the fast path into play.ipynb, for Jupyter and editors; yours is kept beside it"""
    from tools.notebook import write_notebook

    with refusing(OSError):
        write_notebook()


@main.command()
def readme_picture() -> None:
    """Draw the verdict that README.md shows, as the check prints it now"""
    from tools.book_maker.drawing.terminal import draw

    draw()


def _found(names: tuple[str, ...]) -> list[str]:
    """Return the files of the chapters that a person names, or of all."""
    from play.book.chapters import chapters, find_chapter

    return [find_chapter(name) for name in names] or [path.name for path in chapters()]


# ---------------------------------------------------------------- for those who change the course


@main.command()
@click.argument("steps", nargs=-1, type=StepName())
def survey(steps: tuple[Step, ...]) -> int:
    """Check solutions, alternatives and mistakes; record their answers, and their kernels: 07 …, or all"""
    from tools.survey import record_answers

    return record_answers(steps or all_steps())


@main.command()
def references() -> None:
    """Record Hugging Face's numbers again"""
    from tools.record_references import write_references

    write_references()


@main.command()
@click.argument("version")
@click.argument("steps", nargs=-1, type=StepName())
def try_max(version: str, steps: tuple[Step, ...]) -> int:
    """Build an environment with another MAX, and say which checks it passes: ./run try-max 26.6.0

    VERSION may be `next`: the newest that pip finds, including pre-releases.
    """
    from tools.try_max import try_checks

    return try_checks(version, steps or all_steps())


@main.command()
def lock() -> int:
    """Pin every package in requirements/ from pyproject.toml (needs uv)"""
    from tools.lock import write_requirements

    return write_requirements()
