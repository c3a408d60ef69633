"""The commands that run the finished model, or the book's blocks on it: ``generate``, ``serve``, ``train``, ``try`` …

They are apart from the other commands because a check loads nothing of ``play``.
"""

from __future__ import annotations

import contextlib
import functools
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click

from checker.course.reading import Unreadable
from checker.course.steps import SMALL_MODEL, relative_path
from checker.errors import UserError
from cli.shared.command_line import SEED, DeviceName, Finite, all_of, refusing, teller
from play.generation.options import WriterOptions
from play.mine import stand_ins
from play.mine.choice import OwnSteps
from play.serving.options import ServerOptions
from play.signals import exiting_on_signals
from play.smollm2 import CONTEXT
from play.startup import Tell, in_utf8, tell_stopped
from play.training.plan import Plan


class Text(click.ParamType):
    """A text in UTF-8, whatever the locale says."""

    name = "text"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the text."""
        return in_utf8(value)


FILE = click.Path(path_type=Path)
DAY = 86_400  # seconds: the most that a request, or the end of the server, may take

device_option = click.option("--device", type=DeviceName(), default="cpu", help="Where the model runs.")
GPT2 = "A folder, gpt2, gpt2-medium, gpt2-large, gpt2-xl or a name on the hub"


def own_steps_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say whose steps run; the command gets them as one value, ``own``."""

    @click.option("--mine", is_flag=True, help="Run your own steps instead of the reference.")
    @click.option("--fill-in", is_flag=True, help="Let the solutions stand in for steps you have not written.")
    @click.option("--anyway", is_flag=True, help="With --mine, also run steps whose last check failed.")
    @functools.wraps(command)
    def with_own_steps(*, mine: bool, fill_in: bool, anyway: bool, **options: Any) -> Any:
        return command(own=OwnSteps(fill_in, anyway) if mine else None, **options)

    return with_own_steps


def model_options(help_text: str) -> Callable[..., Any]:
    """Return the options that say which model runs, and whose steps."""
    model = click.option("--model", default=str(SMALL_MODEL), show_default="the small one in models/", help=help_text)
    return all_of(model, own_steps_options)


# None of these has a default, for a resumed training must know which are given; help shows the plan's.
plan_options = all_of(
    click.option("--layers", type=int, show_default=str(Plan.layers), help="How many blocks."),
    click.option("--heads", type=int, show_default=str(Plan.heads), help="Heads per block."),
    click.option(
        "--width", type=int, show_default=str(Plan.width), help="The size of a hidden state, a multiple of the heads."
    ),
    click.option(
        "--positions", type=int, show_default=str(Plan.positions), help="How many tokens the model sees at most."
    ),
    click.option(
        "--vocab", type=int, show_default=str(Plan.vocab), help="How many tokens the tokenizer learns from the text."
    ),
    click.option("--batch", type=int, show_default=str(Plan.batch), help="How many windows run at once."),
    click.option(
        "--accumulate",
        type=int,
        show_default=str(Plan.accumulate),
        help="Batches per step; their gradients are added up.",
    ),
    click.option("--rate", type=float, show_default=str(Plan.rate), help="The highest learning rate."),
    click.option(
        "--seed",
        type=int,
        show_default=str(Plan.seed),
        help="The seed of the first weights and of the order of the windows.",
    ),
    click.option(
        "--share",
        type=float,
        show_default=str(Plan.share),
        help="With --also, the share of --text in all that is learned; it grows, from 0 to twice that.",
    ),
    click.option(
        "--half",
        is_flag=True,
        default=None,
        help="Save the model in 16 bits per weight; the training itself keeps 32.",
    ),
    click.option("--prompt", type=Text(), show_default=Plan.prompt, help="How the samples begin."),
)
compute_options = all_of(
    click.option(
        "--kernels/--no-kernels",
        default=None,
        help="Run what play/kernels has in Mojo, which is faster.",
        show_default="unless --mine",
    ),
    click.option(
        "--quantize",
        type=click.Choice(["Q8_0", "Q4_0"], case_sensitive=False),
        help="Round the matrices to 8 or 4 bits, as in step 22.",
    ),
    click.option(
        "--dtype",
        type=click.Choice(["float32", "bfloat16"]),
        default="float32",
        help="bfloat16 halves the weights of linear layers, on processors with AVX-512.",
    ),
)


@contextlib.contextmanager
def running(*refused: type[Exception]) -> Iterator[Tell]:
    """Run a command, which a signal ends soon; refuse what it cannot do, and name the learner's step that is wrong.

    Args:
        refused: errors, besides a ValueError, whose message says what cannot be done.

    Yields:
        What tells the user something.
    """
    tell = teller()
    with (
        exiting_on_signals(lambda by: tell_stopped(tell, f"stopped by {by}")),
        refusing(ValueError, *refused),
        naming_steps(),
    ):
        yield tell


