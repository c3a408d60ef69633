"""See what the heads look at: ``python -m play.attention "The cat sat on the mat" [--mine] [--text] [--png FILE] …``.

Writes one HTML file that needs nothing else; standard output holds what ``--text`` draws, everything else
goes to standard error.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from checker import interrupts
from play.generate import note
from play.modules import NotWritten, use_mine

if TYPE_CHECKING:  # at run time only after use_mine, which decides whose modules run
    from play.attention_weights import Attention


def parser() -> argparse.ArgumentParser:
    """The arguments of ``attention``."""
    parser = argparse.ArgumentParser(prog="attention", description="See what every head looks at in a text.")
    parser.add_argument("text_to_read", metavar="TEXT", help="the text that the model reads")
    parser.add_argument("--out", type=Path, metavar="FILE", help="the HTML file to write (attention.html)")
    parser.add_argument("--png", type=Path, metavar="FILE", help="write a picture of all heads as PNG instead")
    parser.add_argument("--text", action="store_true", help="draw one head in the terminal instead")
    parser.add_argument("--layer", type=int, default=1, help="the layer that is shown large, from 1")
    parser.add_argument("--head", type=int, default=1, help="the head that is shown large, from 1")
    parser.add_argument("--model", help="a folder, gpt2, gpt2-medium, gpt2-large, gpt2-xl or a name on the hub")
    parser.add_argument("--mine", action="store_true", help="run your own steps instead of the reference")
    parser.add_argument("--fill-in", action="store_true", help="the reference stands in for steps you have not written")
    return parser


def main() -> int:
    """Draw; the exit status is 2 when the call cannot be carried out."""
    interrupts.restore()
    options = parser().parse_args()
    try:
        if options.mine:
            for step in use_mine(fill_in=options.fill_in):
                note(f"attention: the reference stands in for {step.task}")
        from checker.course.paths import SMALL_MODEL
        from play.attention_weights import read_attention

        attention = read_attention(options.text_to_read, options.model or SMALL_MODEL)
        layers, heads = attention.weights.shape[:2]
        if not (1 <= options.layer <= layers and 1 <= options.head <= heads):
            raise ValueError(f"there is no layer {options.layer}, head {options.head}: there are {layers} of {heads}")
        draw(attention, options)
    except (ValueError, OSError, NotWritten) as error:
        note(f"attention: {error}")
        return 2
    return 0


def draw(attention: Attention, options: argparse.Namespace) -> None:
    """Draw what the options ask for."""
    from play import pictures

    if options.text:
        pictures.in_terminal(attention, options.layer - 1, options.head - 1)
    if options.png:
        pictures.as_png(attention, options.png)
        note(f"attention: {options.png} written")
    if options.out or not (options.text or options.png):
        out = options.out or Path("attention.html")
        out.write_text(pictures.as_html(attention, options.layer - 1, options.head - 1), encoding="utf-8")
        note(f"attention: {out} written; open it in a browser")


if __name__ == "__main__":
    sys.exit(main())
