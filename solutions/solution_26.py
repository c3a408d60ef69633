"""Step 26: published weights, from llama.cpp's numbers, order and names to those of Hugging Face's Llama."""

from __future__ import annotations

import numpy as np

from solutions.checkpoint import HEAD, Weights  # "lm_head.weight"; a dict of arrays by their names
from solutions.llama_config import LlamaConfig
from solutions.quantized import dequantize as dequantize_others
from solutions.solution_22 import BLOCK_SIZE

EMBEDDINGS = "model.embed_tokens.weight"

#: The 20-byte blocks of llama.cpp's Q4_1, its ``d``, ``m`` and ``qs``; the extra axes let the first two broadcast.
#: A field of blocks ``[...]`` is an array: ``blocks["packed"]`` is ``[..., 16]``.
Q4_1 = np.dtype([("scale", np.float16, (1,)), ("minimum", np.float16, (1,)), ("packed", np.uint8, (BLOCK_SIZE // 2,))])

#: What llama.cpp calls the layers of a model, and their names in Hugging Face's ``LlamaForCausalLM``.
LAYERS = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}

#: The same for the layers of a transformer block, which llama.cpp keeps as ``blk.3.attn_q.weight``.
BLOCK_LAYERS = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}


def dequantize_q4_1(blocks: np.ndarray) -> np.ndarray:  # [...] of Q4_1 -> float32 [..., 32]
    """Return the weights that blocks stand for: the minimum of the block plus 0 to 15 times its scale.

    As in Q4_0, the first 16 quants are the low halves of the 16 bytes, ``& 15``, and the last 16 the high halves,
    ``>> 4``.
    """
    # Put all low halves before all high ones; multiply by the scale and add the minimum, as float32. (3 lines)
    quants = np.concatenate([blocks["packed"] & 15, blocks["packed"] >> 4], axis=-1)
    scale, minimum = blocks["scale"].astype(np.float32), blocks["minimum"].astype(np.float32)  # [..., 1]
    return scale * quants + minimum


def dequantize(weight: np.ndarray) -> np.ndarray:  # [out, in / 32] of blocks -> [out, in]; others as they are
    """Return the numbers of a weight, whether it is in blocks of Q4_1, in other blocks, or in none."""
    if weight.dtype == Q4_1:
        return dequantize_q4_1(weight).reshape(len(weight), -1)
    return dequantize_others(weight)


def unpermute(weight: np.ndarray, heads: int) -> np.ndarray:  # [heads * head_dim, ...] -> as weight
    """Bring the rows of each head of ``q_proj`` or ``k_proj`` back into Hugging Face's order.

    Hugging Face rotates the channels ``i`` and ``i + head_dim / 2`` together. For a Llama, llama.cpp rotates neighbors,
    so its converter has put row ``i`` of each head at ``2 * i``, and row ``i + head_dim / 2`` at ``2 * i + 1``.
    """
    # In each head, bring the first row of every pair to the front, the second ones after them. (3 lines)
    pairs = weight.reshape(heads, -1, 2, *weight.shape[1:])  # [heads, head_dim / 2, 2, ...]
    halves = pairs.swapaxes(1, 2)  # [heads, 2, head_dim / 2, ...]
    return halves.reshape(weight.shape)


def hugging_face_name(name: str) -> str:
    """Return Hugging Face's name of a weight.

    That of ``blk.3.attn_q.weight`` is ``model.layers.3.self_attn.q_proj.weight``. The name of a weight outside the
    blocks has two parts: ``output_norm.weight`` is ``model.norm.weight``.
    """
    # Cut at the dots; look up the layer. In a block, the name also has the block's number. (4 lines)
    *block, layer, suffix = name.split(".")
    if block:
        return f"model.layers.{block[1]}.{BLOCK_LAYERS[layer]}.{suffix}"
    return f"{LAYERS[layer]}.{suffix}"


def convert_llama(weights: Weights, config: LlamaConfig) -> Weights:
    """Return the weights of a GGUF file as those of a ``LlamaForCausalLM``, by its names and in float32.

    Without a head of its own, a model uses its embeddings as head.
    """
    head_counts = {"q_proj": config.num_attention_heads, "k_proj": config.num_key_value_heads}
    converted: Weights = {}
    # For each weight: its name, its numbers; unpermute those of q_proj and k_proj. Tie a missing head. (5 lines)
    for gguf_name, weight in weights.items():
        name, numbers = hugging_face_name(gguf_name), dequantize(weight)
        layer = name.split(".")[-2]
        converted[name] = unpermute(numbers, head_counts[layer]) if layer in head_counts else numbers
    return {HEAD: converted[EMBEDDINGS]} | converted
