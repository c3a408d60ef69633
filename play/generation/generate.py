"""Write text with the finished model: one text, or one after another.

Standard output gets only the text, prompt and continuation, as it comes; everything else goes to standard error.
"""

from __future__ import annotations

import secrets
import sys
import time
from enum import Enum, auto
from typing import TYPE_CHECKING

from checker.course.steps import CACHED_MODEL, CHAT, LLAMA, MODEL, QUANTIZATION, SAMPLING, find_step
from checker.errors import UserError
from play.generation.options import WriterOptions
from play.mine.choice import is_complete
from play.mine.stand_ins import is_refusal
from play.smollm2 import CONTEXT, is_llama, llama_file
from play.startup import Tell, in_utf8, ready_to_run, usable_kernels

if TYPE_CHECKING:  # at run time only once it is decided whose modules these are and import
    from play.generation.engine import Writer
    from play.generation.talker import LlamaWriter
    from solutions.solution_12 import Sampling


class Cache(Enum):
    """What keeps the keys and values of the tokens before a new one."""

    STEP_14 = auto()
    KERNELS = auto()  # these have one of their own
    NONE = auto()  # which was asked for: every new token runs the whole text
    NOT_WRITTEN = auto()  # so there is none


def write_texts(prompt: str | None, tell: Tell, options: WriterOptions) -> None:
    """Continue a prompt or, without one, each line that is typed; ``tell`` everything but the text.

    Raises:
        ValueError: the checkpoint cannot be read, there is no such device, a setting makes no sense, or there is no
            input to read prompts from; or the learner's steps cannot run: see :func:`play.startup.ready_to_run`.
    """
    if prompt is None and sys.stdin is None:
        raise UserError("standard input is closed, so there is nothing to read; `./run generate TEXT` takes one text")
    started = time.perf_counter()
    writer = llama_writer(tell, options) if is_llama(options.model) else gpt2_writer(tell, options)
    from solutions.solution_12 import Sampling

    sampling = Sampling(options.temperature, options.top_k or None)
    seed = secrets.randbelow(2**31) if options.seed is None else options.seed
    tell(f"ready after {time.perf_counter() - started:.1f} s; this text has --seed {seed}")
    if prompt is None:
        tell("write the beginning of a text; an empty line or Ctrl-D ends this.")
        converse(writer, sampling, seed, options.max_new_tokens, tell)
    else:
        write(writer, prompt, sampling, seed, options.max_new_tokens)


def gpt2_writer(tell: Tell, options: WriterOptions) -> Writer:
    """Return what continues texts with a GPT-2, compiled."""
    cache = cache_of(options)
    has_cache = cache in (Cache.STEP_14, Cache.KERNELS)
    needed = [MODEL, SAMPLING]
    if options.quantize:
        needed.append(QUANTIZATION)
    if cache is Cache.STEP_14:
        needed.append(CACHED_MODEL)
    with ready_to_run(tell, needed, options.own):
        from play.checkpoints import usable_checkpoint

        folder = usable_checkpoint(options.model)
        if cache is Cache.NOT_WRITTEN:
            tell("s14 is not written yet, so there is no cache, and the whole text runs for every new token")
        kernels = has_cache and usable_kernels(options, tell)
        if options.own and kernels:
            tell("the kernels stand in for the attention of s07 and s14; leave --kernels away to run your own")
        from play.generation.engine import Writer

        return Writer(
            folder, options.device, cache=has_cache, kernels=kernels, quantize=options.quantize, dtype=options.dtype
        )


def cache_of(options: WriterOptions) -> Cache:
    """Return what keeps the keys and values of a GPT-2."""
    if options.no_cache:
        return Cache.NONE
    if options.kernels and options.has_kernels:
        return Cache.KERNELS
    if options.own and not is_complete(find_step(CACHED_MODEL)):
        return Cache.NOT_WRITTEN  # the solution's would stand in for more of the learner's attention than is missing
    return Cache.STEP_14


def llama_writer(tell: Tell, options: WriterOptions) -> LlamaWriter:
    """Return what continues texts with a Llama, compiled.

    Raises:
        ValueError: an option is for a GPT-2 alone, or what :func:`write_texts` says.
    """
    require_llamas_options(options)
    with ready_to_run(tell, [*LLAMA, CHAT], options.own):
        file = llama_file(options.model, tell)
        kernels = usable_kernels(options, tell)
        if options.own and kernels:
            tell("the kernels stand in for the attention of s25; leave --kernels away to run your own")
        from play.generation.talker import LlamaWriter

        return LlamaWriter(file, options.device, CONTEXT, kernels=kernels)


def require_llamas_options(options: WriterOptions) -> None:
    """Refuse an option that is for a GPT-2 alone.

    Raises:
        UserError: one was given; the message names the first.
    """
    given = {"--no-cache": options.no_cache, "--quantize": options.quantize, "--dtype": options.dtype != "float32"}
    for option, is_given in given.items():
        if is_given:
            raise UserError(f"{options.model} is a Llama, which runs with its cache, in float32; leave {option} away")


def write(writer: Writer | LlamaWriter, prompt: str, sampling: Sampling, seed: int, max_new_tokens: int) -> None:
    """Print a prompt and the text that follows it.

    Raises:
        ValueError: the model cannot continue the prompt; if that shows at once, nothing is printed.
    """
    pieces = writer.write(prompt, sampling, seed, max_new_tokens)
    print(prompt + next(pieces, ""), end="", flush=True)
    for piece in pieces:
        print(piece, end="", flush=True)
    print(flush=True)


def converse(writer: Writer | LlamaWriter, sampling: Sampling, seed: int, max_new_tokens: int, tell: Tell) -> None:
    """Continue one prompt after another until there is no more input; ``tell`` why one cannot be continued.

    The first text has this seed, and each other the one after that of the text before; a prompt that cannot be
    continued takes none.
    """
    while True:
        print("> ", end="", file=sys.stderr, flush=True)
        prompt = sys.stdin.readline().rstrip("\n")
        if not prompt:
            return
        try:
            write(writer, in_utf8(prompt), sampling, seed, max_new_tokens)
        except ValueError as error:
            if not is_refusal(error):
                raise
            tell(str(error))
        else:
            seed += 1
