"""Draw for the book: every function returns a piece of SVG as text, and ``figure`` puts pieces together.

A figure is inlined in its page, so the page's theme colors it: nothing here states a color, a piece only
says what ``kind`` of thing it draws, and ``book/theme/figures.css`` gives each kind a fill, a line and a
text color for light and for dark pages. The kinds are ``KINDS``.

Lengths are in units of one pixel at full size; x grows to the right, y downward. A figure is at most
``MAX_WIDTH`` wide, and shrinks with its page until its smallest letters are ``LEAST_LETTER`` pixels high: from there on
it scrolls. A phone shows a figure up to 425 wide as a whole, so draw it that narrow if its subject allows. Anything
that does not fit its box or the figure is an error.

    def one_arrow() -> str:
        return figure(
            300, 60,
            box(10, 10, 100, 40, "query", kind="query"),
            arrow(110, 30, 190, 30),
            box(190, 10, 100, 40, "scores"),
            title="The query leads to the scores",
        )
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, Literal
from xml.etree import ElementTree

import numpy as np
from numpy.typing import ArrayLike

MAX_WIDTH = 640
KINDS = ("plain", "query", "key", "value", "accent", "good", "bad", "masked", "muted")
LEAST_LETTER = 11
SIZES = {"small": 13, "normal": 15, "large": 18}
HEAT_LEVELS = 10
MINUS, INFINITY = "\N{MINUS SIGN}", "\N{INFINITY}"

Kind = Literal["plain", "query", "key", "value", "accent", "good", "bad", "masked", "muted"]
Size = Literal["small", "normal", "large"]
Side = Literal["above", "below", "left", "right"]
Anchor = Literal["start", "middle", "end"]


def number(value: float, spec: str = ".2f") -> str:
    """Return a number as a figure prints it: with a true minus sign, infinity as a sign, never a negative zero."""
    if math.isinf(value):
        return MINUS + INFINITY if value < 0 else INFINITY
    printed = format(value, spec)
    if printed.startswith("-") and not any(digit in printed for digit in "123456789"):
        printed = printed[1:]
    return printed.replace("-", MINUS)


def text_width(line: str, size: Size = "normal", *, mono: bool = False) -> float:
    """Return about how wide one line of text will be; fonts differ, so this is on the safe side."""
    if mono:
        return 0.61 * SIZES[size] * len(line)
    narrow = sum(letter in "iljtfr.,:;'|!()[] " for letter in line)
    return SIZES[size] * (0.34 * narrow + 0.58 * (len(line) - narrow))


def figure(width: float, height: float, *parts: str, title: str) -> str:
    """Draw the finished figure: ``parts`` in drawing order, the last on top.

    ``title`` is read aloud in place of the picture, so let it say in one sentence what there is to see. Raises
    ``ValueError`` for a figure wider than ``MAX_WIDTH``, without a title, or with a word or a box that sticks out.
    """
    if not 0 < width <= MAX_WIDTH:
        raise ValueError(f"the figure {title!r} is {width:g} wide; at most {MAX_WIDTH} can be read on a phone")
    if not title.strip():
        raise ValueError("a figure needs a title that says in one sentence what there is to see")
    drawing = "\n".join(line for part in parts for line in part.splitlines() if line.strip())
    _check_inside(drawing, width, height, title)
    lines = [
        f'<svg class="figure" role="img" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_n(width)} {_n(height)}"'
        f' width="{_n(width)}" height="{_n(height)}" style="min-width: {_least_width(width, drawing)}px">',
        f"<title>{escape(title, quote=False)}</title>",
        drawing,
        "</svg>",
    ]
    return "\n".join(lines)


def group(*parts: str, x: float = 0, y: float = 0) -> str:
    """Draw pieces as if their origin were at ``(x, y)``."""
    return f'<g transform="translate({_n(x)} {_n(y)})">\n' + "\n".join(parts) + "\n</g>"


def text(
    x: float,
    y: float,
    words: str,
    *,
    anchor: Anchor = "middle",
    size: Size = "normal",
    kind: Kind = "plain",
    mono: bool = False,
    bold: bool = False,
) -> str:
    """Draw words whose middle line is at height ``y``; ``\\n`` begins another line.

    ``anchor`` says which end of the words is at ``x``. ``mono`` is for code and for numbers.
    """
    lines = words.split("\n")
    classes = " ".join(["text", f"text-{size}", f"ink-{_kind(kind)}", *["mono"] * mono, *["bold"] * bold])
    spacing = 1.25 * SIZES[size]
    # Compute baselines by hand: `dominant-baseline` differs between browsers.
    first = y + 0.35 * SIZES[size] - spacing * (len(lines) - 1) / 2
    spans = [
        f'<text class="{classes}" text-anchor="{anchor}" x="{_n(x)}" y="{_n(first + at * spacing)}">'
        f"{escape(line, quote=False)}</text>"
        for at, line in enumerate(lines)
        if line.strip()
    ]
    return "\n".join(spans)


def box(
    x: float,
    y: float,
    width: float,
    height: float,
    words: str = "",
    *,
    kind: Kind = "plain",
    size: Size = "normal",
    mono: bool = False,
    bold: bool = False,
    round: float = 5,
    dashed: bool = False,
) -> str:
    """Draw a rectangle with ``words`` in its middle; ``(x, y)`` is its upper left corner.

    Raises ``ValueError`` if the words do not fit: make the box larger, or break the line with ``\\n``.
    """
    for line in words.split("\n"):
        if text_width(line, size, mono=mono) > width:
            raise ValueError(f"{line!r} does not fit into a box {width:g} wide; make it wider or break the line")
    classes = f"box fill-{_kind(kind)}" + (" dashed" if dashed else "")
    rectangle = (
        f'<rect class="{classes}" x="{_n(x)}" y="{_n(y)}" width="{_n(width)}" height="{_n(height)}" rx="{_n(round)}"/>'
    )
    if not words:
        return rectangle
    label = text(x + width / 2, y + height / 2, words, size=size, mono=mono, bold=bold, kind=_readable(kind))
    return f"{rectangle}\n{label}"


def line(x1: float, y1: float, x2: float, y2: float, *, kind: Kind = "plain", dashed: bool = False) -> str:
    """Draw a straight line."""
    return polyline([(x1, y1), (x2, y2)], kind=kind, dashed=dashed)


def arrow(
    x1: float, y1: float, x2: float, y2: float, *, kind: Kind = "plain", dashed: bool = False, label: str = ""
) -> str:
    """Draw a straight line with a head at ``(x2, y2)``, and a small label above its middle."""
    parts = [polyline([(x1, y1), (x2, y2)], kind=kind, dashed=dashed, head=True)]
    if label:
        # The label goes beside an upright arrow, and above any other.
        if abs(x2 - x1) < abs(y2 - y1):
            parts.append(text(max(x1, x2) + 7, (y1 + y2) / 2, label, anchor="start", size="small"))
        else:
            parts.append(text((x1 + x2) / 2, (y1 + y2) / 2 - 11, label, size="small"))
    return "\n".join(parts)


def polyline(
    points: Sequence[tuple[float, float]], *, kind: Kind = "plain", dashed: bool = False, head: bool = False
) -> str:
    """Draw a line through ``points``, with corners; ``head`` makes it an arrow to the last one."""
    classes = f"line line-{_kind(kind)}" + (" dashed" if dashed else "")
    places = [(float(x), float(y)) for x, y in points]
    tip = ""
    if head:
        (x1, y1), (x2, y2) = places[-2:]
        length = math.hypot(x2 - x1, y2 - y1)
        if length == 0:
            raise ValueError("an arrow needs two different ends")
        along, across = ((x2 - x1) / length, (y2 - y1) / length), (-(y2 - y1) / length, (x2 - x1) / length)
        back = (x2 - 9 * along[0], y2 - 9 * along[1])
        corners = [(x2, y2), *((back[0] + s * 4.5 * across[0], back[1] + s * 4.5 * across[1]) for s in (1, -1))]
        tip = f'\n<polygon class="head head-{kind}" points="{_points(corners)}"/>'
        places[-1] = (x2 - 7 * along[0], y2 - 7 * along[1])  # the line must not stick out of the tip
    return f'<polyline class="{classes}" points="{_points(places)}"/>{tip}'


def circle(x: float, y: float, radius: float, words: str = "", *, kind: Kind = "plain", size: Size = "normal") -> str:
    """Draw a disc with ``words`` in its middle, for a sum or a node."""
    disc = f'<circle class="box fill-{_kind(kind)}" cx="{_n(x)}" cy="{_n(y)}" r="{_n(radius)}"/>'
    return f"{disc}\n{text(x, y, words, size=size, kind=_readable(kind))}" if words else disc


def brace(
    x: float,
    y: float,
    length: float,
    label: str = "",
    *,
    side: Side = "below",
    kind: Kind = "plain",
    mono: bool = False,
) -> str:
    """Draw a curly brace that begins at ``(x, y)`` and spans ``length``, with its label on its pointed side.

    ``above`` and ``below`` run to the right; ``left`` and ``right`` run downward. It is 10 deep.
    """
    depth = 10 if side in ("below", "right") else -10
    quarter, half = min(abs(depth) / 2, length / 4), length / 2

    def at(along: float, out: float) -> str:
        place = (x + along, y + out) if side in ("above", "below") else (x + out, y + along)
        return f"{_n(place[0])},{_n(place[1])}"

    curve = (
        f"M{at(0, 0)} Q{at(0, depth / 2)} {at(quarter, depth / 2)} L{at(half - quarter, depth / 2)}"
        f" Q{at(half, depth / 2)} {at(half, depth)} Q{at(half, depth / 2)} {at(half + quarter, depth / 2)}"
        f" L{at(length - quarter, depth / 2)} Q{at(length, depth / 2)} {at(length, 0)}"
    )
    parts = [f'<path class="line line-{_kind(kind)}" d="{curve}"/>']
    if label:
        lines = label.count("\n") + 1
        reach = math.copysign(abs(depth) + 5 + (8 * lines if side in ("above", "below") else 0), depth)
        if side in ("above", "below"):
            parts.append(text(x + half, y + reach, label, size="small", mono=mono))
        else:
            anchor: Anchor = "start" if side == "right" else "end"
            parts.append(text(x + reach, y + half, label, size="small", anchor=anchor, mono=mono))
    return "\n".join(parts)


def matrix(
    x: float,
    y: float,
    values: ArrayLike,
    *,
    rows: Iterable[object] | None = None,
    columns: Iterable[object] | None = None,
    cell: float | tuple[float, float] = (46, 32),
    spec: str | None = ".2f",
    limit: float | None = None,
    masked: ArrayLike | None = None,
    kind: Kind | None = None,
    title: str = "",
    size: Size = "small",
) -> str:
    """Draw a grid of cells, colored by value: a heat map, a matrix, a mask, or a row of tokens.

    ``(x, y)`` is the upper left corner of the cells; ``rows`` labels go left of it, ``columns`` labels above it, and
    ``title`` above those, outside the cells (leave 22 above for each). ``values`` is 2-D, of numbers or of words. A
    number's color is its share of ``limit`` (default: the largest absolute value): one color for positive, another for
    negative numbers; words, or any value if ``kind`` is given, have the color of that kind. ``spec`` is how numbers are
    printed, or None to leave them out. Cells where ``masked`` is true, and those of minus infinity, are gray. ``cell``
    is a width and a height.
    """
    grid = np.asarray(values)
    if grid.ndim != 2:
        raise ValueError(f"a matrix has 2 axes; these values have the shape {grid.shape}")
    width, height = (cell, cell) if isinstance(cell, int | float) else cell
    words = grid.dtype.kind not in "biuf"
    hidden = np.zeros(grid.shape, bool) if masked is None else np.asarray(masked, bool)
    if not words:
        grid = grid.astype(float)
        hidden = hidden | np.isneginf(grid)
        finite = np.abs(grid[np.isfinite(grid)])
        limit = limit or (float(finite.max()) if finite.size else 0.0) or 1.0
    parts: list[str] = []
    for (row, column), value in np.ndenumerate(grid):
        left, top = x + column * width, y + row * height
        if hidden[row, column]:
            fill = "cell-masked"
        elif words or kind is not None:
            fill = f"fill-{_kind(kind or 'plain')}"
        else:
            share = min(1.0, abs(value) / limit) if limit else 0.0
            fill = f"{'heat' if value >= 0 else 'cool'}-{round(share * (HEAT_LEVELS - 1))}"
        parts.append(
            f'<rect class="cell {fill}" x="{_n(left)}" y="{_n(top)}" width="{_n(width)}" height="{_n(height)}"/>'
        )
        printed = str(value) if words else number(value, spec) if spec is not None else ""
        if printed:
            if text_width(printed, size, mono=True) > width:
                raise ValueError(f"{printed!r} does not fit into a cell {width:g} wide; make it wider or round more")
            ink: Kind = "muted" if hidden[row, column] else "plain"
            parts.append(text(left + width / 2, top + height / 2, printed, size=size, mono=True, kind=ink))
    for row, label in enumerate(_labels(rows, grid.shape[0], "rows")):
        parts.append(text(x - 8, y + (row + 0.5) * height, label, anchor="end", size="small"))
    for column, label in enumerate(_labels(columns, grid.shape[1], "columns")):
        parts.append(text(x + (column + 0.5) * width, y - 12, label, size="small"))
    if title:
        above = 12 if columns is None else 34
        parts.append(text(x + grid.shape[1] * width / 2, y - above, title, size="normal", bold=True))
    return "\n".join(parts)


@dataclass(frozen=True)
class Plot:
    """A pair of axes: ``(x, y)`` is the upper left corner of the plotting area, the labels lie outside it.

    ``x_range`` and ``y_range`` are the values at the two ends of each axis. Leave 48 to the left of the area and
    44 below it for the numbers and the names of the axes. Draw ``axes`` first, then the data on top.
    """

    x: float
    y: float
    width: float
    height: float
    x_range: tuple[float, float]
    y_range: tuple[float, float]
    log_x: bool = False
    log_y: bool = False

    def at(self, x: float, y: float) -> tuple[float, float]:
        """Return where a point of the data is in the figure."""
        across = _share(x, self.x_range, self.log_x)
        up = _share(y, self.y_range, self.log_y)
        return self.x + across * self.width, self.y + (1 - up) * self.height

    def axes(
        self,
        *,
        x_ticks: Iterable[float | tuple[float, str]] = (),
        y_ticks: Iterable[float | tuple[float, str]] = (),
        x_label: str = "",
        y_label: str = "",
        spec: str = "g",
    ) -> str:
        """Draw the two axes, ticks with faint lines, and the names. A tick is a number, or a number and its words."""
        left, right, top, bottom = self.x, self.x + self.width, self.y, self.y + self.height
        parts = []
        for value, words in _ticks(x_ticks, spec):
            place = self.at(value, self.y_range[0])[0]
            parts.append(f'<polyline class="line grid" points="{_points([(place, top), (place, bottom)])}"/>')
            parts.append(text(place, bottom + 14, words, size="small"))
        for value, words in _ticks(y_ticks, spec):
            place = self.at(self.x_range[0], value)[1]
            parts.append(f'<polyline class="line grid" points="{_points([(left, place), (right, place)])}"/>')
            parts.append(text(left - 7, place, words, size="small", anchor="end"))
        parts.append(polyline([(left, top), (left, bottom), (right, bottom)]))
        if x_label:
            parts.append(text((left + right) / 2, bottom + 34, x_label, size="small"))
        if y_label:
            parts.append(text(left, top - 14, y_label, size="small", anchor="middle"))
        return "\n".join(parts)

    def curve(self, xs: ArrayLike, ys: ArrayLike, *, kind: Kind = "accent", dashed: bool = False) -> str:
        """Draw a line through the points ``(xs, ys)`` of the data."""
        places = [self.at(float(x), float(y)) for x, y in zip(np.asarray(xs), np.asarray(ys), strict=True)]
        return polyline(places, kind=kind, dashed=dashed)

    def dots(self, xs: ArrayLike, ys: ArrayLike, *, kind: Kind = "accent", radius: float = 4) -> str:
        """Draw a dot at every point ``(xs, ys)`` of the data."""
        places = [self.at(float(x), float(y)) for x, y in zip(np.asarray(xs), np.asarray(ys), strict=True)]
        return "\n".join(circle(x, y, radius, kind=kind) for x, y in places)

    def bar(self, x1: float, x2: float, y: float, *, kind: Kind = "accent") -> str:
        """Draw a bar over ``x1`` to ``x2`` of the data, from the lower end of the axis up to ``y``."""
        (left, top), (right, bottom) = self.at(x1, y), self.at(x2, self.y_range[0])
        return box(left, top, right - left, bottom - top, kind=kind, round=0)


def bars(
    x: float,
    y: float,
    width: float,
    values: Sequence[tuple[str, float]],
    *,
    spec: str = ".2f",
    kind: Kind = "accent",
    limit: float | None = None,
    labels: float = 90,
    row: float = 26,
) -> str:
    """Draw horizontal bars, one per row: a label of ``labels`` width, the bar, its number. ``width`` holds all three.

    The longest bar (or ``limit``, if given) takes what labels and numbers leave. Each row is ``row`` high.
    """
    printed = [number(value, spec) for _, value in values]
    room = width - labels - max(text_width(words, "small", mono=True) for words in printed) - 8
    limit = limit or max(value for _, value in values)
    if room <= 0 or not limit > 0 or any(value < 0 for _, value in values):
        raise ValueError("bars need positive values, and more width than their labels and numbers take")
    parts = []
    for at, ((label, value), words) in enumerate(zip(values, printed, strict=True)):
        top, length = y + at * row, room * value / limit
        parts.append(text(x + labels - 8, top + row / 2, label, anchor="end", size="small"))
        parts.append(box(x + labels, top + 4, length, row - 8, kind=kind, round=2))
        parts.append(text(x + labels + length + 6, top + row / 2, words, anchor="start", size="small", mono=True))
    return "\n".join(parts)


def row_of(
    draw: Callable[[float, Any], str], items: Iterable[Any], *, start: float, step: float
) -> str:  # draw(x, item) for every item
    """Draw a piece once for every item, ``step`` apart: ``row_of(lambda x, word: box(x, 0, 60, 30, word), …)``."""
    return "\n".join(draw(start + at * step, item) for at, item in enumerate(items))


def _check_inside(drawing: str, width: float, height: float, title: str) -> None:
    """Raise ``ValueError`` for words and boxes that the edge of the figure would cut off."""

    def visit(element: ElementTree.Element, x: float, y: float) -> None:
        at = {name: float(element.get(name, 0)) for name in ("x", "y", "width", "height")}
        what, top, bottom = "a box", y + at["y"], y + at["y"] + at["height"]
        left, right = x + at["x"], x + at["x"] + at["width"]
        if element.tag == "text":
            words, classes = element.text or "", element.get("class", "").split()
            size = next(name for name in SIZES if f"text-{name}" in classes)
            wide = text_width(words, size, mono="mono" in classes)  # type: ignore[arg-type]
            left -= {"start": 0, "middle": wide / 2, "end": wide}[element.get("text-anchor", "start")]
            what, right, top = f"the text {words!r}", left + wide, top - 0.8 * SIZES[size]
        if element.tag in ("text", "rect"):
            for out, edge in ((-left, "left"), (right - width, "right"), (-top, "upper"), (bottom - height, "lower")):
                if out > 0.5:
                    raise ValueError(f"in the figure {title!r}, {what} sticks out of the {edge} edge by {out:.0f}")
        if element.tag == "g":
            shift = element.get("transform", "").removeprefix("translate(").removesuffix(")").split()
            x, y = x + float(shift[0]), y + float(shift[1])
        for child in element:
            visit(child, x, y)

    visit(ElementTree.fromstring(f"<svg>{drawing}</svg>"), 0, 0)


def _least_width(width: float, drawing: str) -> int:
    """Return how many pixels a figure must have for its smallest letters to be read."""
    used = [height for size, height in SIZES.items() if f"text-{size} " in drawing]
    return math.ceil(width * LEAST_LETTER / min(used)) if used else 0


def _kind(kind: str) -> str:
    if kind not in KINDS:
        raise ValueError(f"there is no kind {kind!r} of thing to draw; the kinds are {', '.join(KINDS)}")
    return kind


def _readable(kind: Kind) -> Kind:
    """Return the ink on top of a fill: pale fills take the page's own text color."""
    return "muted" if kind in ("masked", "muted") else "plain"


def _n(value: float) -> str:
    printed = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if printed == "-0" else printed


def _points(places: Iterable[tuple[float, float]]) -> str:
    return " ".join(f"{_n(x)},{_n(y)}" for x, y in places)


def _labels(labels: Iterable[object] | None, wanted: int, what: str) -> list[str]:
    found = [] if labels is None else [str(label) for label in labels]
    if found and len(found) != wanted:
        raise ValueError(f"there are {len(found)} labels for {wanted} {what}")
    return found


def _share(value: float, ends: tuple[float, float], log: bool) -> float:
    low, high = ends
    if log:
        value, low, high = math.log(value), math.log(low), math.log(high)
    return (value - low) / (high - low)


def _ticks(ticks: Iterable[float | tuple[float, str]], spec: str) -> list[tuple[float, str]]:
    return [tick if isinstance(tick, tuple) else (tick, number(tick, spec)) for tick in ticks]
