"""Warm-up 01: attention without weights, where every token gathers most from the tokens that fit it."""

from __future__ import annotations

import numpy as np


def attention_scores(
    query: np.ndarray, key: np.ndarray
) -> np.ndarray:  # [..., query, channel], [..., key, channel] -> [..., query, key]
    """Return how well every query fits every key: their dot product, which is larger the more they agree.

    The dots stand for any axes in front: none here, batch and head later.
    """
    # TODO: Multiply query by key with the last two axes of key swapped. (1 line)
    raise NotImplementedError


def softmax(scores: np.ndarray) -> np.ndarray:  # [..., key] -> [..., key]
    """Turn every row of scores into weights: nonnegative, summing to 1, and larger for a larger score.

    The weight of score s_i is ``exp(s_i) / (exp(s_1) + exp(s_2) + ...)``. Subtracting the row's largest score from all
    of them leaves that quotient as it is, and without it ``exp(1000)`` would be infinite.
    """
    # TODO: Subtract each row's largest score, take exp, divide by the row's sum. (3 lines)
    raise NotImplementedError


def context_vectors(
    weights: np.ndarray, value: np.ndarray
) -> np.ndarray:  # [..., query, key], [..., key, channel] -> [..., query, channel]
    """Return what every query gathers: the sum of all values, each multiplied by its weight."""
    # TODO: Multiply the weights by the values. (1 line)
    raise NotImplementedError


def simple_self_attention(x: np.ndarray) -> np.ndarray:  # [..., seq, channel] -> [..., seq, channel]
    """Let every token gather from all tokens, itself included; its vector is query, key and value at once.

    Nothing here can learn. Source: the first variant in Raschka, "Build a Large Language Model (From Scratch)" (2024),
    section 3.3.
    """
    # TODO: Score x against itself, take the softmax, and gather x by these weights. (2 lines)
    raise NotImplementedError
