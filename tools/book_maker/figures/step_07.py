"""Figures of step 07: what one token looks at, heads split and merged, and the module's data flow."""

import numpy as np

from play.attention.pictures import visible
from play.whale import read
from solutions.solution_01 import GPT2Config
from solutions.warmup_04 import merge_heads, split_heads
from tools.book_maker.drawing.svg import Box, Drawing, Point

TOKENS, HEADS, WIDTH = 3, 2, 4
HEAD_DIM = WIDTH // HEADS
TOKEN_KINDS = np.array(["query", "key", "value"])  # one color a token
CELL = (26, 24)
HEAD_ROW = TOKENS * CELL[1] + 24  # from one head to the one below it
LAYER, HEAD = 0, 3  # of the small model: the head that is drawn


def split_and_merge(draw: Drawing) -> None:
    """Reshape and transpose give each head two channels of every token; reshape alone mixes the tokens."""
    x = 10 * np.arange(TOKENS)[:, None] + np.arange(WIDTH)
    cut, heads = x.reshape(TOKENS, HEADS, HEAD_DIM), split_heads(x, HEADS)

    def cells(x: float, y: float, values: np.ndarray) -> Box:
        """Draw numbers that name their token in the tens, in the color of that token."""
        words = np.vectorize("{:02d}".format)(values)
        return draw.matrix(x, y, words, cell=CELL, kind=TOKEN_KINDS[values // 10])

    def stacked(x: float, y: float, heads: np.ndarray) -> float:
        """Draw ``[head, seq, head_dim]``, one head below the other; return where the right edge is."""
        for at, head in enumerate(heads):
            draw.text(x + CELL[0], y + at * HEAD_ROW - 10, f"head {at}")
            cells(x, y + at * HEAD_ROW, head)
        return x + HEAD_DIM * CELL[0]

    def step(x: float, y: float, words: str, kind: str) -> float:
        """Draw an arrow with the name of an operation above it; return where the next stage begins."""
        draw.text(x + 42, y - 16, words, mono=True, kind=kind)
        draw.arrow((x + 6, y), (x + 78, y), kind=kind)
        return x + 84

    middle = HEAD_ROW - 12.0  # of two heads
    flat = middle - TOKENS * CELL[1] / 2
    joined = cells(0, flat, x)
    draw.text(joined.top[0], flat - 14, "[seq, embd]")
    left = step(joined.right[0], middle, "reshape", "good")
    draw.text(left + 57, flat - 22, "[seq, head,\nhead_dim]")
    for head in range(HEADS):
        end = cells(left + head * 62, flat, cut[:, head]).right[0]
    left = step(end, middle, "transpose", "good")
    draw.text(left + CELL[0], -30, "[head, seq, head_dim]")
    end = stacked(left, 0, heads)
    draw.text(end + 42, middle - 34, "transpose", mono=True, kind="good")
    merged = cells(step(end, middle, "reshape", "good"), flat, merge_heads(heads))
    draw.text(merged.top[0], flat - 14, "[seq, embd]")

    below = 2 * HEAD_ROW + 48
    draw.heading(0, below - 40, "Split by reshape alone", "start", "bad")
    split = cells(0, below + flat, x)
    stacked(step(split.right[0], below + middle, "reshape", "bad"), below, x.reshape(HEADS, TOKENS, HEAD_DIM))
    draw.heading(350, below - 40, "Merged by reshape alone", "start", "bad")
    end = stacked(350, below, heads)
    cells(step(end, below + middle, "reshape", "bad"), below + flat, heads.reshape(TOKENS, WIDTH))


def looks(draw: Drawing) -> None:
    """The scores of the token it in one head, the weights that the softmax makes of them, and their average."""
    whale, row, top = read(), 25, 40
    it = whale["tokens"].index(" it")
    scores, weights = (whale[f"h.{LAYER}.attn.{name}"][HEAD, it] for name in ("scores", "weights"))
    masked = np.where(np.arange(len(scores)) > it, -np.inf, scores)[:, None]
    names = [visible(token) for token in whale["tokens"]]
    column = draw.matrix(60, top, masked, rows=names, cell=(54, row), spec=".1f", kind="plain", title="scaled scores")
    draw.arrow((124, column.middle[1]), (186, column.middle[1]), label="softmax")
    draw.heading(256, top - 12, "weights")
    draw.bars(196, top, 150, [("", float(weight)) for weight in weights], labels=0)
    draw.brace(352, top, row * (it + 1), "average\nof their\nvalues", "right")


def module(draw: Drawing) -> None:
    """hidden_states through c_attn, the heads' attention and c_proj."""
    config = GPT2Config()
    stream, heads = f"[batch, seq, {config.n_embd}]", f"[batch, {config.n_head}, seq, {config.head_dim}]"
    scores, middle = f"[batch, {config.n_head}, seq, seq]", 200.0

    def note(y: float, shape: str) -> None:
        draw.text(410, y, shape, "start", mono=True)

    def row(y: float, words: str, shape: str, *before: Point, kind: str = "plain") -> Point:
        """Draw a part in the middle column, an arrow to it from each of ``before``, and the shape that leaves it."""
        drawn = draw.box(middle - 75, y, 150, 32, words, kind, mono=True)
        for start in before:
            draw.arrow(start, (start[0] if start[0] > middle else middle, y))
        note(y + 16, shape)
        return drawn.bottom

    frames = ((4.0, 52.0, 392, 162, "_qkv"), (4, 222, 392, 262, "_attn"), (12, 244, 276, 190, "_attention_\nweights"))
    for x, y, width, height, name in frames:
        draw.box(x, y, width, height, dashed=True, kind="muted")
        for line, text in enumerate(name.splitlines()):
            draw.text(x + 10, y + 13 + 16 * line, text, "start", mono=True, bold=True)
    joined = row(62, "c_attn", f"[batch, seq, {3 * config.n_embd}]", row(10, "hidden_states", stream), kind="accent")
    split = {}
    for at, kind in enumerate(("query", "key", "value")):
        x = middle + 130 * (at - 1)
        part = draw.box(x - 60, 122, 120, 32, kind, kind, mono=True)
        split[kind] = draw.box(x - 60, 174, 120, 32, "_split_heads", mono=True, size="small")
        draw.arrow(joined, part.top)
        draw.arrow(part.bottom, split[kind].top)
    note(138, f"3 times {stream}")
    note(190, f"3 times {heads}")
    draw.arrow(split["query"].bottom, (middle - 40, 250))
    last = row(250, "query @ key.T", scores, split["key"].bottom)
    for y, words in ((298, f"/ \N{SQUARE ROOT}{config.head_dim}"), (346, "+ causal_mask"), (394, "softmax")):
        last = row(y, words, scores, last)
    last = row(442, "@ value", heads, last)
    value = split["value"].bottom
    draw.arrow(value, (value[0], 458), (middle + 75, 458))
    row(552, "c_proj", stream, row(500, "_merge_heads", stream, last), kind="accent")
