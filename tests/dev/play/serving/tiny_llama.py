"""A Llama of two blocks with random weights, in a GGUF file such as a model comes in."""

from __future__ import annotations

import gguf
import numpy as np

from checker.numeric.references import seeded_weights
from solutions.llama_files import SIZES
from tests.test_step_27 import CONTROL, END, FIELDS, TOKENS

CONFIG = dict(
    vocab_size=len(TOKENS), max_position_embeddings=512, hidden_size=36, intermediate_size=22, num_hidden_layers=2,
    num_attention_heads=6, num_key_value_heads=2, head_dim=10, rms_norm_eps=1e-3, rope_theta=50.0,
)  # fmt: skip
QUERIES, KEYS = (CONFIG[heads] * CONFIG["head_dim"] for heads in ("num_attention_heads", "num_key_value_heads"))
WIDTH, INNER, VOCAB = CONFIG["hidden_size"], CONFIG["intermediate_size"], CONFIG["vocab_size"]
SHAPES = {
    "attn_norm": [WIDTH], "attn_q": [QUERIES, WIDTH], "attn_k": [KEYS, WIDTH], "attn_v": [KEYS, WIDTH],
    "attn_output": [WIDTH, QUERIES], "ffn_norm": [WIDTH], "ffn_gate": [INNER, WIDTH], "ffn_up": [INNER, WIDTH],
    "ffn_down": [WIDTH, INNER],
}  # fmt: skip


def write(file, *, answers=True, leave_out=None):
    """Write the file; unless it ``answers``, it has no tokens of ChatML, and a weight may be left out.

    The head makes letters, and now and then the end of a turn, so that texts are read in whole characters.
    """
    shapes = {"token_embd": [VOCAB, WIDTH], "output_norm": [WIDTH], "output": [VOCAB, WIDTH]}
    for block in range(CONFIG["num_hidden_layers"]):
        shapes |= {f"blk.{block}.{name}": shape for name, shape in SHAPES.items()}
    weights = seeded_weights({f"{name}.weight": tuple(shape) for name, shape in shapes.items()})
    ends = np.array([2.0 if token == END else token.isascii() and token not in CONTROL for token in TOKENS])
    weights["output.weight"] *= ends.astype(np.float32)[:, None]
    writer = gguf.GGUFWriter(file, "llama")
    for size, name in SIZES.items():
        add = writer.add_uint32 if isinstance(CONFIG[size], int) else writer.add_float32
        add(f"llama.{name}", CONFIG[size])
    for name, value in FIELDS.items():
        if isinstance(value, str):
            writer.add_string(name, value)
        else:
            renamed = [token if answers else token.replace("|im_", "|no_") for token in map(str, value)]
            writer.add_array(name, value if name.endswith("type") else renamed)
    writer.add_eos_token_id(TOKENS.index("<|endoftext|>"))
    weights.pop(f"{leave_out}.weight", None)
    for name, weight in weights.items():
        writer.add_tensor(name, weight)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return file
