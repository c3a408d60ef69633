"""The figures of step 15: a ragged batch, the pages of its cache, and what the server was measured to do."""

from __future__ import annotations

import json
from itertools import pairwise

import numpy as np

from checker.course.paths import ROOT
from tools.book_maker.drawing.svg import Kind, arrow, bars, box, brace, figure, text

NAMES = "ABC"
KINDS: tuple[Kind, ...] = ("query", "key", "value")  # one color a request
HELD, COUNTS = np.array([4, 0, 2]), np.array([1, 3, 2])  # what the cache has of each request, and what is new
PAGE_SIZE = 2
TABLE = np.array([[5, 0, 3], [6, 1, -1], [2, 7, -1]])  # the pages of each request, first tokens first
WIDE, HIGH = 34, 26


def _cell(x: float, y: float, words: object, kind: Kind) -> str:
    return box(x, y, WIDE, HIGH, str(words), kind=kind, size="small", mono=True, round=0)


def ragged() -> str:
    """Draw three requests, what is new of each, and all that is new in one row."""
    left, top = 92, 34
    parts = [text(left, 14, "in the cache, and new", anchor="start", bold=True, size="small")]
    for request, (held, count) in enumerate(zip(HELD, COUNTS, strict=True)):
        y = top + request * (HIGH + 12)
        parts.append(text(left - 12, y + HIGH / 2, f"request {NAMES[request]}", anchor="end", size="small"))
        for place in range(held + count):
            parts.append(_cell(left + place * WIDE, y, place, KINDS[request] if place >= held else "muted"))
    offsets = np.cumsum([0, *COUNTS])
    right = left + 7 * WIDE + 30
    y = top + HIGH + 12
    parts.append(arrow(right - 34, y + HIGH / 2, right - 6, y + HIGH / 2))
    parts.append(text(right, 14, "what the model gets: one row", anchor="start", bold=True, size="small"))
    for request, (first, end) in enumerate(pairwise(offsets)):
        for row in range(first, end):
            place = HELD[request] + row - first
            parts.append(_cell(right + row * WIDE, y, f"{NAMES[request]}{place}", KINDS[request]))
    for at, offset in enumerate(offsets):
        parts.append(text(right + offset * WIDE, y + HIGH + 14, str(offset), size="small", mono=True))
        if at < len(offsets) - 1:
            parts.append(text(right + (offset + offsets[at + 1]) * WIDE / 2, y - 12, NAMES[at], size="small"))
    parts.append(text(right + offsets[-1] * WIDE / 2, y + HIGH + 32, "row_offsets", size="small", mono=True))
    title = "The new tokens of three requests lie in one row; row_offsets says where each request begins and ends"
    return figure(right + int(offsets[-1]) * WIDE + 20, top + 3 * (HIGH + 12) + 8, *parts, title=title)


def pages() -> str:
    """Draw the page table of each request, and the pool of pages with what lies in each."""
    left, top = 92, 40
    parts = [text(left, 14, "page table", anchor="start", bold=True, size="small")]
    for request, row in enumerate(TABLE):
        y = top + request * (HIGH + 12)
        parts.append(text(left - 12, y + HIGH / 2, f"request {NAMES[request]}", anchor="end", size="small"))
        for at, page in enumerate(row[row >= 0]):
            parts.append(_cell(left + at * WIDE, y, page, KINDS[request]))
    pool = left + 3 * WIDE + 60
    parts.append(text(pool, 14, f"pool of pages, {PAGE_SIZE} tokens each", anchor="start", bold=True, size="small"))
    parts.append(arrow(pool - 46, top + HIGH + 24, pool - 10, top + HIGH + 24))
    for page in range(8):
        x, y = pool + (page % 4) * 88, top + (page // 4) * 66
        owners = np.argwhere(page == TABLE)
        for slot in range(PAGE_SIZE):
            words, kind = "", "masked"
            if len(owners):
                request, at = owners[0]
                place = at * PAGE_SIZE + slot
                if place < HELD[request] + COUNTS[request]:
                    words, kind = f"{NAMES[request]}{place}", KINDS[request]
            parts.append(_cell(x + slot * WIDE, y, words, kind))  # type: ignore[arg-type]
        parts.append(brace(x, y + HIGH + 3, PAGE_SIZE * WIDE, f"page {page}"))
    title = "Each request has a list of pages, which lie anywhere in the pool; its tokens fill them in order"
    return figure(pool + 4 * 88, top + 2 * 66 + 6, *parts, title=title)


def throughput() -> str:
    """Draw tokens per second with more and more clients, of this server and of Hugging Face's."""
    measured = json.loads((ROOT / "tools" / "benchmarks" / "figures" / "serve.json").read_text())
    parts, y = [], 0.0
    for model, servers in measured["tokens a second"].items():
        largest = max(rate for rates in servers.values() for rate in rates.values())
        parts.append(text(4, y + 14, f"{model}: tokens a second", anchor="start", bold=True, size="small"))
        y += 28
        for kind, (server, rates) in zip(KINDS, servers.items(), strict=True):
            rows = [(f"{server}, {count}", rate) for count, rate in rates.items()]
            parts.append(bars(0, y, 630, rows, spec=".0f", kind=kind, labels=270, limit=largest, row=22))
            y += 22 * len(rows) + 6
        y += 8
    title = "The more clients ask at once, the more tokens a second there are; beside each server the number of clients"
    return figure(635, y, *parts, title=title)
