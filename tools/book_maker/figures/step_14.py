"""Figure of step 14: which slots a call reads and writes."""

from tools.book_maker.drawing.svg import Drawing

TOKENS = ("The", "whale", "struck", "the", "ship", ",", "and")
PROMPT, WIDE = 4, 48


def slots(draw: Drawing) -> None:
    """The prompt of four tokens fills four slots in one call; each later call fills one and reads the others."""
    all_slots, past, y = range(len(TOKENS) + 1), 0, 24
    draw.text(-12, 0, "slot", "end")
    for slot in all_slots:
        draw.text((slot + 0.5) * WIDE, 0, str(slot), mono=True)
    for new in [PROMPT] + [1] * (len(TOKENS) - PROMPT):
        draw.text(-12, y + 15, "decode" if past else "prefill", "end")
        for slot in all_slots:
            kind = "key" if slot < past else "accent" if slot < past + new else "muted"
            words = TOKENS[slot] if kind == "accent" else ""
            draw.box(slot * WIDE + 2, y, WIDE - 4, 30, words, kind, size="small", dashed=kind == "muted")
        past, y = past + new, y + 40
    draw.legend(0, y + 17, [("run and written", "accent"), ("read", "key"), ("free", "muted")])
