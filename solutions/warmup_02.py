"""Warm-up 02: self-attention that can learn, with matrices for query, key and value, and scaled scores."""

from __future__ import annotations

import math

import numpy as np

from solutions.warmup_01 import attention_scores, context_vectors, softmax


def project(
    x: np.ndarray, W_query: np.ndarray, W_key: np.ndarray, W_value: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:  # [..., seq, d_in], 3 x [d_in, d_out] -> 3 x [..., seq, d_out]
    """Return the query, key and value of every token, each by a matrix of its own.

    The matrices are [d_in, d_out] and stand to the right of ``x``, as in GPT-2's checkpoint. PyTorch's ``Linear`` keeps
    them the other way around and transposes them itself.
    """
    # Ask every token for all three, in this order. (1 line)
    return x @ W_query, x @ W_key, x @ W_value


def scaled_scores(
    query: np.ndarray, key: np.ndarray
) -> np.ndarray:  # [..., query, d_k], [..., key, d_k] -> [..., query, key]
    """Return attention scores whose size does not grow with ``d_k``, the width of a key.

    A dot product of ``d_k`` independent terms of variance one has variance ``d_k``; over ``sqrt(d_k)`` it is one again.
    Larger scores would push the softmax toward 0 and 1, where its gradient vanishes. Source: Vaswani et al., "Attention
    Is All You Need" (2017), section 3.2.1.
    """
    # Keep the size of the scores from growing with d_k. (1 line)
    return attention_scores(query, key) / math.sqrt(key.shape[-1])


def self_attention(
    x: np.ndarray, W_query: np.ndarray, W_key: np.ndarray, W_value: np.ndarray
) -> np.ndarray:  # [..., seq, d_in], 3 x [d_in, d_out] -> [..., seq, d_out]
    """Let every token gather from all tokens what its query asks for: ``softmax(Q K^T / sqrt(d_k)) V``."""
    # Weigh every token by how well its key fits the query, and gather. (3 lines)
    query, key, value = project(x, W_query, W_key, W_value)
    weights = softmax(scaled_scores(query, key))
    return context_vectors(weights, value)
