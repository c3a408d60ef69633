"""Draw attention weights in the terminal, or pack them for a page, which ``play.browser.page`` makes."""

from __future__ import annotations

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from play.attention.weights import Attention, pattern, shares
from play.browser.packing import Json, packed

SHADES = " .:-=+*#%@"


def measured(attention: Attention) -> list[list[dict[str, float]]]:
    """Return the shares of every head by name, ``[layer][head]``; a single token has none."""
    layers, heads, length, _ = attention.weights.shape
    if length < 2:
        return [[{} for _ in range(heads)] for _ in range(layers)]
    named = shares(attention.weights)
    return [
        [{name: float(share[layer, head]) for name, share in named.items()} for head in range(heads)]
        for layer in range(layers)
    ]


def visible(token: str) -> str:
    """Return a token with its spaces and line ends shown, so that `` the`` and ``the`` can be told apart."""
    return token.replace(" ", "␣").replace("\n", "↵").replace("\t", "→") or "∅"


def in_terminal(attention: Attention, layer: int, head: int) -> None:
    """Print one head as a map of characters, a row for every query; then the shares of all heads."""
    console = Console(highlight=False, markup=False, emoji=False, soft_wrap=True)
    names = [visible(token) for token in attention.tokens]
    width = max(map(len, names))
    console.print(f"layer {layer}, head {head}: each row is how much a token takes from itself and those before it\n")
    for name, row in zip(names, attention.weights[layer, head], strict=True):
        cells = [SHADES[min(int(weight * len(SHADES)), len(SHADES) - 1)] for weight in row]
        console.print(Text(f"{name:>{width}} |{''.join(2 * cell for cell in cells)}|"))
    console.print(f"\n{SHADES!r} from 0 to 1, in steps of {1 / len(SHADES)}")
    table = Table("layer", "head", box=None, pad_edge=False)
    rows = measured(attention)
    for name in rows[0][0]:
        table.add_column(name, justify="right")
    table.add_column("")
    for number, one_layer in enumerate(rows):
        for index, head_shares in enumerate(one_layer):
            percents = [f"{share:.0%}" for share in head_shares.values()]
            table.add_row(str(number), str(index), *percents, pattern(head_shares))
    console.print()
    console.print(table)


def attention_on(attention: Attention) -> Json:
    """Return the scores and the weights of every head, for a page: only weights that the mask allows, by rows."""
    length = len(attention.tokens)
    heads = measured(attention)
    return {
        "tokens": [visible(token) for token in attention.tokens],
        "shape": list(attention.weights.shape[:2]),
        "scores": packed(attention.scores),
        "weights": packed(attention.weights[..., *np.tril_indices(length)], 0, 1),
        "shares": [[{name: round(share, 4) for name, share in head.items()} for head in row] for row in heads],
        "patterns": [[pattern(head) for head in row] for row in heads],
    }
