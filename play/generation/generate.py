"""Write text with the finished model: one text, or one after another.

Standard output gets only the text, prompt and continuation, as it comes; everything else goes to standard error.
"""

from __future__ import annotations

import secrets
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from checker.course.steps import CACHED_MODEL, CHAT, LLAMA, MODEL, QUANTIZATION, SAMPLING, find_step
from checker.device import DeviceKind
from checker.errors import UserError
from play.mine.choice import is_complete
from play.mine.stand_ins import is_refusal
from play.smollm2 import CONTEXT, is_llama, llama_file
from play.startup import Tell, in_utf8, ready_to_run, usable_kernels

if TYPE_CHECKING:  # at run time only once it is decided whose modules the engine imports
    from play.generation.engine import Settings, Writer
    from play.generation.talker import LlamaWriter


def generate(
    prompt: str | None,
    tell: Tell,
    *,
    model: str | Path,
    max_new_tokens: int,
    temperature: float,
    top_k: int,
    seed: int | None,
    device: DeviceKind,
    no_cache: bool,
    kernels: bool | None,
    quantize: str | None,
    dtype: str,
    **own_steps: bool,
) -> None:
    """Continue a prompt or, without one, each line that is typed; ``tell`` everything but the text.

    Raises:
        ValueError: the checkpoint cannot be read, there is no such device, a setting makes no sense, or there is no
            input to read prompts from; or the learner's steps cannot run: see :func:`play.startup.ready_to_run`,
            which ``own_steps`` are for.
    """
    if prompt is None and sys.stdin is None:
        raise UserError("standard input is closed, so there is nothing to read; `./run generate TEXT` takes one text")
    started = time.perf_counter()
    begin = llama_writer if is_llama(model) else gpt2_writer
    writer = begin(
        model, tell, device=device, no_cache=no_cache, kernels=kernels, quantize=quantize, dtype=dtype, **own_steps
    )
    from play.generation.engine import Settings

    seed = secrets.randbelow(2**31) if seed is None else seed
    settings = Settings(max_new_tokens, temperature, top_k or None, seed)
    tell(f"ready after {time.perf_counter() - started:.1f} s; this text has --seed {seed}")
    if prompt is None:
        tell("write the beginning of a text; an empty line or Ctrl-D ends this.")
        converse(writer, settings, tell)
    else:
        write(writer, prompt, settings)


def gpt2_writer(
    model: str | Path,
    tell: Tell,
    *,
    device: DeviceKind,
    no_cache: bool,
    kernels: bool | None,
    quantize: str | None,
    dtype: str,
    **own_steps: bool,
) -> Writer:
    """Return what continues texts with a GPT-2, compiled; the arguments are those of :func:`generate`."""
    mine, plain = own_steps["mine"], device is not DeviceKind.CPU or no_cache or quantize is not None
    needed, lacks_cache = [MODEL, SAMPLING], mine and not is_complete(find_step(CACHED_MODEL))
    if quantize:
        needed.append(QUANTIZATION)
    if no_cache or (kernels and not plain):
        lacks_cache = False  # which is not asked for
    elif lacks_cache:
        no_cache = True  # the solution's cache would stand in for more of the learner's attention than is missing
    else:
        needed.append(CACHED_MODEL)
    with ready_to_run(tell, needed, **own_steps):
        from play.checkpoints import usable_checkpoint

        folder = usable_checkpoint(model)
        if lacks_cache:
            tell("s14 is not written yet, so there is no cache, and every new token runs the whole text")
        kernels = usable_kernels(kernels, tell, mine=mine, plain=plain or no_cache)
        if mine and kernels:
            tell("the kernels stand in for the attention of s07 and s14; leave --kernels away to run your own")
        from play.generation.engine import Writer

        return Writer(folder, device, cache=not no_cache, kernels=kernels, quantize=quantize, dtype=dtype)


def llama_writer(
    model: str | Path,
    tell: Tell,
    *,
    device: DeviceKind,
    no_cache: bool,
    kernels: bool | None,
    quantize: str | None,
    dtype: str,
    **own_steps: bool,
) -> LlamaWriter:
    """Return what continues texts with a Llama, compiled; the arguments are those of :func:`generate`.

    Raises:
        ValueError: an option is for a GPT-2 alone, or what :func:`generate` says.
    """
    given = {"--no-cache": no_cache, "--quantize": quantize, "--dtype": dtype != "float32"}
    if options := [option for option, is_given in given.items() if is_given]:
        raise UserError(f"{model} is a Llama, which runs with its cache, in float32; leave {options[0]} away")
    with ready_to_run(tell, [*LLAMA, CHAT], **own_steps):
        file = llama_file(model, tell)
        kernels = usable_kernels(kernels, tell, mine=own_steps["mine"], plain=device is not DeviceKind.CPU)
        if own_steps["mine"] and kernels:
            tell("the kernels stand in for the attention of s25; leave --kernels away to run your own")
        from play.generation.talker import LlamaWriter

        return LlamaWriter(file, device, CONTEXT, kernels=kernels)


def write(writer: Writer | LlamaWriter, prompt: str, settings: Settings) -> None:
    """Print a prompt and the text that follows it.

    Raises:
        ValueError: the model cannot continue the prompt; if that shows at once, nothing is printed.
    """
    pieces = writer.write(prompt, settings)
    print(prompt + next(pieces, ""), end="", flush=True)
    for piece in pieces:
        print(piece, end="", flush=True)
    print(flush=True)


def converse(writer: Writer | LlamaWriter, settings: Settings, tell: Tell) -> None:
    """Continue one prompt after another until there is no more input; ``tell`` why one cannot be continued.

    Each text has the seed after that of the one before; a prompt that cannot be continued takes none.
    """
    while True:
        print("> ", end="", file=sys.stderr, flush=True)
        prompt = sys.stdin.readline().rstrip("\n")
        if not prompt:
            return
        try:
            write(writer, in_utf8(prompt), settings)
        except ValueError as error:
            if not is_refusal(error):
                raise
            tell(str(error))
        else:
            settings.seed += 1
