"""The figures of the chapter on sizes: where the parameters are, and what is read to decode a token."""

import numpy as np

from tools.book_maker.drawing.svg import Axis, Drawing
from tools.book_maker.values.arithmetic import decode_bytes, parameters, share
from tools.book_maker.values.book_values import sizes

PARTS = {
    "wte": ("token table", "accent"),
    "wpe": ("positions", "masked"),
    "attention": ("attention", "query"),
    "mlp": ("feed-forward", "key"),
}


def parts(draw: Drawing) -> None:
    """The share of each part in the parameters of the four GPT-2."""
    left, width, height = 98, 268, 34
    draw.legend(8, 13, PARTS.values())
    for row, (name, config) in enumerate(sizes.items()):
        top, start = 36 + row * (height + 10), float(left)
        draw.text(left - 8, top + height / 2, name, "end", mono=True)
        for part, (_, kind) in PARTS.items():
            length = width * share(config, part)
            words = f"{100 * share(config, part):.0f}%" if length > 40 else ""
            draw.box(start, top, length, height, words, kind, size="small", round=0)
            start += length
        draw.text(left + width + 8, top + height / 2, f"{parameters(config)['total'] / 1e6:,.0f}M", "start")


def decode(draw: Drawing) -> None:
    """What is read for a token grows slowly with the cache; both in bfloat16 take half."""
    most = sizes["gpt2"].n_positions
    tokens, megabytes = (0, 256, 512, 768, 1024), (0, 500, 1000, 1500)
    axes = Axis(0, most, tokens, "tokens in the cache"), Axis(0, 1750, megabytes, "MB per token")
    plot = draw.plot((56, 26, 210, 200), *axes)
    for name, kind in (("gpt2", "query"), ("gpt2-medium", "key")):
        for number, words in ((4, "float32"), (2, "bfloat16")):
            read = [decode_bytes(sizes[name], length, number) / 1e6 for length in (0, most)]
            plot.curve(np.array([0, most]), read, kind, dashed=number == 2)
            plot.text((most, read[-1]), f"{name}, {words}", right=8)
