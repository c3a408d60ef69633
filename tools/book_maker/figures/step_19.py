"""Figures of step 19: backward through the model, and what the residual does for the gradient."""

from tools.book_maker.drawing.svg import Box, Drawing


def chain(draw: Drawing) -> None:
    """A model of two blocks: each backward function takes the gradient from above and the state that was its input."""
    rows = (
        ("cross_entropy", "cross_entropy_backward", ""),
        ("ln_f, head", "head_backward", "ln_f, wte"),
        ("h.1", "block_backward", "h.1.…"),
        ("h.0", "block_backward", "h.0.…"),
        ("wte + wpe", "tables_backward", "wpe, wte"),
    )
    boxes: list[tuple[Box, Box]] = []
    for at, (forward, backward, names) in enumerate(rows):
        color = "query" if forward.startswith("h.") else "accent"
        there = draw.box(0, 40 + 56 * at, 118, 32, forward, color, mono=True, size="small")
        back = draw.box(204, 40 + 56 * at, 196, 32, backward, "value", mono=True, size="small")
        if names:
            (x, y), (above_there, above_back) = back.right, boxes[-1]
            draw.arrow((x, y), (x + 26, y))
            draw.text(x + 32, y, names, "start", mono=True)
            draw.arrow(there.top, above_there.bottom)
            draw.arrow(above_back.bottom, back.top, kind="accent")
        boxes.append((there, back))
    draw.text(59, 14, "forward", bold=True)
    draw.text(302, 14, "backward", bold=True)
    for state, at in enumerate((4, 3, 2)):  # above the tables, h.0 and h.1
        y, used = boxes[at][0].y - 12, boxes[at - 1][1].left
        draw.text(67, y, f"state {state}", "start")
        draw.arrow((125, y), (182, y), (182, used[1]), used, kind="muted")


def residual(draw: Drawing) -> None:
    """Forward, two ways meet in a sum; backward, the sum sends the gradient down both, and they meet below."""
    high, first, last = 250.0, 46.0, 204.0  # first and last: where the two ways part and meet

    def half(middle: float, above: str, below: str, names: tuple[str, str], wide: float, back: bool) -> None:
        draw.text(middle, 14, above, mono=back)
        draw.text(middle, high - 8, below, mono=not back)
        upper, lower = (
            draw.box(middle + 64, y, wide, 32, name, mono=True, size="small")
            for y, name in zip((82, 138), names, strict=True)
        )
        side = upper.middle[0]
        if back:
            draw.arrow((middle, 26), (middle, last - 9), kind="accent")
            draw.arrow((middle, first), (side, first), upper.top)
            draw.arrow(upper.bottom, lower.top)
            draw.arrow(lower.bottom, (side, last), (middle + 9, last))
            draw.circle(middle, last, 9, "+")
            draw.arrow((middle, last + 9), (middle, high - 18), kind="accent")
        else:
            draw.arrow((middle, high - 18), (middle, first + 9))
            draw.arrow((middle, last), (side, last), lower.bottom)
            draw.arrow(lower.top, upper.bottom)
            draw.arrow(upper.top, (side, first), (middle + 9, first))
            draw.circle(middle, first, 9, "+")
            draw.arrow((middle, first - 9), (middle, 24))

    half(80, "x + sublayer(norm(x))", "x", ("sublayer", "norm"), 90, back=False)
    half(322, "grad", "gradient of x", ("sublayer_backward", "norm_backward"), 146, back=True)
