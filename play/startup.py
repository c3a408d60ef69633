"""The beginning of every command of the finished model: choose whose steps run, hook into MAX, tell of compiling."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from checker.compiling import compiled_now
from checker.course.reading import why_not_utf8
from checker.errors import UserError
from play.mine.choice import OwnSteps, choose_own_steps
from play.options import ModelOptions
from play.processor import instruction_sets

Tell = Callable[[str], None]  # tells a user something that is no result

CLEAR_LINE = "\r\x1b[K\x1b[?25h"  # and show the cursor, which a moving line has hidden


def tell_stopped(tell: Tell, sentence: str) -> None:
    """Tell that a signal has stopped a command, and what MAX was compiling, on a line of its own in a terminal."""
    sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__  # rich would show the moving line below the sentence
    if sys.stderr and sys.stderr.isatty():
        print(end=CLEAR_LINE if compiled_now else "\n", file=sys.stderr, flush=True)
    if compiled_now:
        sentence += f" while MAX compiled {compiled_now[-1]}; the next run starts that over"
    tell(sentence)


def in_utf8(text: str) -> str:
    """Return a text that was typed, in which Python has made surrogates of bytes that the locale cannot read.

    Raises:
        UserError: it is not UTF-8; the message names the first byte that is not.
    """
    data = text.encode("utf-8", "surrogateescape")
    if why := why_not_utf8(data):
        raise UserError(f"the text is not UTF-8: {why}")
    return data.decode("utf-8")


@contextmanager
def ready_to_run(tell: Tell, needed: Sequence[str] = (), own: OwnSteps | None = None) -> Iterator[None]:
    """Choose whose steps run, and hook into MAX; while this is open, say what MAX compiles, and then any notice of it.

    Import no solution before. For the arguments see :func:`play.mine.choice.choose_own_steps`.

    Raises:
        UserError: steps are not complete, or the last check of one failed, and no option allows it.
    """
    chosen = choose_own_steps(needed, own)
    chosen.install()
    for sentence in chosen.sentences:
        tell(sentence)
    from checker.max_adapter.hooks import install_hooks, notices
    from play.compiling_line import telling_of_compiling

    install_hooks()
    with telling_of_compiling():
        yield
    for notice in notices:
        tell(notice)


def usable_kernels(options: ModelOptions, tell: Tell) -> bool:
    """Return whether the kernels of ``play.kernels`` run: if that was not said, they do unless the steps are one's own.

    Where Mojo cannot compile them, ``tell`` why, and run without them.
    """
    wanted = options.own is None if options.kernels is None else options.kernels
    if not (wanted and options.has_kernels):
        return False
    from play.kernels.operations import package

    try:
        package()
    except ValueError as error:
        tell(f"without the kernels in Mojo, so slower: {error}")
        return False
    return True


def check_bfloat16(kernels: bool) -> None:
    """Let bfloat16 pass where it can run.

    Raises:
        UserError: without the kernels, or on a processor whose registers are too short for how they pack weights.
    """
    if not kernels:
        raise UserError(
            "only the kernels multiply in bfloat16; "
            "leave --no-kernels, --no-cache, --quantize, --mine and --device gpu away, or --dtype"
        )
    if "AVX-512" not in instruction_sets():
        raise UserError(
            "bfloat16 needs a processor with AVX-512, such as AMD's since Zen 4 and Intel's Xeons; leave --dtype away"
        )
