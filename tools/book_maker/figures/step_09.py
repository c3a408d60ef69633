"""Figures of step 09: the block, and the shape of everything in it."""

from play.whale import read
from solutions.solution_01 import GPT2Config
from tools.book_maker.drawing.svg import Drawing
from tools.book_maker.values.arithmetic import parameters
from tools.book_maker.values.book_values import config as small

MIDDLE, LEFT, NOTE = 114.0, 16.0, 196.0
CHANNELS = 6  # to a pixel of the trace
PITCH = 31


def block(draw: Drawing) -> None:
    """A block: attention with its norm and residual, then the feed-forward network with its own."""
    config = GPT2Config()
    counted, norm = parameters(config), 2 * config.n_embd  # a gain and a bias a channel

    def half(bottom: float, norm_name: str, name: str, weights: int, does: str, kind: str) -> None:
        """Draw a norm and a sublayer with the residual around them; 170 high."""
        first = draw.box(MIDDLE - 64, bottom - 62, 128, 34, norm_name, mono=True)
        sublayer = draw.box(MIDDLE - 64, bottom - 116, 128, 34, name, kind, mono=True)
        join = bottom - 142
        draw.arrow((MIDDLE, bottom), first.bottom)
        draw.text(NOTE, bottom - 45, f"{norm:,} weights", "start")
        draw.arrow(first.top, sublayer.bottom)
        draw.text(NOTE, bottom - 99, f"{does}\n{weights:,} weights", "start")
        draw.arrow(sublayer.top, (MIDDLE, join + 10))
        draw.circle(MIDDLE, join, 10, "+")
        fork = bottom - 12
        draw.arrow((MIDDLE, fork), (LEFT, fork), (LEFT, join), (MIDDLE - 10, join), kind="accent")

    for y in (14, 372):
        draw.text(MIDDLE, y, "hidden_states", size="normal", mono=True)
        draw.text(NOTE, y, f"[batch, seq, {config.n_embd}]", "start", mono=True)
    draw.arrow((MIDDLE, 56), (MIDDLE, 26))
    half(208, "ln_2", "mlp", counted["mlp"] // config.n_layer, "each token by itself", "key")
    half(360, "ln_1", "attn", counted["attention"] // config.n_layer, "tokens look back at each other", "query")


def trace(draw: Drawing) -> None:
    """Every tensor in the first block of the small model on our sentence, from the top, as wide as it has channels."""
    whale = read()
    heads = (*whale["h.0.attn.weights"].shape[:2], small.head_dim)  # [head, seq, head_dim]
    rows = [
        ("the block's input", whale["embedding"].shape, "plain"),
        ("ln_1", whale["h.0.ln_1"].shape, "plain"),
        ("c_attn", whale["h.0.attn.c_attn"].shape, "query"),
        ("query, in heads", heads, "query"),
        ("key, and value", heads, "key"),
        ("scores: query by key", whale["h.0.attn.scores"].shape, "accent"),
        ("mask, and softmax", whale["h.0.attn.weights"].shape, "accent"),
        ("weights by value", heads, "value"),
        ("heads merged", whale["embedding"].shape, "value"),
        ("c_proj", whale["h.0.attn.c_proj"].shape, "query"),
        ("added to the input", whale["embedding"].shape, "plain"),
        ("ln_2", whale["h.0.ln_2"].shape, "plain"),
        ("c_fc, then GELU", whale["h.0.mlp.c_fc"].shape, "key"),
        ("c_proj", whale["h.0.mlp.c_proj"].shape, "key"),
        ("added: the output", whale["h.0"].shape, "plain"),
    ]
    for at, (name, (*copies, seq, channels), kind) in enumerate(rows):
        middle, width = PITCH * at, channels / CHANNELS
        draw.text(0, middle, name, "end")
        for copy in range(copies[0] if copies else 1):
            draw.box(12 + copy * (width + 6), middle - seq / 2, width, seq, kind=kind, round=0)
        draw.text(192, middle, str([*copies, seq, channels]), "start", mono=True)
    for start, end in (0, 10), (10, 14):  # what goes around attention, and around the feed-forward network
        above, below = PITCH * start + 4, PITCH * end - 4
        draw.arrow((276, above), (288, above), (288, below), (276, below), kind="accent")
