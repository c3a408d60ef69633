"""Figure of warm-up 05: the whole layer, with the shape after every stage."""

from __future__ import annotations

import numpy as np

from solutions.warmup_01 import context_vectors
from solutions.warmup_03 import attention_weights
from solutions.warmup_04 import merge_heads, split_heads
from solutions.warmup_05 import project_fused
from tools.book_maker.drawing import svg

BATCH, LENGTH, WIDTH, HEADS = 3, 5, 8, 2  # all different, so that a shape shows what each axis is
LEFT, ROOM, HIGH, STEP = 6, 262, 36, 66  # of the boxes: where, how wide, how high, how far apart
KINDS: tuple[svg.Kind, ...] = ("query", "key", "value")


def _shape(array: np.ndarray, times: str = "") -> str:
    return times + "[" + ", ".join(map(str, array.shape)) + "]"


def layer() -> str:
    """Draw the way from x to the mixed heads. The shapes are those of arrays that went through the solutions."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((BATCH, LENGTH, WIDTH))
    W_qkv, W_o = rng.standard_normal((WIDTH, 3 * WIDTH)), rng.standard_normal((WIDTH, WIDTH))
    parts = project_fused(x, W_qkv)
    query, key, value = (split_heads(part, HEADS) for part in parts)
    weights = attention_weights(query, key)
    found = context_vectors(weights, value)
    merged = merge_heads(found)
    top = [12 + at * STEP for at in range(8)]
    middle = LEFT + ROOM / 2
    third, half = ROOM / 3, ROOM / HEADS
    across = [LEFT + (at + 0.5) * third for at in range(3)]
    heads = [LEFT + (at + 0.5) * half for at in range(HEADS)]
    drawn = [
        svg.box(LEFT, top[0], ROOM, HIGH, "x"),
        svg.arrow(middle, top[0] + HIGH, middle, top[1] - 2, label="times W_qkv"),
        svg.box(LEFT, top[1], ROOM, HIGH, "query, key and value in one"),
    ]
    for at, kind in enumerate(KINDS):
        drawn += [
            svg.arrow(across[at], top[1] + HIGH, across[at], top[2] - 2, kind=kind),
            svg.box(LEFT + at * third + 4, top[2], third - 8, HIGH, kind, kind=kind),
        ]
    drawn.append(svg.text(LEFT + ROOM + 14, top[2] + HIGH + 15, "split_heads", anchor="start", size="small", mono=True))
    for head in range(HEADS):
        for at, kind in enumerate(KINDS):
            width = half / 3 - 6
            left = LEFT + head * half + 9 + at * (width + 3)
            drawn += [
                svg.line(across[at], top[2] + HIGH, left + width / 2, top[3], kind=kind),
                svg.box(left, top[3], width, HIGH, "qkv"[at] + str(head), kind=kind, size="small"),
            ]
        drawn += [
            svg.arrow(heads[head], top[3] + HIGH, heads[head], top[4] - 2),
            svg.box(LEFT + head * half + 9, top[4], half - 18, HIGH, f"weights, head {head}", size="small"),
            svg.arrow(heads[head], top[4] + HIGH, heads[head], top[5] - 2),
            svg.box(
                LEFT + head * half + 9, top[5], half - 18, HIGH, f"found, head {head}", kind="accent", size="small"
            ),
            svg.arrow(heads[head], top[5] + HIGH, heads[head], top[6] - 2),
        ]
    drawn += [
        svg.text(LEFT + ROOM + 14, top[5] + HIGH + 15, "merge_heads", anchor="start", size="small", mono=True),
        svg.box(LEFT, top[6], ROOM, HIGH, "the heads side by side", kind="accent"),
        svg.arrow(middle, top[6] + HIGH, middle, top[7] - 2, label="times W_o"),
        svg.box(LEFT, top[7], ROOM, HIGH, "the heads mixed"),
    ]
    shapes = [
        _shape(x),
        _shape(x @ W_qkv),
        _shape(parts[0], "three "),
        _shape(query, "three "),
        _shape(weights),
        _shape(found),
        _shape(merged),
        _shape(merged @ W_o),
    ]
    drawn += [
        svg.text(LEFT + ROOM + 14, at + HIGH / 2, shape, anchor="start", mono=True, size="small")
        for at, shape in zip(top, shapes, strict=True)
    ]
    return svg.figure(
        425,
        top[7] + HIGH + 10,
        *drawn,
        title="Multi-head attention from input to output, with the shape at every stage",
    )
