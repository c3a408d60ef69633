"""Figure of warm-up 06: the merges of one word as a tree."""

from __future__ import annotations

from solutions.warmup_06 import encode_word, learn, vocabulary
from tools.book_maker.drawing import svg
from tools.book_maker.values.worked_examples import LOWEST

WORD = " lowest"
LEFT, TOP, CELL, HIGH, STEP = 30, 14, 76, 32, 62  # margins; the room of a byte; the height of a box, and of a level


def tree() -> str:
    """Draw how the bytes of a word are merged, from the bottom up, with the id of each piece."""
    merges = learn(LOWEST, n_merges=100)
    parts = {new_id: pair for pair, new_id in merges.items()}
    pieces = vocabulary(merges)
    (root,) = encode_word(WORD, merges)
    places = iter(range(len(WORD)))
    drawn: list[str] = []

    def level(one: int) -> int:
        return 1 + max(map(level, parts[one])) if one in parts else 0

    def draw(one: int) -> tuple[float, float]:
        """Draw a piece above its parts, and return the middle of its upper edge."""
        below = [draw(part) for part in parts.get(one, ())]
        middle = sum(x for x, _ in below) / 2 if below else LEFT + (next(places) + 0.5) * CELL
        top = TOP + (level(root) - level(one)) * STEP
        words = repr(pieces[one].decode())
        wide = svg.text_width(words, mono=True) + 12
        drawn.extend(svg.line(x, y, middle, top + HIGH) for x, y in below)
        drawn.append(svg.box(middle - wide / 2, top, wide, HIGH, words, mono=True, kind="accent" if below else "plain"))
        if below:
            drawn.append(
                svg.text(middle + wide / 2 + 7, top + HIGH / 2, str(one), anchor="start", size="small", mono=True)
            )
        else:
            drawn.append(svg.text(middle, top + HIGH + 15, str(one), size="small", mono=True))
        return middle, top

    draw(root)
    return svg.figure(
        2 * LEFT + len(WORD) * CELL,
        TOP + level(root) * STEP + HIGH + 30,
        *drawn,
        title=f"The bytes of {WORD!r} at the bottom are merged in pairs until one piece is left at the top",
    )
