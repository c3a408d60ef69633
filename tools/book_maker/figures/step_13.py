"""The figure of step 13: what happens to each name of a published checkpoint."""

import numpy as np

from solutions.solution_01 import GPT2Config
from solutions.solution_13 import convert_checkpoint
from tools.book_maker.drawing.svg import Kind, arrow, box, figure, text

GPT2 = GPT2Config(n_layer=1)


def names() -> str:
    """Draw the tensors of one layer of GPT-2 small: name and shape in the file, what is done, name in the model."""
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
    parts = [
        text(10, 14, "in the file", anchor="start", bold=True, size="small"),
        text(335, 14, "what is done", bold=True, size="small"),
        text(404, 14, "in the model", anchor="start", bold=True, size="small"),
    ]
    rows: list[tuple[str, tuple[int, ...], str, Kind, np.ndarray | None]] = []
    for name, array in empty.items():
        made = converted.get(f"transformer.{name}")
        done: tuple[str, Kind] = ("transpose", "accent")
        if made is None:
            done = ("skip", "masked")
        elif made is array:
            done = ("copy", "plain")
        rows.append((name, array.shape, *done, made))
    rows.append(("wte.weight, again", empty["wte.weight"].shape, "tie", "value", converted["lm_head.weight"]))
    for at, (name, shape, action, kind, made) in enumerate(rows):
        top = 28 + 40 * at
        parts.append(text(10, top + 9, name, anchor="start", size="small", mono=True))
        parts.append(text(10, top + 25, str(list(shape)), anchor="start", size="small", kind="muted"))
        parts.append(arrow(232, top + 15, 280, top + 15))
        parts.append(box(280, top, 110, 30, action, kind=kind, size="small"))
        if made is not None:
            stored = "lm_head.weight" if action == "tie" else name
            parts.append(text(404, top + 9, stored, anchor="start", size="small", mono=True))
            parts.append(text(404, top + 25, str(list(made.shape)), anchor="start", size="small", kind="muted"))
    title = "Which tensors of a checkpoint are copied, transposed, skipped or tied"
    return figure(630, 28 + 40 * len(rows), *parts, title=title)
