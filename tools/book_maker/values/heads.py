"""Values for the page on heads: where those of the small model look, as it was measured on a chapter that is held out.

The code of commit ``faad1ac2`` measured it. Layers and heads are counted from 0, as ``./run attention`` and the names
of the weights count them.
"""

import json
from typing import Any

import numpy as np

from checker.files import ROOT

FIGURES: dict[str, Any] = json.loads((ROOT / "tools" / "benchmarks" / "figures" / "heads.json").read_text())

#: What the share of even attention is, by the kind of key, and what a head gives to it [layer, head].
even_shares: dict[str, float] = FIGURES["even"]
shares = {kind: np.array(of_heads) for kind, of_heads in FIGURES["shares"].items()}

REPEATED = "the token after its copy, in random tokens read twice"


def highest(of_heads: np.ndarray) -> tuple[float, int, int]:
    """Return the largest value of any head, with its layer and its number."""
    layer, head = np.unravel_index(int(of_heads.argmax()), of_heads.shape)
    return float(of_heads.max()), int(layer), int(head)


def row(kind: str) -> str:
    """Return cells of the page's table: even attention, the highest share of the small model's heads, and which."""
    share, layer, head = highest(shares[kind])
    return f"{even_shares[kind]:.1%} | {share:.1%} | layer {layer}, head {head}"


def tastes() -> str:
    """Return the rows of the page's table of favorite tokens, the clearest taste first."""
    rows = (f"| {head} | `{token}` | {times} | {share:.1f} |" for head, token, times, share in FIGURES["tastes"])
    return "\n".join(rows)
