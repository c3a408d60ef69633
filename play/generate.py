"""Write text: ``python -m play.generate "Call me" [--mine] [--model NAME-OR-FOLDER] [--seed N] …``.

Standard output holds the text alone, prompt and continuation, as it comes; everything else goes to
standard error. ``play.chat`` asks for one prompt after the other.
"""

from __future__ import annotations

import argparse
import secrets
import sys
import time
from typing import TYPE_CHECKING

from checker import interrupts
from play.modules import NotWritten, use_mine

if TYPE_CHECKING:  # at run time only after use_mine, which decides whose modules the engine imports
    from play.engine import Settings, Writer


def parser(chat: bool) -> argparse.ArgumentParser:
    """The arguments of ``generate``, and without the prompt those of ``chat``."""
    about = "Talk with GPT-2, one prompt after the other." if chat else "Continue a text with GPT-2."
    parser = argparse.ArgumentParser(prog="chat" if chat else "generate", description=about)
    if not chat:
        parser.add_argument("prompt", help="the text to continue")
    parser.add_argument("--model", help="a folder, gpt2, gpt2-medium, gpt2-large, gpt2-xl or a name on the hub")
    parser.add_argument("--mine", action="store_true", help="run your own steps instead of the reference")
    parser.add_argument("--fill-in", action="store_true", help="the reference stands in for steps you have not written")
    parser.add_argument("--max-new-tokens", type=int, default=100)
    parser.add_argument("--temperature", type=float, default=0.8, help="0 is greedy")
    parser.add_argument("--top-k", type=int, default=40, help="0 is all tokens")
    parser.add_argument("--seed", type=int, help="the same seed gives the same text")
    parser.add_argument("--device", choices=["cpu", "gpu"], default="cpu")
    parser.add_argument("--no-cache", action="store_true", help="run the whole text again for every token, to compare")
    return parser


def note(text: str) -> None:
    """Say something that is not the text."""
    print(text, file=sys.stderr, flush=True)


def main(chat: bool = False) -> int:
    """Write; the exit status is 2 when the call cannot be carried out."""
    interrupts.restore()
    options = parser(chat).parse_args()
    started = time.perf_counter()
    try:
        if options.mine:
            for step in use_mine(fill_in=options.fill_in):
                note(f"generate: the reference stands in for {step.task}")
        from checker.course.paths import SMALL_MODEL
        from play.engine import Settings, Writer

        writer = Writer(options.model or SMALL_MODEL, options.device, cache=not options.no_cache)
        seed = options.seed if options.seed is not None else secrets.randbelow(2**31)
        settings = Settings(options.max_new_tokens, options.temperature, options.top_k or None, seed)
        note(f"generate: ready after {time.perf_counter() - started:.1f} s; this text has --seed {seed}")
        if chat:
            converse(writer, settings)
        else:
            write(writer, options.prompt, settings)
    except (ValueError, NotWritten) as error:
        note(f"generate: {error}")
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


def write(writer: Writer, prompt: str, settings: Settings) -> None:
    """Print a prompt and what follows it."""
    print(prompt, end="", flush=True)
    for piece in writer.write(prompt, settings):
        print(piece, end="", flush=True)
    print(flush=True)


def converse(writer: Writer, settings: Settings) -> None:
    """Continue one prompt after the other until there is no more input."""
    note("chat: write the beginning of a text; an empty line or Ctrl-D ends.")
    while True:
        sys.stderr.write("> ")
        sys.stderr.flush()
        prompt = sys.stdin.readline().rstrip("\n")
        if not prompt:
            return
        write(writer, prompt, settings)
        settings.seed += 1


if __name__ == "__main__":
    sys.exit(main())
