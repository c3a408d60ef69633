"""The page that ``./run attention`` writes: the book's own picture of attention on one text, in one file."""

from __future__ import annotations

import json
from pathlib import Path
from string import Template

from checker.course.paths import ROOT, WIDGETS
from play.attention_weights import Attention
from play.widgets.packing import attention_on

PAGE = Path(__file__).with_name("page.html")
COLORS = ROOT / "book" / "theme" / "figures.css"


def as_html(attention: Attention, layer: int, head: int) -> str:
    """Return one page that needs no other file: every head small, and ``head`` of ``layer`` (from 0) large."""
    data = {"texts": [attention_on(attention)], "layer": layer, "head": head}
    styles, scripts = (COLORS, WIDGETS / "widgets.css"), (WIDGETS / "widgets.js", WIDGETS / "attention.js")
    return Template(PAGE.read_text(encoding="utf-8")).substitute(
        styles="\n".join(path.read_text(encoding="utf-8") for path in styles),
        scripts="\n".join(path.read_text(encoding="utf-8") for path in scripts),
        data=json.dumps(data).replace("<", "\\u003c"),  # nothing in it can end the script
    )
