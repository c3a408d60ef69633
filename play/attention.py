"""Show what the heads look at: as one HTML file that needs nothing else, as a picture, or in the terminal."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from play.own_steps import use_mine


def show_attention(
    tell: Callable[[str], None],
    *,
    text_to_read: str,
    out: Path | None,
    png: Path | None,
    text: bool,
    layer: int,
    head: int,
    model: str | Path,
    mine: bool,
    fill_in: bool,
    anyway: bool,
) -> None:
    """Draw the heads on a text, on standard output or in files; ``tell`` which file.

    Raises:
        NotWritten: steps are not complete, and the reference may not stand in.
        WasRefused: a check said no to a step, which may not run anyway.
        OSError: a file cannot be written.
        ValueError: the checkpoint cannot be read, the text is too long, or there is no such head.
    """
    for words in use_mine(fill_in=fill_in, anyway=anyway) if mine else []:
        tell(words)
    from checker.max_adapter.runtime import listeners, notices, prepare
    from checker.session.waiting import telling_of_compiling
    from play import pictures
    from play.attention_weights import read_attention
    from play.widgets.page import as_html

    prepare()
    with telling_of_compiling(listeners):
        attention = read_attention(text_to_read, model)
    for notice in notices:
        tell(notice)
    layers, heads = attention.weights.shape[:2]
    if not (0 <= layer < layers and 0 <= head < heads):
        there = f"layers 0 to {layers - 1}, with heads 0 to {heads - 1}"
        raise ValueError(f"there is no layer {layer}, head {head}: there are {there}")
    if text:
        pictures.in_terminal(attention, layer, head)
    if png:
        pictures.as_png(attention, png)
        tell(f"{png} written")
    if out or not (text or png):
        out = out or Path("attention.html")
        out.write_text(as_html(attention, layer, head), encoding="utf-8")
        tell(f"{out} written; open it in a browser")
