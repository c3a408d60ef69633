"""Show what the heads look at: as one HTML file that needs nothing else, or in the terminal."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from checker.course.steps import LLAMA, MODEL
from checker.files import require_writable, write
from play.smollm2 import is_llama, llama_file
from play.startup import ready_to_run


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
        ValueError: the model cannot be fetched or read, the text is too long, or there is no such head or device; or
            the learner's steps cannot run: see :func:`play.startup.ready_to_run`, which ``own_steps`` are for.
    """
    out = out or (None if text else Path("attention.html"))
    require_writable(out)
    llama = is_llama(model)
    with ready_to_run(tell, LLAMA if llama else [MODEL], **own_steps):
        from play.attention.pictures import attention_on, in_terminal
        from play.attention.weights import read_attention, read_attention_of_llama
        from play.browser.page import as_html
        from play.checkpoints import usable_checkpoint, usable_llama
        from solutions.checkpoint import read_config

        if llama:
            file = llama_file(model, tell)
            sizes, _ = usable_llama(file)
            require_head(layer, head, sizes.num_hidden_layers, sizes.num_attention_heads)
            attention = read_attention_of_llama(text_to_read, file, device)
        else:
            folder = usable_checkpoint(model)
            config = read_config(folder)
            require_head(layer, head, config.n_layer, config.n_head)
            attention = read_attention(text_to_read, folder, device)
    if text:
        in_terminal(attention, layer, head)
    if out:
        data = {"texts": [attention_on(attention)], "layer": layer, "head": head}
        write(out, as_html("attention", "What the heads look at", data).encode())
        tell(f"{out.absolute()} written; open it in a browser")


def require_head(layer: int, head: int, layers: int, heads: int) -> None:
    """Refuse a layer or a head that the model does not have.

    Raises:
        ValueError: there is no such head.
    """
    if not (0 <= layer < layers and 0 <= head < heads):
        there = f"layers 0 to {layers - 1}, with heads 0 to {heads - 1}"
        raise ValueError(f"there is no layer {layer}, head {head}: there are {there}")
