"""A page with one of the book's interactive figures, in one file that needs no other."""

from __future__ import annotations

import json
from html import escape
from pathlib import Path
from string import Template
from typing import Any

from checker.course.steps import WIDGETS
from checker.files import ROOT

PAGE = Path(__file__).with_name("page.html")
COLORS = ROOT / "book" / "theme" / "figures.css"


def as_html(figure: str, heading: str, data: dict[str, Any]) -> str:
    """Return the page; ``figure`` is a script in ``book/src/widgets``, and ``data`` the numbers that it draws."""
    return Template(_texts(PAGE)).substitute(
        figure=figure,
        heading=escape(heading),
        styles=_texts(COLORS, WIDGETS / "widgets.css"),
        scripts=_texts(WIDGETS / "widgets.js", WIDGETS / f"{figure}.js"),
        data=json.dumps(data).replace("<", "\\u003c"),  # nothing in it can end the script
    )


def _texts(*paths: Path) -> str:
    return "\n".join(path.read_text(encoding="utf-8") for path in paths)
