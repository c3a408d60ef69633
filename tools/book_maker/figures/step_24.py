"""The figure of step 24: one query and one key, turned at two places of a text that are equally far apart."""

import math

from tools.book_maker.drawing.svg import Drawing

LENGTH = 84.0
QUERY, KEY = 0.9, 0.75  # the angles before they are turned, in radians
SPEED, DISTANCE = 0.35, 3  # radians per position; positions between key and query


def turned(draw: Drawing) -> None:
    """At positions 7 and 4, and at 12 and 9: the angle between query and key is the same."""
    for middle, at in ((0.0, 7), (250.0, 12)):
        _pair(draw, middle, at)


def _pair(draw: Drawing, middle: float, at: int) -> None:
    """Draw the query at a position and the key some positions before it, with an arc from one to the other."""
    key_at = at - DISTANCE
    draw.heading(middle, -LENGTH - 34, f"query at {at}, key at {key_at}")
    draw.line((middle - LENGTH, 0), (middle + LENGTH, 0), kind="muted", dashed=True)
    draw.line((middle, LENGTH), (middle, -LENGTH), kind="muted", dashed=True)

    def point(angle: float, length: float) -> tuple[float, float]:
        return middle + length * math.cos(angle), -length * math.sin(angle)

    query, key = QUERY + SPEED * at, KEY + SPEED * key_at
    for kind, angle, words in (("query", query, "q"), ("key", key, "k")):
        draw.arrow((middle, 0), point(angle, LENGTH), kind=kind)
        x, y = point(angle, LENGTH + 12)
        draw.text(x, y + 4, words, kind=kind, bold=True)
    steps = [key + (query - key) * step / 12 for step in range(13)]
    draw.line(*(point(angle, 30) for angle in steps), kind="accent")
