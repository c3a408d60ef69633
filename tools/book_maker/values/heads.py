"""Values for the page on heads: where those of the small model look, as it was measured on a chapter that is held out.

Layers and heads are counted from 0, as ``./run attention`` and the weights' names count them.
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


def repeated(vocab_size: int) -> np.ndarray:  # [window, seq]
    """Return random tokens, each window's twice in a row: only a head that finds the copy knows what comes next."""
    rng = np.random.default_rng(0)
    once = np.stack([rng.choice(vocab_size, 64, replace=False) for _ in range(3)])
    return np.concatenate([once, once], axis=1)


def measured(ids: np.ndarray, weights: np.ndarray) -> dict[str, np.ndarray]:  # kind -> [layer, head]
    """Return the share of each kind of token in what every head takes, over the queries that see such a token.

    The ids are [window, seq], the weights [window, layer, head, query, key]. The first token sees only itself, so it
    doesn't count.
    """
    length = ids.shape[1]
    past = np.tri(length, k=-1, dtype=bool)
    copies = past & (ids[:, :, None] == ids[:, None, :])  # [window, query, key]
    kinds = {
        "the token before": np.eye(length, k=-1),
        "itself": np.eye(length),
        "the first token": np.arange(length) == 0,
        "the last eight": np.tri(length) - np.tri(length, k=-8),
        "an earlier copy of itself": copies,
        "the token after an earlier copy": past & np.roll(copies, 1, axis=-1),
    }
    result = {}
    for kind, of_kind in kinds.items():
        places = np.broadcast_to(of_kind, copies.shape) * (np.arange(length) > 0)[:, None]
        result[kind] = np.einsum("wlhqk,wqk->lh", weights, places) / places.any(axis=-1).sum()
    return result


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
