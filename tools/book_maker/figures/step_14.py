"""Figure of step 14: which slots a call reads and writes."""

from tools.book_maker.drawing.svg import Drawing

TOKENS = ("Call", "me", "Ish", "ma", "el", ".", "Some")
PROMPT = 4


def slots(draw: Drawing) -> None:
    """The prompt of four tokens fills four slots in one call; each later call fills one and reads the others."""
    slots, past, y = range(len(TOKENS) + 1), 0, 24
    draw.text(-12, 0, "slot", "end")
    for slot in slots:
        draw.text((slot + 0.5) * 40, 0, str(slot), mono=True)
    for new in [PROMPT] + [1] * (len(TOKENS) - PROMPT):
        draw.text(-12, y + 15, "decode" if past else "prefill", "end")
        for slot in slots:
            kind = "key" if slot < past else "accent" if slot < past + new else "muted"
            words = TOKENS[slot] if kind == "accent" else ""
            draw.box(slot * 40 + 2, y, 36, 30, words, kind, size="small", dashed=kind == "muted")
        past, y = past + new, y + 40
    draw.legend(0, y + 17, [("run and written", "accent"), ("read", "key"), ("free", "muted")])
