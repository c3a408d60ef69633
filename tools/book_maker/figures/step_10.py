"""The figure of step 10: the stack of the small model, from its token numbers up."""

from tools.book_maker.drawing.svg import Box, Drawing
from tools.book_maker.values.book_values import config

WIDTH, HEIGHT, PITCH = 130, 30, 44
MIDDLE, NOTE = WIDTH / 2, WIDTH + 16
BLOCKS = 92  # where the stack begins


def stack(draw: Drawing) -> None:
    """Two tables are added, pass through a stack of blocks and a last norm."""
    stream = f"[batch, seq, {config.n_embd}]"

    def part(top: float, words: str, kind: str) -> Box:
        draw.text(NOTE, top + HEIGHT / 2, stream, "start", mono=True)
        return draw.box(0, top, WIDTH, HEIGHT, words, kind, mono=True)

    draw.text(MIDDLE, 12, "to the head, step 11")
    above = part(46, "ln_f", "value")
    draw.arrow(above.top, (MIDDLE, 22))
    for at in range(config.n_layer):  # h.4 down to h.0
        block = part(BLOCKS + at * PITCH, f"h.{config.n_layer - 1 - at}", "query")
        draw.arrow(block.top, above.bottom)
        above = block
    below = above.bottom[1]
    draw.brace(-12, BLOCKS, below - BLOCKS, "n_layer blocks\nof step 09", "left")
    join, tables, numbers = below + 26, below + 56, below + 90 + HEIGHT
    draw.arrow((MIDDLE, join - 9), above.bottom)
    draw.circle(MIDDLE, join, 9, "+")
    draw.text(NOTE, join, stream, "start", mono=True)
    for side, words, rows, x in ((-1, "wte", config.vocab_size, 10), (1, "wpe", config.n_positions, WIDTH - 10)):
        table = draw.box(x - 50, tables, 100, HEIGHT, words, "accent", mono=True)
        draw.arrow((x, tables), (x, join), (MIDDLE + 9 * side, join))
        draw.text(x + 56 * side, tables + HEIGHT / 2, f"{rows} rows", "end" if side < 0 else "start")
        draw.arrow((x, numbers - 12), table.bottom)
    draw.text(0, numbers, "input_ids [batch, seq]", mono=True)
    draw.text(WIDTH + 34, numbers, "positions [seq]", mono=True)
