"""Figures of step 07: heads split and merged, attention number by number, and the module's data flow."""

from __future__ import annotations

import math

import numpy as np

from solutions.solution_01 import GPT2Config
from solutions.warmup_03 import attention_weights, lookback_mask
from solutions.warmup_04 import merge_heads, split_heads
from tools.book_maker.drawing import svg

TOKENS, HEADS, WIDTH = 3, 2, 4
HEAD_DIM = WIDTH // HEADS
TOKEN_KINDS: tuple[svg.Kind, ...] = ("query", "key", "value")  # one color a token
CELL = (26, 24)

# The worked example of the chapter.
QUERY = np.array([[1, 0, 0, 2], [0, 2, 1, 0], [2, 1, 1, 1]])
KEY = np.array([[1, 1, 0, 1], [0, 1, 2, 0], [2, 0, 0, 2]])
VALUE = np.array([[4, 0, 0, 1], [0, 4, 1, 0], [2, 2, 3, 3]])


def _cells(x: float, y: float, values: np.ndarray) -> str:
    """Draw numbers that name their token in the tens, in the color of that token."""
    return "\n".join(
        svg.box(
            x + column * CELL[0],
            y + row * CELL[1],
            *CELL,
            f"{int(value):02d}",
            kind=TOKEN_KINDS[int(value) // 10],
            size="small",
            mono=True,
            round=0,
        )
        for (row, column), value in np.ndenumerate(values)
    )


def _heads(x: float, y: float, heads: np.ndarray) -> str:
    """Draw [head, seq, head_dim], one head below the other."""
    high = TOKENS * CELL[1] + 24
    return "\n".join(
        svg.text(x + CELL[0], y + at * high - 10, f"head {at}", size="small") + "\n" + _cells(x, y + at * high, head)
        for at, head in enumerate(heads)
    )


def _step(x: float, y: float, width: float, words: str, kind: svg.Kind = "plain") -> str:
    """Draw an arrow with the name of an operation above it."""
    return svg.text(x + width / 2, y - 16, words, size="small", mono=True, kind=kind) + svg.arrow(
        x + 6, y, x + width - 6, y, kind=kind
    )


def split_and_merge() -> str:
    """Draw three tokens of four channels: into two heads and back, and what two reshapes make of them."""
    x = 10 * np.arange(TOKENS)[:, None] + np.arange(WIDTH)
    cut = x.reshape(TOKENS, HEADS, HEAD_DIM)
    heads = split_heads(x, HEADS)
    wide, narrow, high, gap = WIDTH * CELL[0], HEAD_DIM * CELL[0], TOKENS * CELL[1], 84
    at = [4.0]  # the left edge of each stage
    for width in (wide, wide + 10, narrow):
        at.append(at[-1] + width + gap)
    top, middle = 54, 54 + high + 12
    flat = middle - high / 2
    parts = [
        svg.text(at[0] + wide / 2, flat - 14, "[seq, embd]", size="small"),
        _cells(at[0], flat, x),
        _step(at[0] + wide, middle, gap, "reshape", "good"),
        svg.text(at[1] + wide / 2 + 5, flat - 30, "[seq, head,", size="small"),
        svg.text(at[1] + wide / 2 + 5, flat - 14, "head_dim]", size="small"),
        *(_cells(at[1] + head * (narrow + 10), flat, cut[:, head]) for head in range(HEADS)),
        _step(at[1] + wide + 10, middle, gap, "transpose", "good"),
        svg.text(at[2] + narrow / 2, top - 30, "[head, seq, head_dim]", size="small"),
        _heads(at[2], top, heads),
        svg.text(at[2] + narrow + gap / 2, middle - 34, "transpose", size="small", mono=True, kind="good"),
        _step(at[2] + narrow, middle, gap, "reshape", "good"),
        svg.text(at[3] + wide / 2, flat - 14, "[seq, embd]", size="small"),
        _cells(at[3], flat, merge_heads(heads)),
    ]
    below = top + 2 * high + 96
    low = below + high + 12
    flat = low - high / 2
    left, right = 4.0, 354.0
    parts += [
        svg.text(left, below - 40, "Split by reshape alone", anchor="start", kind="bad", bold=True),
        _cells(left, flat, x),
        _step(left + wide, low, gap, "reshape", "bad"),
        _heads(left + wide + gap, below, x.reshape(HEADS, TOKENS, HEAD_DIM)),
        svg.text(right, below - 40, "Merged by reshape alone", anchor="start", kind="bad", bold=True),
        _heads(right, below, heads),
        _step(right + narrow, low, gap, "reshape", "bad"),
        _cells(right + narrow + gap, flat, heads.reshape(TOKENS, WIDTH)),
    ]
    return svg.figure(
        at[3] + wide + 4,
        below + 2 * high + 34,
        *parts,
        title="Reshape and transpose give each head two channels of every token; reshape alone mixes the tokens",
    )


def heat_maps() -> str:
    """Draw the worked example: scores, scale, mask, softmax, values and the output, one head per row."""
    query, key, value = (split_heads(part, HEADS).astype(float) for part in (QUERY, KEY, VALUE))
    mask = lookback_mask(TOKENS)
    scores = query @ key.swapaxes(-2, -1)
    scaled = scores / math.sqrt(HEAD_DIM)
    masked = np.where(mask, scaled, -np.inf)
    weights = attention_weights(query, key, mask)
    output = weights @ value
    stages = [  # name, what makes it, numbers, how they are printed, the width of a cell
        ("scores", "", scores, ".0f", 27),
        ("scaled", "/ \N{SQUARE ROOT}2", scaled, ".1f", 30),
        ("masked", "+ mask", masked, ".1f", 30),
        ("weights", "softmax", weights, ".2f", 39),
        ("value", "@", value, ".0f", 27),
        ("output", "=", output, ".2f", 39),
    ]
    parts = []
    for head in range(HEADS):
        left, top = 24.0, 66.0 + head * 142
        parts.append(svg.text(left - 16, top - 44, f"head {head}", anchor="start", bold=True))
        for at, (name, operation, numbers, spec, wide) in enumerate(stages):
            width = numbers.shape[-1] * wide
            if operation:
                parts.append(svg.text(left - 9, top - 30, operation, size="small", mono=True))
            parts.append(
                svg.matrix(
                    left,
                    top,
                    numbers[head],
                    cell=(wide, 28),
                    spec=spec,
                    limit=float(np.abs(numbers[np.isfinite(numbers)]).max()),
                    rows=range(TOKENS) if at == 0 else None,
                )
            )
            parts.append(svg.text(left + width / 2, top - 12, name, size="small"))
            left += width + 17
    return svg.figure(
        left, 66 + 142 + 3 * 28 + 12, *parts, title="From scores to the output, number by number, for two heads"
    )


def module() -> str:
    """Draw the data flow of the whole module, with GPT-2 small's shapes."""
    config = GPT2Config()
    width, heads, size = config.n_embd, config.n_head, config.head_dim
    shapes = {
        "stream": f"[batch, seq, {width}]",
        "joined": f"[batch, seq, {3 * width}]",
        "heads": f"[batch, {heads}, seq, {size}]",
        "scores": f"[batch, {heads}, seq, seq]",
    }
    middle, note = 200.0, 418.0

    def row(y: float, words: str, shape: str, wide: float = 150, kind: svg.Kind = "plain") -> str:
        """Draw a part in the middle column and, right of it, the shape that leaves it."""
        return svg.box(middle - wide / 2, y, wide, 32, words, mono=True, kind=kind) + svg.text(
            note, y + 16, shape, anchor="start", size="small", mono=True
        )

    def down(y: float, to: float, x: float = middle) -> str:
        return svg.arrow(x, y, x, to)

    parts = [
        row(10, "hidden_states", shapes["stream"]),
        down(42, 62),
        row(62, "c_attn", shapes["joined"], kind="accent"),
    ]
    names: tuple[tuple[str, svg.Kind], ...] = (("query", "query"), ("key", "key"), ("value", "value"))
    columns = [middle - 130, middle, middle + 130]
    for x, (name, kind) in zip(columns, names, strict=True):
        parts += [
            svg.arrow(middle, 94, x, 122),
            svg.box(x - 60, 122, 120, 32, name, mono=True, kind=kind),
            down(154, 174, x),
            svg.box(x - 60, 174, 120, 32, "_split_heads", mono=True, size="small"),
        ]
    parts += [
        svg.text(note, 138, f"3 times {shapes['stream']}", anchor="start", size="small", mono=True),
        svg.text(note, 190, f"3 times {shapes['heads']}", anchor="start", size="small", mono=True),
        svg.box(4, 222, 392, 262, dashed=True, kind="muted"),
        svg.text(14, 238, "_attn", anchor="start", size="small", mono=True, bold=True),
        svg.arrow(columns[0], 206, middle - 40, 250),
        down(206, 250),
        row(250, "query @ key.T", shapes["scores"]),
        down(282, 298),
        row(298, f"/ \N{SQUARE ROOT}{size}", shapes["scores"]),
        down(330, 346),
        row(346, "+ causal_mask", shapes["scores"]),
        down(378, 394),
        row(394, "softmax", shapes["scores"]),
        down(426, 442),
        row(442, "@ value", shapes["heads"]),
        svg.polyline([(columns[2], 206), (columns[2], 458), (middle + 75, 458)], head=True),
        down(474, 500),
        row(500, "_merge_heads", shapes["stream"]),
        down(532, 552),
        row(552, "c_proj", shapes["stream"], kind="accent"),
    ]
    return svg.figure(640, 594, *parts, title="hidden_states through c_attn, the heads' attention and c_proj")
