"""Draw for the book: a ``Drawing`` takes boxes, words, arrows, grids and plots, and becomes one SVG.

A figure is inlined in its page, so the page's theme colors it: nothing here states a color, a piece only says what
``kind`` of thing it draws, and ``book/theme/figures.css`` gives each kind a fill, a line and a text color for light and
for dark pages. The kinds are ``KINDS``.

Lengths are in pixels at full size; x grows to the right, y downward, from wherever you begin: a figure is as large as
what is drawn in it. It is at most ``MAX_WIDTH`` wide, and shrinks with its page until its smallest letters are
``LEAST_LETTER`` pixels high: from there on it scrolls. A phone shows a figure up to 425 wide as a whole; aim for that.
Words that do not fit their box are an error.

    def one_arrow(draw: Drawing) -> None:
        "The query leads to the scores."
        query = draw.box(0, 0, 100, 40, "query", "query")
        scores = draw.box(180, 0, 100, 40, "scores")
        draw.arrow(query.right, scores.left)

A figure is such a function in ``figures/``; what its docstring says is read aloud in its place.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

MAX_WIDTH = 640
MARGIN = 5
KINDS = ("plain", "query", "key", "value", "accent", "good", "bad", "masked", "muted")
LEAST_LETTER = 11
SIZES = {"small": 13, "normal": 15, "large": 18}
MINUS, INFINITY = "\N{MINUS SIGN}", "\N{INFINITY}"

Size = Literal["small", "normal", "large"]
Side = Literal["below", "left", "right"]
Anchor = Literal["start", "middle", "end"]
Point = tuple[float, float]


def number(value: float, spec: str = ".2f") -> str:
    """Return a number as a figure prints it: with a true minus sign, infinity as a sign, never a negative zero."""
    return format(value, f"z{spec}").replace("inf", INFINITY).replace("-", MINUS)


def text_width(line: str, size: Size = "normal", *, mono: bool = False) -> float:
    """Return about how wide one line of text will be; fonts differ, so this is on the safe side."""
    if mono:
        return 0.61 * SIZES[size] * len(line)
    narrow, wide = (sum(letter in letters for letter in line) for letters in ("iljtfr.,:;'|!()[] -", "mwMW"))
    return SIZES[size] * (0.37 * narrow + 0.62 * (len(line) - narrow - wide) + 0.98 * wide)


@dataclass(frozen=True)
class Box:
    """What was drawn, as a rectangle: ``(x, y)`` is its upper left corner; arrows begin and end at its sides."""

    x: float
    y: float
    width: float
    height: float

    @property
    def middle(self) -> Point:
        """The middle of the rectangle."""
        return self.x + self.width / 2, self.y + self.height / 2

    @property
    def top(self) -> Point:
        """The middle of the upper side."""
        return self.middle[0], self.y

    @property
    def bottom(self) -> Point:
        """The middle of the lower side."""
        return self.middle[0], self.y + self.height

    @property
    def left(self) -> Point:
        """The middle of the left side."""
        return self.x, self.middle[1]

    @property
    def right(self) -> Point:
        """The middle of the right side."""
        return self.x + self.width, self.middle[1]


@dataclass(frozen=True)
class Axis:
    """One axis of a plot: the values at its two ends, its ticks (a number, or a number and its words), and its name."""

    low: float
    high: float
    ticks: Iterable[float | tuple[float, str]] = ()
    label: str = ""
    log: bool = False

    def share(self, value: float) -> float:
        """Return how far along the axis a value lies, from 0 to 1."""
        value, low, high = map(math.log, (value, self.low, self.high)) if self.log else (value, self.low, self.high)
        return (value - low) / (high - low)

    def marks(self) -> list[tuple[float, str]]:
        """Return the ticks with their words."""
        return [tick if isinstance(tick, tuple) else (tick, number(tick, "g")) for tick in self.ticks]


class Drawing:
    """A figure in the making: every method draws one thing, on top of those before it.

    Args:
        title: read aloud in place of the picture, so let it say in one sentence what there is to see.
    """

    def __init__(self, title: str) -> None:
        self.title = title
        self._elements: list[str] = []
        self._corners: list[Point] = []  # of everything drawn
        self._least_letter = max(SIZES.values())

    def svg(self) -> str:
        """Return the finished figure.

        Raises:
            ValueError: it is wider than ``MAX_WIDTH``.
        """
        left, top = np.min(self._corners, axis=0) - MARGIN
        width, height = np.max(self._corners, axis=0) + MARGIN - (left, top)
        if width > MAX_WIDTH:
            raise ValueError(f"the figure {self.title!r} is {width:g} wide; at most {MAX_WIDTH} can be read on a phone")
        size = f'width="{_n(width)}" height="{_n(height)}"'
        style = f"min-width: {math.ceil(width * LEAST_LETTER / self._least_letter)}px"
        start = (
            f'<svg class="figure" role="img" xmlns="http://www.w3.org/2000/svg"'
            f' viewBox="{_n(left)} {_n(top)} {_n(width)} {_n(height)}" {size} style="{style}">'
        )
        return "\n".join([start, f"<title>{escape(self.title, quote=False)}</title>", *self._elements, "</svg>"])

    def text(
        self,
        x: float,
        y: float,
        words: str,
        anchor: Anchor = "middle",
        *,
        size: Size = "small",
        kind: str = "plain",
        mono: bool = False,
        bold: bool = False,
    ) -> None:
        """Draw words whose middle line is at height ``y``; ``\\n`` begins another line.

        ``anchor`` says which end of the words is at ``x``. ``mono`` is for code and for numbers.
        """
        lines = words.split("\n")
        classes = _classes("text", f"text-{size}", f"ink-{_kind(kind)}", mono=mono, bold=bold)
        spacing = 1.25 * SIZES[size]
        # Compute baselines by hand: `dominant-baseline` differs between browsers.
        first = y + 0.35 * SIZES[size] - spacing * (len(lines) - 1) / 2
        for at, line in enumerate(lines):
            base, wide = first + at * spacing, text_width(line, size, mono=mono)
            left = x - {"start": 0, "middle": wide / 2, "end": wide}[anchor]
            start = f'<text class="{classes}" text-anchor="{anchor}" x="{_n(x)}" y="{_n(base)}">'
            if line.strip():
                corners = (left, base - 0.8 * SIZES[size]), (left + wide, base + 3)
                self._add(f"{start}{escape(line, quote=False)}</text>", *corners)
                self._least_letter = min(self._least_letter, SIZES[size])

    def heading(self, x: float, y: float, words: str, anchor: Anchor = "middle", kind: str = "plain") -> None:
        """Draw words over a part of the figure: larger, and bold."""
        self.text(x, y, words, anchor, size="normal", kind=kind, bold=True)

    def box(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        words: str = "",
        kind: str = "plain",
        *,
        size: Size = "normal",
        mono: bool = False,
        round: float = 5,
        dashed: bool = False,
    ) -> Box:
        """Draw a rectangle with ``words`` in its middle; ``(x, y)`` is its upper left corner.

        Raises:
            ValueError: the words do not fit. Make the box larger, or break the line with ``\\n``.
        """
        for line in words.split("\n"):
            if text_width(line, size, mono=mono) > width:
                raise ValueError(f"{line!r} does not fit into a box {width:g} wide; make it wider or break the line")
        classes = _classes("box", f"fill-{_kind(kind)}", dashed=dashed)
        self._rectangle(classes, x, y, width, height, f' rx="{_n(round)}"')
        if words:
            self.text(x + width / 2, y + height / 2, words, size=size, mono=mono, kind=_readable(kind))
        return Box(x, y, width, height)

    def circle(self, x: float, y: float, radius: float, words: str = "", kind: str = "plain") -> None:
        """Draw a disc with ``words`` in its middle, for a sum or a node."""
        disc = f'<circle class="box fill-{_kind(kind)}" cx="{_n(x)}" cy="{_n(y)}" r="{_n(radius)}"/>'
        self._add(disc, (x - radius, y - radius), (x + radius, y + radius))
        if words:
            self.text(x, y, words, size="normal", kind=_readable(kind))

    def line(self, *points: Point, kind: str = "plain", dashed: bool = False) -> None:
        """Draw a line through ``points``, with corners."""
        classes = _classes("line", f"line-{_kind(kind)}", dashed=dashed)
        self._add(f'<polyline class="{classes}" points="{_points(points)}"/>', *points)

    def arrow(self, *points: Point, kind: str = "plain", dashed: bool = False, label: str = "") -> None:
        """Draw a line through ``points`` with a head at the last one, and a small label at the middle of its way.

        The label goes beside an upright arrow, and above any other.
        """
        (x1, y1), (x2, y2) = points[-2:]
        length = math.hypot(x2 - x1, y2 - y1)
        if length == 0:
            raise ValueError("an arrow needs two different ends")
        along, across = ((x2 - x1) / length, (y2 - y1) / length), (-(y2 - y1) / length, (x2 - x1) / length)
        back = (x2 - 9 * along[0], y2 - 9 * along[1])
        sides = [(back[0] + s * 4.5 * across[0], back[1] + s * 4.5 * across[1]) for s in (1, -1)]
        # The line must not stick out of the tip.
        self.line(*points[:-1], (x2 - 7 * along[0], y2 - 7 * along[1]), kind=kind, dashed=dashed)
        self._add(f'<polygon class="head head-{kind}" points="{_points([(x2, y2), *sides])}"/>', (x2, y2), *sides)
        if label and abs(x2 - x1) < abs(y2 - y1):
            self.text(max(x1, x2) + 7, (y1 + y2) / 2, label, "start")
        elif label:
            self.text((x1 + x2) / 2, (y1 + y2) / 2 - 11, label)

    def brace(
        self, x: float, y: float, length: float, label: str = "", side: Side = "below", mono: bool = False
    ) -> None:
        """Draw a curly brace that begins at ``(x, y)`` and spans ``length``, with its label on its pointed side.

        ``below`` runs to the right; ``left`` and ``right`` run downward. It is 10 deep.
        """
        depth, half = -10 if side == "left" else 10, length / 2
        quarter = min(abs(depth) / 2, length / 4)

        def at(along: float, out: float) -> Point:
            return (x + along, y + out) if side == "below" else (x + out, y + along)

        level = depth / 2
        places = [(0, 0), (0, level), (quarter, level), (half - quarter, level), (half, level), (half, depth)]
        places += [(half + quarter, level), (length - quarter, level), (length, level), (length, 0)]
        p = [_points([at(*place)]) for place in places]
        curve = f"M{p[0]} Q{p[1]} {p[2]} L{p[3]} Q{p[4]} {p[5]} Q{p[4]} {p[6]} L{p[7]} Q{p[8]} {p[9]}"
        middle = at(half, depth)
        self._add(f'<path class="line line-plain" d="{curve}"/>', at(0, 0), at(length, 0), middle)
        if side == "below":
            self.text(middle[0], middle[1] + 5 + 8 * (label.count("\n") + 1), label, mono=mono)
        else:
            self.text(x + 1.5 * depth, middle[1], label, "start" if side == "right" else "end", mono=mono)

    def matrix(
        self,
        x: float,
        y: float,
        values: ArrayLike,
        *,
        rows: Iterable[object] = (),
        columns: Iterable[object] = (),
        cell: float | tuple[float, float] = (46, 32),
        spec: str | None = ".2f",
        limit: float | None = None,
        masked: ArrayLike = False,
        kind: ArrayLike | None = None,
        title: str = "",
        below: str = "",
    ) -> Box:
        """Draw a grid of cells, colored by value: a heat map, a matrix, a mask, or a row of tokens.

        ``(x, y)`` is the upper left corner of the cells; ``rows`` labels go left of it, ``columns`` labels above it,
        ``title`` above those, and ``below``, such as a shape, below the cells. ``values`` is 2-D, of numbers or of
        words. A number's color is its share of ``limit`` (default: the largest absolute value): one color for positive,
        another for negative numbers; words, or any value if ``kind`` is given, have the color of that kind, which may
        be another for each cell. ``spec`` is how numbers are printed, or None to leave them out. Cells where ``masked``
        is true, and those of minus infinity, are gray. ``cell`` is a width and a height.
        """
        grid = np.asarray(values)
        if grid.ndim != 2:
            raise ValueError(f"a matrix has 2 axes; these values have the shape {grid.shape}")
        width, height = (cell, cell) if isinstance(cell, int | float) else cell
        words = grid.dtype.kind not in "biuf"
        hidden = np.broadcast_to(np.asarray(masked, bool), grid.shape)
        kinds = np.broadcast_to("plain" if kind is None else np.asarray(kind), grid.shape)
        if not words:
            grid = grid.astype(float)
            hidden = hidden | np.isneginf(grid)
            limit = limit or float(np.abs(grid[np.isfinite(grid)]).max(initial=0)) or 1.0
        for (row, column), value in np.ndenumerate(grid):
            attributes = ""
            if hidden[row, column]:
                fill = "fill-masked"
            elif words or kind is not None:
                fill = f"fill-{_kind(str(kinds[row, column]))}"
            else:
                fill = "heat" if value >= 0 else "cool"
                share = min(1.0, abs(value) / limit) if limit else 0.0
                attributes = f' fill-opacity="{_n(0.03 + 0.97 * share)}"'
            left, top = x + column * width, y + row * height
            self._rectangle(f"cell {fill}", left, top, width, height, attributes)
            if printed := str(value) if words else number(value, spec) if spec is not None else "":
                if text_width(printed, "small", mono=True) > width:
                    raise ValueError(f"{printed!r} does not fit into a cell {width:g} wide; widen it or round more")
                ink = "muted" if hidden[row, column] else _readable(str(kinds[row, column]))
                self.text(left + width / 2, top + height / 2, printed, mono=True, kind=ink)
        for row, label in enumerate(_labels(rows, grid.shape[0], "rows")):
            self.text(x - 8, y + (row + 0.5) * height, label, "end")
        for column, label in enumerate(above := _labels(columns, grid.shape[1], "columns")):
            self.text(x + (column + 0.5) * width, y - 12, label)
        drawn = Box(x, y, grid.shape[1] * width, grid.shape[0] * height)
        self.heading(drawn.middle[0], y - (34 if above else 12), title)
        self.text(drawn.middle[0], y + drawn.height + 16, below, mono=True)
        return drawn

    def bars(
        self,
        x: float,
        y: float,
        width: float,
        values: Sequence[tuple[str, float]],
        *,
        spec: str = ".2f",
        labels: float = 90,
        kinds: Sequence[str] = (),
    ) -> None:
        """Draw horizontal bars, one per row: a label ``labels`` wide, the bar, its number. ``width`` holds all three.

        The longest bar takes what labels and numbers leave. ``kinds`` are the bars', ``accent`` if none are given.
        """
        row = 26  # pixels
        printed = [number(value, spec) for _, value in values]
        room = width - labels - max(text_width(words, "small", mono=True) for words in printed) - 8
        longest = max(value for _, value in values)
        if room <= 0 or not longest > 0 or any(value < 0 for _, value in values):
            raise ValueError("bars need positive values, and more width than their labels and numbers take")
        drawn = zip(values, printed, kinds or ["accent"] * len(values), strict=True)
        for at, ((label, value), words, kind) in enumerate(drawn):
            self.text(x + labels - 8, y + (at + 0.5) * row, label, "end")
            bar = self.box(x + labels, y + at * row + 4, room * value / longest, row - 8, kind=kind, round=2)
            self.text(bar.right[0] + 6, bar.right[1], words, "start", mono=True)

    def legend(self, x: float, y: float, entries: Iterable[tuple[str, str]], *, down: float = 0) -> None:
        """Draw what kinds stand for: a square each, and its words.

        Entries follow each other to the right, or ``down`` apart below each other.
        """
        for words, kind in entries:
            self.box(x, y - 8, 16, 16, kind=kind, round=2)
            self.text(x + 22, y, words, "start")
            x, y = (x, y + down) if down else (x + 22 + text_width(words, "small") + 18, y)

    def plot(self, area: tuple[float, float, float, float], x: Axis, y: Axis) -> Plot:
        """Draw a pair of axes with ticks and faint lines; the returned plot draws the data.

        ``area`` is the upper left corner of the plotting area, its width and its height; the labels, and the numbers at
        the ticks, lie outside it.
        """
        plot = Plot(self, Box(*area), x, y)
        left, right, top, bottom = area[0], area[0] + area[2], area[1], area[1] + area[3]
        for value, words in x.marks():
            place = plot.at(value, y.low)[0]
            self._add(f'<polyline class="line grid" points="{_points([(place, top), (place, bottom)])}"/>')
            self.text(place, bottom + 14, words)
        for value, words in y.marks():
            place = plot.at(x.low, value)[1]
            self._add(f'<polyline class="line grid" points="{_points([(left, place), (right, place)])}"/>')
            self.text(left - 7, place, words, "end")
        self.line((left, top), (left, bottom), (right, bottom))
        self.text((left + right) / 2, bottom + 34, x.label)
        self.text(left, top - 14, y.label)
        return plot

    def _rectangle(self, classes: str, x: float, y: float, width: float, height: float, attributes: str = "") -> None:
        size = f'x="{_n(x)}" y="{_n(y)}" width="{_n(width)}" height="{_n(height)}"'
        self._add(f'<rect class="{classes}" {size}{attributes}/>', (x, y), (x + width, y + height))

    def _add(self, element: str, *corners: Point) -> None:
        self._elements.append(element)
        self._corners += corners


@dataclass(frozen=True)
class Plot:
    """A pair of axes that was drawn: what is drawn here is placed by the values of the data."""

    draw: Drawing
    area: Box
    x: Axis
    y: Axis

    def at(self, x: float, y: float) -> Point:
        """Return where a point of the data is in the figure."""
        right, up = self.x.share(x) * self.area.width, self.y.share(y) * self.area.height
        return self.area.x + right, self.area.y + self.area.height - up

    def curve(
        self, xs: ArrayLike, ys: ArrayLike, kind: str = "accent", *, dashed: bool = False, radius: float = 0
    ) -> None:
        """Draw a line through the points ``(xs, ys)`` of the data, with dots on them if they have a radius."""
        self.draw.line(*self._places(xs, ys), kind=kind, dashed=dashed)
        if radius:
            self.dots(xs, ys, kind, radius)

    def dots(self, xs: ArrayLike, ys: ArrayLike, kind: str = "accent", radius: float = 4) -> None:
        """Draw a dot at every point ``(xs, ys)`` of the data."""
        for x, y in self._places(xs, ys):
            self.draw.circle(x, y, radius, kind=kind)

    def text(
        self,
        place: Point,
        words: str,
        anchor: Anchor = "start",
        *,
        right: float = 0,
        down: float = 0,
        kind: str = "plain",
        size: Size = "small",
    ) -> None:
        """Draw words beside a point of the data, so far ``right`` of it and so far ``down``."""
        x, y = self.at(*place)
        self.draw.text(x + right, y + down, words, anchor, kind=kind, size=size)

    def _places(self, xs: ArrayLike, ys: ArrayLike) -> list[Point]:
        return [self.at(float(x), float(y)) for x, y in zip(np.asarray(xs), np.asarray(ys), strict=True)]


def _kind(kind: str) -> str:
    if kind not in KINDS:
        raise ValueError(f"there is no kind {kind!r} of thing to draw; the kinds are {', '.join(KINDS)}")
    return kind


def _classes(*names: str, **is_so: bool) -> str:
    """Return the classes of an element: those named, and what it is besides."""
    return " ".join([*names, *(name for name, is_true in is_so.items() if is_true)])


def _readable(kind: str) -> str:
    """Return the ink on top of a fill: pale fills take the page's own text color."""
    return "muted" if kind in ("masked", "muted") else "plain"


def _n(value: float) -> str:
    printed = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if printed == "-0" else printed


def _points(places: Iterable[Point]) -> str:
    return " ".join(f"{_n(x)},{_n(y)}" for x, y in places)


def _labels(labels: Iterable[object], wanted: int, what: str) -> Collection[str]:
    printed = [str(label) for label in labels]
    if printed and len(printed) != wanted:
        raise ValueError(f"there are {len(printed)} labels for {wanted} {what}")
    return printed
