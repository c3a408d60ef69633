"""Figure of warm-up 06: the merges of one word as a tree."""

from solutions.warmup_06 import encode_word, train, vocabulary
from tools.book_maker.drawing.svg import Drawing, Point, text_width

LOWEST = "low low lower lowest"  # the text that merges are learned from on paper; the check of warm-up 06 has it too
WORD = " lowest"
CELL, HIGH, STEP = 76, 32, 62  # the room of a byte; the height of a box, and of a level


def tree(draw: Drawing) -> None:
    """Draw how the bytes of a word are merged, from the bottom up, with the id of each piece."""
    draw.title = f"The bytes of {WORD!r} at the bottom are merged in pairs until one piece is left at the top"
    merges = train(LOWEST, n_merges=100)
    parts = {new_id: pair for pair, new_id in merges.items()}
    pieces = vocabulary(merges)
    (root,) = encode_word(WORD, merges)
    places = iter(range(len(WORD)))

    def level(piece: int) -> int:
        return 1 + max(map(level, parts[piece])) if piece in parts else 0

    def grow(piece: int) -> Point:
        """Draw a piece above its parts, and return the middle of its upper edge."""
        below = [grow(part) for part in parts.get(piece, ())]
        middle = sum(x for x, _ in below) / 2 if below else (next(places) + 0.5) * CELL
        top, words = -level(piece) * STEP, repr(pieces[piece].decode())
        wide = text_width(words, mono=True) + 12
        for part in below:
            draw.line(part, (middle, top + HIGH))
        drawn = draw.box(middle - wide / 2, top, wide, HIGH, words, "accent" if below else "plain", mono=True)
        if below:
            draw.text(drawn.right[0] + 7, drawn.right[1], str(piece), "start", mono=True)
        else:
            draw.text(middle, top + HIGH + 15, str(piece), mono=True)
        return drawn.top

    grow(root)
