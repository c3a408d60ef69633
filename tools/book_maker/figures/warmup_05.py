"""Figure of warm-up 05: the whole layer, with the shape after every stage."""

import numpy as np

from solutions.warmup_01 import context_vectors
from solutions.warmup_03 import attention_weights
from solutions.warmup_04 import merge_heads, split_heads
from solutions.warmup_05 import project_fused
from tools.book_maker.drawing.svg import Box, Drawing

BATCH, LENGTH, WIDTH, HEADS = 3, 5, 8, 2  # all different, so that a shape shows what each axis is
ROOM, HIGH, STEP = 262, 36, 66  # of the boxes: how wide, how high, how far apart
KINDS = ("query", "key", "value")


def layer(draw: Drawing) -> None:
    """Multi-head attention from input to output, with the shape at every stage."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((BATCH, LENGTH, WIDTH))
    W_qkv, W_o = rng.standard_normal((WIDTH, 3 * WIDTH)), rng.standard_normal((WIDTH, WIDTH))
    parts = project_fused(x, W_qkv)
    query, key, value = (split_heads(part, HEADS) for part in parts)
    weights = attention_weights(query, key)
    context = context_vectors(weights, value)
    merged = merge_heads(context)
    arrays = (x, x @ W_qkv, parts[0], query, weights, context, merged, merged @ W_o)
    for level, array in enumerate(arrays):
        times = "three " if level in (2, 3) else ""
        draw.text(
            ROOM + 10, level * STEP + HIGH / 2, f"{times}[{', '.join(map(str, array.shape))}]", "start", mono=True
        )
    for level, words in ((2, "split_heads"), (5, "merge_heads")):
        draw.text(ROOM + 10, level * STEP + HIGH + 15, words, "start", mono=True)

    def box(
        level: int, words: str, x: float = 0, width: float = ROOM, kind: str = "plain", above: Box | None = None
    ) -> Box:
        """Draw one stage, or a part of one, with an arrow from what it is made of, if that is not several things."""
        drawn = draw.box(
            x, level * STEP, width, HIGH, words, kind, size="normal" if level in (0, 1, 2, 6, 7) else "small"
        )
        if above:
            draw.arrow(
                (drawn.top[0], above.bottom[1]), (drawn.top[0], drawn.y - 2), kind=kind if level == 2 else "plain"
            )
        return drawn

    draw.arrow(box(0, "x").bottom, (ROOM / 2, STEP - 2), label="times W_qkv")
    joined = box(1, "query, key and value in one")
    third, half = ROOM / 3, ROOM / HEADS
    thirds = [box(2, kind, at * third + 4, third - 8, kind, joined) for at, kind in enumerate(KINDS)]
    for head in range(HEADS):
        left, width = head * half + 9, half / 3 - 6
        parts_of_head = []
        for at, kind in enumerate(KINDS):
            part = box(3, f"{kind[0]}{head}", left + at * (width + 3), width, kind)
            draw.line(thirds[at].bottom, part.top, kind=kind)
            parts_of_head.append(part)
        of_weights = box(4, f"weights {head}", left, 2 * width + 3)
        of_head = box(5, f"output, head {head}", left, 3 * width + 6, "accent", of_weights)
        for part, below in zip(parts_of_head, (of_weights, of_weights, of_head), strict=True):
            draw.arrow(part.bottom, (part.bottom[0], below.y - 2))
        draw.arrow(of_head.bottom, (of_head.bottom[0], 6 * STEP - 2))
    side_by_side = box(6, "the heads side by side", kind="accent")
    draw.arrow(side_by_side.bottom, (ROOM / 2, 7 * STEP - 2), label="times W_o")
    box(7, "the heads mixed")
