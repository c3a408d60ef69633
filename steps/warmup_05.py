"""Warm-up 05: multi-head attention, put together from the warm-ups before it."""

from __future__ import annotations

import numpy as np

from solutions.warmup_01 import context_vectors
from solutions.warmup_03 import attention_weights
from solutions.warmup_04 import merge_heads, split_heads


def fuse(
    W_query: np.ndarray, W_key: np.ndarray, W_value: np.ndarray
) -> np.ndarray:  # 3 x [embd, embd] -> [embd, 3 * embd]
    """Lay the matrices for query, key and value side by side, so that one multiplication does for all three."""
    # TODO: Join the three, in this order. (1 line)
    raise NotImplementedError


def project_fused(
    x: np.ndarray, W_qkv: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:  # [..., seq, embd], [embd, 3 * embd] -> 3 x [..., seq, embd]
    """Return query, key and value of every token by one multiplication: warm-up 02's ``project`` needs three."""
    # TODO: Multiply once, then cut the channels into three equal parts. (2 lines)
    raise NotImplementedError


def multi_head_attention(
    x: np.ndarray, W_qkv: np.ndarray, W_o: np.ndarray, n_head: int, mask: np.ndarray | None = None
) -> np.ndarray:  # [..., seq, embd], [embd, 3 * embd], [embd, embd], [seq, seq] of bool -> [..., seq, embd]
    """Let ``n_head`` heads attend side by side, each to its own slice of the channels; mix their outputs with ``W_o``.

    The mask is True where a token may attend; None allows everything. GPT-2 adds a bias after each of the two
    multiplications; step 07 has them. Raise ValueError, naming both numbers, if ``n_head`` does not divide the width of
    a query. Source: Vaswani et al., "Attention Is All You Need" (2017), section 3.2.2.
    """
    # TODO: Let every head attend by itself, then mix what all of them gathered. (4 lines)
    raise NotImplementedError


def parameter_count(n_embd: int, *, bias: bool = False) -> int:
    """Return how many numbers one attention layer learns; the number of heads does not matter.

    In GPT-2 small it is 2,362,368 with biases, and its 12 layers make 23% of the model's 124 million.
    """
    # TODO: Count the numbers in the two matrices and, if there are any, in the biases. (3 lines)
    raise NotImplementedError
