"""The figure of step 25: which query heads share a key-value head."""

from solutions.llama_config import LlamaConfig
from tools.book_maker.drawing.svg import Drawing

PITCH, WIDTH = 46.0, 38.0


def groups(draw: Drawing) -> None:
    """Nine query heads in a row, and below each three of them one key-value head, drawn as two boxes."""
    config = LlamaConfig()
    group = config.num_attention_heads // config.num_key_value_heads
    draw.text(-14, 15, "queries", "end", bold=True)
    draw.text(-14, 85, "keys", "end", bold=True)
    draw.text(-14, 121, "values", "end", bold=True)
    for shared in range(config.num_key_value_heads):
        left = shared * (group * PITCH + 14)
        width = (group - 1) * PITCH + WIDTH
        key = draw.box(left, 70, width, 30, str(shared), "key", mono=True)
        draw.box(left, 106, width, 30, str(shared), "value", mono=True)
        for at in range(group):
            query = draw.box(left + at * PITCH, 0, WIDTH, 30, str(shared * group + at), "query", mono=True)
            draw.arrow(query.bottom, (query.bottom[0], key.y))
