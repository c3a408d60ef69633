"""The figure of MAX in ten minutes: when the work is done."""

from tools.book_maker.drawing.svg import Drawing

#: A way to run -> what happens, one after the other: the words, how wide, and the kind.
WAYS = {
    "eager": [("x @ w", 84, "accent"), ("+ b", 84, "accent"), ("look", 60, "muted")],
    "lazy": [("x @ w", 50, "plain"), ("+ b", 50, "plain"), ("look: both run", 128, "accent")],
    "compiled": [("compile, once", 128, "plain"), ("call", 46, "accent"), ("call", 46, "accent")],
}


def ways(draw: Drawing) -> None:
    """Eager runs each operation at its line, lazy runs all when you look, compiled runs all in each call."""
    for at, (way, parts) in enumerate(WAYS.items()):
        left, top = 84.0, 44.0 * at
        draw.text(74, top + 15, way, "end")
        for words, width, kind in parts:
            draw.box(left, top, width, 30, words, kind, size="small")
            left += width + 6
    draw.arrow((84, 146), (330, 146), label="time")
    draw.legend(84, 172, [("computes", "accent"), ("records or compiles", "plain")])
