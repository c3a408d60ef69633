"""Figure of step 01: the four published widths, cut into heads."""

from tools.book_maker.drawing.svg import Drawing
from tools.book_maker.values.book_values import sizes


def heads(draw: Drawing) -> None:
    """Four bars as long as the models are wide, cut into 12, 16, 20 and 25 heads of the same width."""
    widest = max(config.n_embd for config in sizes.values())
    draw.text(0, 12, "one cell is one head", "start", kind="muted")
    for at, (name, config) in enumerate(sizes.items()):
        y, step = 34 + 62 * at, 310 / widest * config.head_dim
        draw.text(-10, y + 15, name, "end", mono=True)
        for head in range(config.n_head):
            draw.box(head * step, y, step, 30, kind="query", round=0)
        draw.text(0, y + 43, f"{config.n_embd} = {config.n_head} heads of {config.head_dim}", "start")