@contextlib.contextmanager
def naming_steps() -> Iterator[None]:
    """While this is open, name the learner's step that an error comes from, or that ends the program."""
    try:
        yield
    except Exception as error:
        if stand_ins.steps_by_file and not stand_ins.is_refusal(error):
            raise UserError(blaming(stand_ins.failing_file(error), error)) from error
        raise
    except SystemExit as error:
        if file := stand_ins.failing_file(error):
            raise UserError(blaming(file, error)) from error
        raise


def blaming(file: str | None, error: BaseException) -> str:
    """Return what is wrong in a learner's file, or in all of them together, and what to do."""
    from checker.diagnosis.exceptions import error_in_words
    from checker.diagnosis.frames import code_in
    from checker.diagnosis.locating import location_of

    words = error_in_words(error, file or "")
    if file:
        location = location_of(error, file)
        shown = location.as_lines() if location else []
    elif in_graph := stand_ins.line_in_graph(error):
        file, number = in_graph
        shown = [f"line {number}: {code_in(file, number)}"]
    else:
        return f"your steps do not run together. {words}\n{stand_ins.where_to_look()}"
    calls = ((frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(error.__traceback__))
    callers = [call for call in calls if call[0] in stand_ins.steps_by_file and call[0] != file]
    for caller, line in callers[-1:]:  # which may have given it something wrong
        shown.append(f"called from {relative_path(Path(caller))}, line {line}: {code_in(caller, line)}")
    place = "".join(f"\n    {line}" for line in shown)
    return f"{relative_path(Path(file))}: {words}{place}\n`./run {stand_ins.steps_by_file[file].task}` checks this step"


@click.command("try")
@click.argument("chapter", help="07, s07, w01 or the name of a page, such as heads")
@click.option("--solution", is_flag=True, help="Run it on the solution instead of your step.")
def try_(chapter: str, solution: bool) -> int:
    """Run the Python blocks of a chapter: ./run try 08."""
    from play.book.trying import try_chapter

    return try_chapter(chapter, teller(), solution=solution)


@click.command()
@click.option("-c", "command", default="", metavar="CODE", help="Run this instead of opening a prompt.")
def python(command: str) -> None:
    """Open a Python prompt in which MAX answers at once."""
    from play.book.prompt import open_prompt

    open_prompt(teller(), command)


@click.command()
@click.argument("prompt", type=Text(), required=False, help="the text to continue; without it, each line that is typed")
@model_options(f"{GPT2}; or a Llama: smollm2, or a GGUF file.")
@click.option(
    "--max-new-tokens",
    type=click.IntRange(0),
    default=WriterOptions.max_new_tokens,
    help="Write at most this many tokens.",
)
@click.option("--temperature", type=Finite(0), default=WriterOptions.temperature, help="0 is greedy.")
@click.option(
    "--top-k",
    type=click.IntRange(0),
    default=WriterOptions.top_k,
    help="Choose among the K likeliest tokens; 0 is all.",
)
@click.option("--seed", type=SEED, help="The same seed gives the same text.")
@device_option
@click.option("--no-cache", is_flag=True, help="Run the whole text again for every token, to compare.")
@compute_options
def generate(prompt: str | None, **options: Any) -> None:
    """Write text: ./run generate "Call me"; --mine runs your own steps."""
    from play.generation.generate import write_texts

    with running(OSError) as tell:
        write_texts(prompt, tell, WriterOptions(**options))


@click.command()
@click.argument("question", type=Text(), required=False, help="what to ask; without one, each line that is typed")
@click.option(
    "--model", default="smollm2", show_default=True, help="smollm2, or the GGUF file of a Llama that answers."
)
@own_steps_options
@click.option("--system", type=Text(), help="What the model is told first.", show_default="that it is SmolLM")
@click.option("--max-new-tokens", type=click.IntRange(0), default=500, help="Answer with at most this many tokens.")
@click.option("--temperature", type=Finite(0), default=0.0, show_default=True, help="0 is greedy.")
@click.option("--top-p", type=Finite(0, 1, min_open=True), default=0.9, help="Draw from the nucleus; 1 is all tokens.")
@click.option("--seed", type=SEED, help="The same seed gives the same answers.")
@click.option("--context", type=click.IntRange(64), default=CONTEXT, help="The most tokens of a conversation.")
@device_option
def chat(question: str | None, **options: Any) -> None:
    """Ask SmolLM2 something: ./run chat "What is the capital of France?"; --mine runs your own steps."""
    from play.generation.chat import ChatOptions, answer_questions

    with running(OSError) as tell:
        answer_questions(question, tell, ChatOptions(**options))


@click.command()
@click.argument("file", type=FILE, default="gpt2.py", help="the file to write")
@click.option("--solution", is_flag=True, help="Write the solutions instead of your steps.")
@click.option("--fill-in", is_flag=True, help="Let the solutions stand in for steps you have not written.")
@click.option("--anyway", is_flag=True, help="Also take steps whose last check failed.")
def export(file: Path, *, solution: bool, fill_in: bool, anyway: bool) -> None:
    """Write one Python file of your steps 01 to 14, which runs without this repository: ./run export."""
    from play.export.export import write_program

    with refusing(ValueError, OSError, Unreadable):
        write_program(file, teller(), None if solution else OwnSteps(fill_in, anyway))


@click.command()
@model_options(f"{GPT2}; or a Llama, which also answers: smollm2, or a GGUF file.")
@click.option("--host", default="127.0.0.1", help="0.0.0.0 lets other machines in.")
@click.option("--port", type=int, default=8000)
@click.option("--api-key", type=FILE, help="A file of keys, one per line; every request needs one of them.")
@click.option("--no-key", is_flag=True, help="Let other machines connect without a key.")
@device_option
@click.option("--context", type=click.IntRange(2), default=ServerOptions.context, help="The most tokens of a text.")
@click.option("--batch", type=click.IntRange(1), default=ServerOptions.batch, help="Texts that run at once.")
@click.option(
    "--queue", type=click.IntRange(0), default=ServerOptions.queue, help="Texts that wait; the next gets 429."
)
@click.option("--time-limit", type=Finite(1, DAY), default=ServerOptions.time_limit, help="Seconds for a request.")
@click.option("--grace", type=Finite(0, DAY), default=ServerOptions.grace, help="Seconds to finish in at the end.")
@click.option("--restart", is_flag=True, help="Start the model again if its process ends, but not if it keeps ending.")
@click.option("--no-prefix-cache", is_flag=True, help="Compute every prompt anew, even if one began in the same way.")
@compute_options
@click.option("--replicas", type=click.IntRange(1), default=1, help="How many servers share the requests, by Ray.")
@click.option("--log-json", is_flag=True, help="Log as JSON, a line per request.")
def serve(**options: Any) -> int:
    """Serve the model through MAX, with OpenAI's interface; --mine serves your own steps."""
    from play.signals import restore_default_signals

    restore_default_signals()
    from play.serving.serve import run_server

    with refusing(ValueError), naming_steps():
        return run_server(teller(), **options)


@click.command()
@click.argument("text_to_read", type=Text(), metavar="TEXT", help="the text that the model reads")
@click.option("--out", type=FILE, help="The HTML file to write.", show_default="attention.html")
@click.option("--text", is_flag=True, help="Draw one head in the terminal instead.")
@click.option("--layer", type=click.IntRange(0), default=0, help="The layer that is shown large, from 0.")
@click.option("--head", type=click.IntRange(0), default=0, help="The head that is shown large, from 0.")
@model_options(f"{GPT2}; or a Llama: smollm2, or a GGUF file.")
@device_option
def attention(**options: Any) -> None:
    """See what every head looks at: ./run attention "The cat sat on the mat"."""
    from play.attention.show import show_attention

    with running(OSError) as tell:
        show_attention(tell, **options)


@click.command()
@click.option("--stride", type=int, default=64, help="How many tokens each window predicts; 256 is four times as fast.")
@click.option("--out", type=FILE, help="Write the figures as JSON.")
@model_options(f"{GPT2}.")
def ablate(**options: Any) -> None:
    """Leave out each part of the model in turn, and say what that costs; --mine uses your own steps."""
    from play.ablation.ablate import print_ablations

    with running(OSError) as tell:
        print_ablations(tell, **options)


@click.command()
@click.option("--text", type=FILE, multiple=True, show_default="Moby Dick", help="A text to learn; may be repeated.")
@click.option("--also", type=FILE, multiple=True, help="A text to learn beside it, and earlier; may be repeated.")
@click.option("--steps", type=int, show_default=str(Plan.steps), help="How many steps to take.")
@click.option("--minutes", type=float, help="How long to train; timing a few steps sets their number.")
@click.option("--out", type=FILE, show_default="my-gpt2", help="The folder to make.")
@click.option("--resume", type=FILE, metavar="FOLDER", help="Continue the training in a folder.")
@plan_options
@own_steps_options
def train(**options: Any) -> None:
    """Train a GPT-2 on Moby Dick, or on --text FILE; --mine trains with your own steps."""
    from play.training.train import run_training

    with running(OSError) as tell:
        run_training(tell, **options)
