"""The figure of step 13: what happens to each name of a published checkpoint."""

import numpy as np

from solutions.solution_01 import GPT2Config
from solutions.solution_13 import convert_checkpoint
from tools.book_maker.drawing.svg import Drawing

GPT2 = GPT2Config(n_layer=1)


def names(draw: Drawing) -> None:
    """Which tensors of a checkpoint are copied, transposed, skipped or tied."""
    width, inner = GPT2.n_embd, GPT2.n_inner or 0
    published = {
        "wte.weight": (GPT2.vocab_size, width),
        "wpe.weight": (GPT2.n_positions, width),
        "h.0.ln_1.weight": (width,),
        "h.0.attn.bias": (1, 1, GPT2.n_positions, GPT2.n_positions),
        "h.0.attn.c_attn.weight": (width, 3 * width),
        "h.0.attn.c_attn.bias": (3 * width,),
        "h.0.attn.c_proj.weight": (width, width),
        "h.0.mlp.c_fc.weight": (width, inner),
        "h.0.mlp.c_proj.weight": (inner, width),
    }
    empty = {name: np.broadcast_to(np.float32(0), shape) for name, shape in published.items()}
    converted = convert_checkpoint(empty)
    draw.text(10, 14, "in the file", "start", bold=True)
    draw.text(335, 14, "what is done", bold=True)
    draw.text(404, 14, "in the model", "start", bold=True)
    top = 28

    def row(name: str, array: np.ndarray, action: str, kind: str, stored: str, made: np.ndarray | None) -> None:
        nonlocal top
        for x, words, shape in ((10, name, array.shape), (404, stored, made.shape if made is not None else None)):
            if shape is not None:
                draw.text(x, top + 9, words, "start", mono=True)
                draw.text(x, top + 25, str(list(shape)), "start", kind="muted")
        draw.arrow((232, top + 15), (280, top + 15))
        draw.box(280, top, 110, 30, action, kind, size="small")
        top += 40

    for name, array in empty.items():
        made = converted.get(f"transformer.{name}")
        action = ("skip", "masked") if made is None else ("copy", "plain") if made is array else ("transpose", "accent")
        row(name, array, *action, name, made)
    head = converted["lm_head.weight"]
    row("wte.weight, again", empty["wte.weight"], "tie", "value", "lm_head.weight", head)
