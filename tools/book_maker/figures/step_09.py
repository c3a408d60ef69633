"""Figure of step 09: the block."""

from solutions.solution_01 import GPT2Config
from tools.book_maker.drawing.svg import Drawing
from tools.book_maker.values.arithmetic import parameters

MIDDLE, LEFT, NOTE = 114.0, 16.0, 196.0


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
