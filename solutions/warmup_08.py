"""Warm-up 08: attention backward, where the loss sends a gradient to every query, key and value."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from solutions.warmup_01 import softmax


def softmax_cross_entropy(logits: np.ndarray, labels: np.ndarray) -> float:  # [..., classes], [...] of int -> a number
    """Return the loss: the mean of -log p over all rows, where p is what a row's softmax gives to its label."""
    shifted = logits - logits.max(axis=-1, keepdims=True)
    log_probs = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    return -float(np.take_along_axis(log_probs, labels[..., None], axis=-1).mean())


def finite_difference(f: Callable[[np.ndarray], float], x: np.ndarray, h: float = 1e-5) -> np.ndarray:  # [...] -> [...]
    """Return the gradient of ``f`` at ``x``: how fast ``f`` grows with each number of ``x``, the others held still.

    It needs two calls of ``f`` for every number of ``x``, so it is for small arrays: to check a gradient, not to train.

    Args:
        f: takes an array of the shape of ``x`` and returns one number.
        x: any shape, in double precision.
        h: how far each number is moved, up and down.
    """
    # Move each number up and down by h, and divide the difference of the two f by 2 h. (6 lines)
    gradient = np.empty(x.shape)
    for place in np.ndindex(x.shape):
        shift = np.zeros(x.shape)
        shift[place] = h
        gradient[place] = (f(x + shift) - f(x - shift)) / (2 * h)
    return gradient


def softmax_cross_entropy_backward(
    logits: np.ndarray, labels: np.ndarray
) -> np.ndarray:  # [..., classes], [...] of int -> [..., classes]
    """Return the gradient of ``softmax_cross_entropy`` with respect to the logits: ``p - y``, over the number of rows.

    ``p`` is the softmax of a row; ``y`` is 1 at the row's label and 0 elsewhere. The loss is a mean over all rows,
    whatever their axes, so every row's gradient is divided by their number.
    """
    # Build y from the labels, subtract it from the probabilities, divide by the number of rows. (2 lines)
    one_hot = labels[..., None] == np.arange(logits.shape[-1])  # [..., classes]
    return (softmax(logits) - one_hot) / labels.size


def matmul_backward(
    grad: np.ndarray, left: np.ndarray, right: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:  # [..., n, m], [..., n, k], [..., k, m] -> [..., n, k], [..., k, m]
    """Return the gradients of ``left`` and ``right``, where ``grad`` is the gradient of ``left @ right``.

    Each is ``grad`` times the other factor, on the side and with the axes swapped so that the shapes fit. ``left`` and
    ``right`` have the same axes in front.
    """
    # Find both: grad times the other factor, turned so that the shapes fit. (1 line)
    return grad @ np.swapaxes(right, -2, -1), np.swapaxes(left, -2, -1) @ grad


def softmax_backward(grad: np.ndarray, weights: np.ndarray) -> np.ndarray:  # 2 x [..., key] -> [..., key]
    """Return the gradient of the scores, where ``grad`` is the gradient of ``weights = softmax(scores)``.

    A weight can only grow at the cost of the others in its row. So a score receives its weight times how far its
    ``grad`` lies above the row's mean, which is taken with the weights themselves.
    """
    # Sum weights times grad over each row; return weights times what grad has beyond that. (2 lines)
    mean = (weights * grad).sum(axis=-1, keepdims=True)  # [..., 1]
    return weights * (grad - mean)


def causal_attention_backward(
    grad: np.ndarray, query: np.ndarray, key: np.ndarray, value: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:  # -> 2 x [..., seq, d_k], [..., seq, d_v]
    """Return the gradients of query, key and value, where ``grad`` is the gradient of what attention gathered.

    Going forward, the scores ``query @ key^T / sqrt(d_k)`` became weights, and ``weights @ value`` was gathered. The
    gradient comes back through the same three, the last one first. The mask needs no line here: its weights are 0, and
    ``softmax_backward`` multiplies by the weights.

    Args:
        grad: the gradient of ``weights @ value``, [..., seq, d_v].
        query: [..., seq, d_k].
        key: [..., seq, d_k].
        value: [..., seq, d_v].
        weights: what the softmax under the causal mask gave going forward, [..., seq, seq].
    """
    # Go back through weights @ value, the scaled softmax, and query @ key with its axes swapped. (4 lines)
    grad_weights, grad_value = matmul_backward(grad, weights, value)  # [..., seq, seq], [..., seq, d_v]
    grad_scores = softmax_backward(grad_weights, weights) / math.sqrt(key.shape[-1])
    grad_query, grad_key_t = matmul_backward(grad_scores, query, np.swapaxes(key, -2, -1))
    return grad_query, np.swapaxes(grad_key_t, -2, -1), grad_value
