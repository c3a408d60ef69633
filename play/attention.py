"""Show what the heads look at: as one HTML file that needs nothing else, or in the terminal."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from checker.course.steps import MODEL
from play.beginning import prepared
from play.files import require_writable, write


def show_attention(
    tell: Callable[[str], None],
    *,
    text_to_read: str,
    out: Path | None,
    text: bool,
    layer: int,
    head: int,
    model: str | Path,
    device: str,
    **own_steps: bool,
) -> None:
    """Draw the heads on a text, on standard output or in a file; ``tell`` which file.

    Raises:
        OSError: the file cannot be written.
        ValueError: the checkpoint cannot be read, the text is too long, or there is no such head or device; or the
            learner's steps cannot run: see :func:`play.beginning.prepared`, which ``own_steps`` are for.
    """
    out = out or (None if text else Path("attention.html"))
    require_writable(out)
    with prepared(tell, [MODEL], **own_steps):
        from play import pictures
        from play.attention_weights import read_attention
        from play.checkpoints import usable_checkpoint
        from play.widgets.packing import attention_on
        from play.widgets.page import as_html
        from solutions.checkpoint import read_config

        folder = usable_checkpoint(model)
        config = read_config(folder)
        if not (0 <= layer < config.n_layer and 0 <= head < config.n_head):
            there = f"layers 0 to {config.n_layer - 1}, with heads 0 to {config.n_head - 1}"
            raise ValueError(f"there is no layer {layer}, head {head}: there are {there}")
        attention = read_attention(text_to_read, folder, device)
    if text:
        pictures.in_terminal(attention, layer, head)
    if out:
        data = {"texts": [attention_on(attention)], "layer": layer, "head": head}
        write(out, as_html("attention", "What the heads look at", data).encode())
        tell(f"{out.absolute()} written; open it in a browser")
