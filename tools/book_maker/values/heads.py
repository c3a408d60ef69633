"""Values for the page on heads: where those of the small model look, as it was measured on a chapter that is held out.

Layers and heads are counted from 0, as ``./run attention`` and the weights' names count them.
"""

import json
from typing import Any

import numpy as np

from checker.course.steps import ROOT

FIGURES: dict[str, Any] = json.loads((ROOT / "tools" / "benchmarks" / "figures" / "heads.json").read_text())

#: What the share of even attention is, by the kind of key, and what a head gives to it [layer, head].
even_shares: dict[str, float] = FIGURES["even"]
shares = {kind: np.array(of_heads) for kind, of_heads in FIGURES["shares"].items()}


def row(kind: str) -> str:
    """Return one row of the page's table: even attention, the mean of all heads, the highest and its head."""
    of_heads = shares[kind]
    layer, head = np.unravel_index(int(of_heads.argmax()), of_heads.shape)
    return f"{even_shares[kind]:.1%} | {of_heads.mean():.1%} | {of_heads.max():.1%} | layer {layer}, head {head}"


def tastes() -> str:
    """Return the rows of the page's table of favorite tokens, the clearest taste first."""
    rows = (f"| {head} | `{token}` | {times} | {share:.1f} |" for head, token, times, share in FIGURES["tastes"])
    return "\n".join(rows)
