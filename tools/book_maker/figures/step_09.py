"""Figure of step 09: the block."""

from __future__ import annotations

from solutions.solution_01 import GPT2Config
from tools.book_maker.drawing import svg
from tools.book_maker.values.arithmetic import parameters


def block() -> str:
    """Draw the data flow of one block, from the bottom up, with the number of weights of each part in GPT-2 small."""
    config = GPT2Config()
    counted = parameters(config)
    norm = 2 * config.n_embd  # a gain and a bias a channel
    weights = {
        "ln_1": norm,
        "attn": counted["attention"] // config.n_layer,
        "ln_2": norm,
        "mlp": counted["mlp"] // config.n_layer,
    }
    middle, left, note = 114.0, 16.0, 196.0

    def half(bottom: float, norm_name: str, name: str, what: str, kind: svg.Kind) -> str:
        """Draw a norm and a sublayer with the residual around them; 170 high."""

        def part(y: float, words: str, kind: svg.Kind = "plain") -> str:
            return svg.box(middle - 64, y, 128, 34, words, mono=True, kind=kind)

        return "\n".join(
            [
                svg.arrow(middle, bottom, middle, bottom - 28),
                part(bottom - 62, norm_name),
                svg.text(note, bottom - 45, f"{weights[norm_name]:,} weights", anchor="start", size="small"),
                svg.arrow(middle, bottom - 62, middle, bottom - 82),
                part(bottom - 116, name, kind),
                svg.text(note, bottom - 107, what, anchor="start", size="small"),
                svg.text(note, bottom - 91, f"{weights[name]:,} weights", anchor="start", size="small"),
                svg.arrow(middle, bottom - 116, middle, bottom - 132),
                svg.circle(middle, bottom - 142, 10, "+"),
                svg.polyline(
                    [
                        (middle, bottom - 12),
                        (left, bottom - 12),
                        (left, bottom - 142),
                        (middle - 10, bottom - 142),
                    ],
                    head=True,
                    kind="accent",
                ),
            ]
        )

    return svg.figure(
        420,
        384,
        svg.text(middle, 14, "hidden_states", mono=True),
        svg.arrow(middle, 56, middle, 26),
        svg.text(note, 14, f"[batch, seq, {config.n_embd}]", anchor="start", size="small", mono=True),
        half(208, "ln_2", "mlp", "each token by itself", "key"),
        half(360, "ln_1", "attn", "tokens look back at each other", "query"),
        svg.text(middle, 372, "hidden_states", mono=True),
        svg.text(note, 372, f"[batch, seq, {config.n_embd}]", anchor="start", size="small", mono=True),
        title="A block: attention with its norm and residual, then the feed-forward network with its own",
    )
