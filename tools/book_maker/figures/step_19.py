"""Figures of step 19: the way back through the model, and what the residual does for the gradient."""

from __future__ import annotations

from tools.book_maker.drawing.svg import arrow, box, circle, figure, polyline, text

UP, DOWN, WIDTH, HEIGHT = 24.0, 228.0, 118.0, 32.0
PITCH = 56.0


def chain() -> str:
    """Draw the model of two blocks: up on the left, with the states that are kept; down on the right."""
    rows = {
        "loss": ("cross_entropy", "cross_entropy_backward", ""),
        "head": ("ln_f, head", "head_backward", "ln_f, wte"),
        "h.1": ("h.1", "block_backward", "h.1.…"),
        "h.0": ("h.0", "block_backward", "h.0.…"),
        "tables": ("wte + wpe", "embeddings_backward", "wpe, wte"),
    }
    top = 40.0
    tops = [top + at * PITCH for at in range(len(rows))]
    back = 196.0
    parts = [
        text(UP + WIDTH / 2, 14, "forward", size="small", bold=True),
        text(DOWN + back / 2, 14, "backward", size="small", bold=True),
    ]
    left, right = UP + WIDTH / 2, DOWN + back / 2
    for at, ((forward, backward, names), y) in enumerate(zip(rows.values(), tops, strict=True)):
        is_block = forward.startswith("h.")
        parts.append(
            box(UP, y, WIDTH, HEIGHT, forward, mono=True, size="small", kind="query" if is_block else "accent")
        )
        parts.append(box(DOWN, y, back, HEIGHT, backward, mono=True, size="small", kind="value"))
        if names:
            parts.append(arrow(DOWN + back, y + HEIGHT / 2, DOWN + back + 26, y + HEIGHT / 2))
            parts.append(text(DOWN + back + 32, y + HEIGHT / 2, names, anchor="start", size="small", mono=True))
        if at:
            parts.append(arrow(left, y, left, tops[at - 1] + HEIGHT))
            parts.append(arrow(right, tops[at - 1] + HEIGHT, right, y, kind="accent"))
    for at, state in ((4, 0), (3, 1), (2, 2)):  # above the tables, h.0 and h.1
        y = tops[at] - (PITCH - HEIGHT) / 2
        parts.append(text(left + 8, y, f"state {state}", anchor="start", size="small"))
        used = tops[at - 1] + HEIGHT / 2
        parts.append(
            polyline([(left + 66, y), (DOWN - 22, y), (DOWN - 22, used), (DOWN, used)], head=True, kind="muted")
        )
    return figure(
        DOWN + back + 110,
        tops[-1] + HEIGHT + 12,
        *parts,
        title="A model of two blocks: each way back takes the gradient from above and the state that its part took",
    )


def residual() -> str:
    """Draw a residual forward, and the same backward: the fork becomes a sum, and the sum a fork."""
    high, line, branch = 250.0, 60.0, 138.0

    def half(x: float, *, back: bool) -> str:
        ends = ("x + sublayer(norm(x))", "x") if not back else ("grad", "gradient of x")
        names = ("sublayer", "norm") if not back else ("sublayer_backward", "norm_backward")
        middle, side, wide = x + line, x + branch, 146.0 if back else 90.0
        first, last = 46.0, high - 46.0  # of the places where the two ways part and meet
        tops = (82.0, 138.0)
        parts = [
            text(middle, 14, ends[0], size="small", mono=back),
            text(middle, high - 8, ends[1], size="small", mono=not back),
        ]
        parts += [
            box(side - 14, y, wide, 32, name, mono=True, size="small") for y, name in zip(tops, names, strict=True)
        ]
        at = side + wide / 2 - 14
        if back:
            parts.append(arrow(middle, 26, middle, last - 9, kind="accent"))
            parts.append(polyline([(middle, first), (at, first), (at, tops[0])], head=True))
            parts.append(arrow(at, tops[0] + 32, at, tops[1]))
            parts.append(polyline([(at, tops[1] + 32), (at, last), (middle + 9, last)], head=True))
            parts.append(circle(middle, last, 9, "+"))
            parts.append(arrow(middle, last + 9, middle, high - 18, kind="accent"))
        else:
            parts.append(arrow(middle, high - 18, middle, first + 9))
            parts.append(polyline([(middle, last), (at, last), (at, tops[1] + 32)], head=True))
            parts.append(arrow(at, tops[1], at, tops[0] + 32))
            parts.append(polyline([(at, tops[0]), (at, first), (middle + 9, first)], head=True))
            parts.append(circle(middle, first, 9, "+"))
            parts.append(arrow(middle, first - 9, middle, 24))
        return "\n".join(parts)

    return figure(
        560,
        high + 4,
        half(20, back=False),
        half(262, back=True),
        title="Forward, two ways meet in a sum; backward, the sum sends the gradient down both, and they meet below",
    )
