"""The figure of step 10: the stack of the small model, from its token numbers up."""

from tools.book_maker.drawing.svg import arrow, box, brace, circle, figure, polyline, text
from tools.book_maker.values.book_values import config

LEFT, WIDTH, HEIGHT = 124, 130, 30
MIDDLE = LEFT + WIDTH / 2


def stack() -> str:
    """Draw the tables, the blocks and the last norm of the small model, bottom up, with shapes on the right."""
    stream = f"[batch, seq, {config.n_embd}]"

    def part(top: float, words: str, shape: str, kind: str) -> str:
        beside = text(LEFT + WIDTH + 16, top + HEIGHT / 2, shape, anchor="start", size="small", mono=True)
        return box(LEFT, top, WIDTH, HEIGHT, words, kind=kind, mono=True) + "\n" + beside  # type: ignore[arg-type]

    pitch = 44
    blocks_top = 92
    tops = [blocks_top + at * pitch for at in range(config.n_layer)]  # of h.4 down to h.0
    below = tops[-1] + HEIGHT
    join = below + 26
    tables = join + 30
    numbers = tables + HEIGHT + 34
    parts = [
        text(MIDDLE, 12, "to the head, step 11", size="small"),
        arrow(MIDDLE, 46, MIDDLE, 22),
        part(46, "ln_f", stream, "value"),
    ]
    for at, top in enumerate(tops):
        parts.append(arrow(MIDDLE, top, MIDDLE, (tops[at - 1] if at else 46) + HEIGHT))
        parts.append(part(top, f"h.{config.n_layer - 1 - at}", stream, "query"))
    parts += [
        brace(LEFT - 12, blocks_top, below - blocks_top, "n_layer blocks\nof step 09", side="left"),
        arrow(MIDDLE, join - 9, MIDDLE, below),
        circle(MIDDLE, join, 9, "+"),
        text(LEFT + WIDTH + 16, join, stream, anchor="start", size="small", mono=True),
        box(LEFT - 40, tables, 100, HEIGHT, "wte", kind="accent", mono=True),
        box(LEFT + WIDTH - 60, tables, 100, HEIGHT, "wpe", kind="accent", mono=True),
        polyline([(LEFT + 10, tables), (LEFT + 10, join), (MIDDLE - 9, join)], head=True),
        polyline([(LEFT + WIDTH - 10, tables), (LEFT + WIDTH - 10, join), (MIDDLE + 9, join)], head=True),
        text(LEFT - 46, tables + HEIGHT / 2, f"{config.vocab_size} rows", anchor="end", size="small"),
        text(LEFT + WIDTH + 46, tables + HEIGHT / 2, f"{config.n_positions} rows", anchor="start", size="small"),
        arrow(LEFT + 10, numbers - 12, LEFT + 10, tables + HEIGHT),
        arrow(LEFT + WIDTH - 10, numbers - 12, LEFT + WIDTH - 10, tables + HEIGHT),
        text(LEFT + 10, numbers, "input_ids [batch, seq]", size="small", mono=True),
        text(LEFT + WIDTH + 20, numbers, "positions [seq]", size="small", mono=True),
    ]
    return figure(
        425, numbers + 14, *parts, title="Two tables are added, pass through a stack of blocks and a last norm"
    )
