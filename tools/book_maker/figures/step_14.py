"""Figure of step 14: which slots a call reads and writes."""

from __future__ import annotations

from tools.book_maker.drawing import svg

TOKENS = ("Call", "me", "Ish", "ma", "el", ".", "Some")
PROMPT = 4


def slots() -> str:
    """Draw one row per call: the prompt fills the first slots, every later call one more and reads all before it."""
    cell, left, top, slots_there = 40.0, 64.0, 58.0, len(TOKENS) + 1
    parts = [svg.text(left + (at + 0.5) * cell, 34, str(at), size="small", mono=True) for at in range(slots_there)]
    parts.append(svg.text(left - 12, 34, "slot", anchor="end", size="small"))
    past = 0
    for row, new in enumerate([PROMPT] + [1] * (len(TOKENS) - PROMPT)):
        y = top + row * 40
        name = "prefill" if row == 0 else "decode"
        parts.append(svg.text(left - 12, y + 15, name, anchor="end", size="small"))
        for slot in range(slots_there):
            x = left + slot * cell
            if slot < past:
                parts.append(svg.box(x + 2, y, cell - 4, 30, "", kind="key"))
            elif slot < past + new:
                parts.append(svg.box(x + 2, y, cell - 4, 30, TOKENS[slot], kind="accent", size="small"))
            else:
                parts.append(svg.box(x + 2, y, cell - 4, 30, "", kind="muted", dashed=True))
        past += new
    bottom = top + 40 * (len(TOKENS) - PROMPT + 1) + 8
    legend = [("accent", "run and written"), ("key", "read"), ("muted", "free")]
    for at, (kind, words) in enumerate(legend):
        x = left + at * 132
        parts.append(svg.box(x, bottom, 18, 18, kind=kind, dashed=kind == "muted"))  # type: ignore[arg-type]
        parts.append(svg.text(x + 26, bottom + 9, words, anchor="start", size="small"))
    return svg.figure(
        left + slots_there * cell + 10,
        bottom + 30,
        *parts,
        title="The prompt of four tokens fills four slots in one call; each later call fills one and reads the others",
    )
