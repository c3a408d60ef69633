"""The figures of step 15: a ragged batch, and the pages of its cache."""

from itertools import pairwise

import numpy as np

from tools.book_maker.drawing.svg import Drawing

NAMES = "ABC"
KINDS = ("query", "key", "value")  # one color a request
HELD, COUNTS = np.array([4, 0, 2]), np.array([1, 3, 2])  # what the cache has of each request, and what is new
PAGE_SIZE = 2
TABLE = np.array([[5, 0, 3], [6, 1, -1], [2, 7, -1]])  # the pages of each request, first tokens first
WIDE, HIGH = 34, 26
CELL, ROW = (WIDE, HIGH), HIGH + 12


def ragged(draw: Drawing) -> None:
    """The new tokens of three requests lie end to end; row_offsets says where each request begins and ends."""
    right, y = 8 * WIDE - 4, ROW
    draw.text(0, -20, "in the cache, and new", "start", bold=True)
    draw.arrow((right - 34, y + HIGH / 2), (right - 6, y + HIGH / 2))
    draw.text(right, -20, "what the model gets: one sequence", "start", bold=True)
    offsets = np.cumsum([0, *COUNTS])
    for request, (first, end) in enumerate(pairwise(offsets)):
        name, held, new = NAMES[request], HELD[request], COUNTS[request]
        draw.text(-12, request * ROW + HIGH / 2, f"request {name}", "end")
        places = [[str(place) for place in range(held + new)]]
        draw.matrix(0, request * ROW, places, cell=CELL, kind=[["muted"] * held + [KINDS[request]] * new])
        added = [[f"{name}{place}" for place in range(held, held + new)]]
        draw.matrix(right + first * WIDE, y, added, cell=CELL, kind=KINDS[request])
        draw.text(right + (first + end) * WIDE / 2, y - 12, name)
    for offset in offsets:
        draw.text(right + offset * WIDE, y + HIGH + 14, str(offset), mono=True)
    draw.text(right + offsets[-1] * WIDE / 2, y + HIGH + 32, "row_offsets", mono=True)


def pages(draw: Drawing) -> None:
    """Each request has a list of pages, which lie anywhere in the pool; its tokens fill them in order."""
    pool = 3 * WIDE + 60
    draw.text(0, -26, "page table", "start", bold=True)
    draw.text(pool, -26, f"pool of pages, {PAGE_SIZE} tokens each", "start", bold=True)
    draw.arrow((pool - 46, HIGH + 24), (pool - 10, HIGH + 24))
    for request, row in enumerate(TABLE):
        draw.text(-12, request * ROW + HIGH / 2, f"request {NAMES[request]}", "end")
        draw.matrix(0, request * ROW, [[str(page) for page in row[row >= 0]]], cell=CELL, kind=KINDS[request])
    for page in range(8):
        words, kinds = [""] * PAGE_SIZE, ["masked"] * PAGE_SIZE
        for request, at in np.argwhere(page == TABLE):
            first = at * PAGE_SIZE
            for place in range(first, min(first + PAGE_SIZE, HELD[request] + COUNTS[request])):
                words[place - first], kinds[place - first] = f"{NAMES[request]}{place}", KINDS[request]
        drawn = draw.matrix(pool + page % 4 * 88, page // 4 * 66, [words], cell=CELL, kind=[kinds])
        draw.brace(drawn.x, drawn.y + HIGH + 3, drawn.width, f"page {page}")
