"""Figure of step 01: the four published widths, cut into heads."""

from __future__ import annotations

from solutions.solution_01 import GPT2Config
from tools.book_maker.drawing import svg

NAMES = ("gpt2", "gpt2-medium", "gpt2-large", "gpt2-xl")


def heads() -> str:
    """Draw the width of every published model to scale, one cell per head."""
    left, top, row, height, room = 104, 34, 62, 30, 310
    widest = max(GPT2Config.published(name).n_embd for name in NAMES)
    parts = [svg.text(left, 12, "one cell is one head", anchor="start", size="small", kind="muted")]
    for at, name in enumerate(NAMES):
        config, y = GPT2Config.published(name), top + at * row
        step = room / widest * config.head_dim
        parts.append(svg.text(left - 10, y + height / 2, name, anchor="end", size="small", mono=True))
        parts += [svg.box(left + head * step, y, step, height, kind="query", round=0) for head in range(config.n_head)]
        said = f"{config.n_embd} = {config.n_head} heads of {config.head_dim}"
        parts.append(svg.text(left, y + height + 13, said, anchor="start", size="small"))
    return svg.figure(
        left + room + 8,
        top + len(NAMES) * row,
        *parts,
        title="Four bars as long as the models are wide, cut into 12, 16, 20 and 25 heads of the same width",
    )
