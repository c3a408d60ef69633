"""The figures of the chapter on sizes: where the parameters are, and what is read to decode a token."""

import numpy as np

from tools.book_maker.drawing.svg import Kind, Plot, box, figure, text
from tools.book_maker.values.arithmetic import decode_bytes, parameters, share
from tools.book_maker.values.book_values import sizes

PARTS: dict[str, tuple[str, Kind]] = {
    "wte": ("token table", "accent"),
    "wpe": ("positions", "masked"),
    "attention": ("attention", "query"),
    "mlp": ("feed-forward", "key"),
}


def parts() -> str:
    """Draw one bar per model, cut by the share of each part; the norms are too small to be seen."""
    left, width, height = 98, 268, 34
    drawn = []
    place = 8
    for words, kind in PARTS.values():
        drawn += [box(place, 6, 14, 14, kind=kind, round=2), text(place + 20, 13, words, anchor="start", size="small")]
        place += 104
    for row, (name, config) in enumerate(sizes.items()):
        top, start = 36 + row * (height + 10), float(left)
        drawn.append(text(left - 8, top + height / 2, name, anchor="end", mono=True, size="small"))
        for part, (_, kind) in PARTS.items():
            length = width * share(config, part)
            words = f"{100 * share(config, part):.0f} %" if length > 40 else ""
            drawn.append(box(start, top, length, height, words, kind=kind, size="small", round=0))
            start += length
        total = parameters(config)["total"]
        drawn.append(text(left + width + 8, top + height / 2, f"{total / 1e6:,.0f}M", anchor="start", size="small"))
    return figure(
        424, 36 + len(sizes) * (height + 10), *drawn, title="The share of each part in the parameters of the four GPT-2"
    )


def decode() -> str:
    """Draw megabytes per token for the two smaller models, in float32 and bfloat16, by the length of the cache."""
    lengths = np.array([0, sizes["gpt2"].n_positions])
    plot = Plot(56, 26, 210, 200, (0, sizes["gpt2"].n_positions), (0, 1750))
    drawn = [
        plot.axes(
            x_ticks=(0, 256, 512, 768, 1024),
            y_ticks=(0, 500, 1000, 1500),
            x_label="tokens in the cache",
            y_label="MB per token",
        )
    ]
    for name, kind in (("gpt2", "query"), ("gpt2-medium", "key")):
        for number, words in ((4, "float32"), (2, "bfloat16")):
            read = [decode_bytes(sizes[name], int(length), number) / 1e6 for length in lengths]
            drawn.append(plot.curve(lengths, read, kind=kind, dashed=number == 2))  # type: ignore[arg-type]
            end = plot.at(float(lengths[-1]), read[-1])
            drawn.append(text(end[0] + 8, end[1], f"{name}, {words}", anchor="start", size="small"))
    return figure(425, 276, *drawn, title="What is read for a token grows slowly with the cache; bfloat16 halves it")
