"""Show what the heads look at: as one HTML file that needs nothing else, or in the terminal."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from checker.course.steps import LLAMA, MODEL
from checker.device import DeviceKind
from checker.errors import UserError
from checker.files import require_writable, write_durably
from play.mine.choice import OwnSteps
from play.smollm2 import is_llama, llama_file
from play.startup import Tell, ready_to_run

if TYPE_CHECKING:  # at run time only once it is decided whose modules it imports
    from play.attention.weights import Attention


def show_attention(
    tell: Tell,
    *,
    text_to_read: str,
    out: Path | None,
    text: bool,
    layer: int,
    head: int,
    model: str | Path,
    device: DeviceKind,
    own: OwnSteps | None,
) -> None:
    """Draw the heads' weights on a text, on standard output or in a file; ``tell`` which file.

    Raises:
        OSError: the file cannot be written.
        ValueError: the model cannot be fetched or read, the text is too long, or there is no such head or device; or
            the learner's steps cannot run: see :func:`play.startup.ready_to_run`.
    """
    out = out or (None if text else Path("attention.html"))
    require_writable(out)
    needed = LLAMA if is_llama(model) else [MODEL]
    with ready_to_run(tell, needed, own):
        from play.attention.pictures import attention_on, in_terminal
        from play.browser.page import as_html

        if is_llama(model):
            attention = heads_of_llama(text_to_read, llama_file(model, tell), layer, head, device)
        else:
            attention = heads_of_gpt2(text_to_read, model, layer, head, device)
    if text:
        in_terminal(attention, layer, head)
    if out:
        data = {"texts": [attention_on(attention)], "layer": layer, "head": head}
        write_durably(out, as_html("attention", "What the heads look at", data).encode())
        tell(f"{out.absolute()} written; open it in a browser")


def heads_of_llama(text: str, file: Path, layer: int, head: int, device: DeviceKind) -> Attention:
    """Return the attention weights of a Llama on a text, if it has this head."""
    from play.attention.weights import read_attention_of_llama
    from play.checkpoints import usable_llama

    config, _ = usable_llama(file)
    require_head(layer, head, config.num_hidden_layers, config.num_attention_heads)
    return read_attention_of_llama(text, file, device)


def heads_of_gpt2(text: str, model: str | Path, layer: int, head: int, device: DeviceKind) -> Attention:
    """Return the attention weights of a GPT-2 on a text, if it has this head."""
    from play.attention.weights import read_attention
    from play.checkpoints import usable_checkpoint
    from solutions.checkpoint import read_config

    folder = usable_checkpoint(model)
    config = read_config(folder)
    require_head(layer, head, config.n_layer, config.n_head)
    return read_attention(text, folder, device)


def require_head(layer: int, head: int, layers: int, heads: int) -> None:
    """Refuse a layer or a head that the model does not have.

    Raises:
        UserError: there is no such head.
    """
    if not (0 <= layer < layers and 0 <= head < heads):
        there = f"layers 0 to {layers - 1}, with heads 0 to {heads - 1}"
        raise UserError(f"there is no layer {layer}, head {head}: there are {there}")
