"""The reference of warm-up 08: gradients one number at a time, in plain loops, and as slopes.

Two ways to the same numbers that share no line. The first is the chain rule written out with the derivative of every
number by every other; the second moves every number up and down and looks at what the forward pass of ``naive``
returns. The claims compare a file with both, so a mistake in either would refuse the solution.
"""

import math

import numpy as np

from tests.references import naive

MOVED = 1e-4  # up and down: the error of a slope is then about 1e-8 for numbers of size one


def slopes(function, array):
    """Return how fast ``function``, a number, grows with every number of ``array``."""
    out = np.empty(array.shape)
    for place in np.ndindex(array.shape):
        ends = []
        for sign in (1, -1):
            other = np.array(array)
            other[place] += sign * MOVED
            ends.append(function(other))
        out[place] = (ends[0] - ends[1]) / (2 * MOVED)
    return out


def total(one, other):
    """Return the sum of products of two arrays: a loss whose gradient by ``one`` is ``other``."""
    return sum(a * b for a, b in zip(one.ravel().tolist(), other.ravel().tolist(), strict=True))


def cross_entropy(logits, labels):
    """Return the mean of -log p over all rows, of logits of moderate size."""
    probabilities = naive.softmax(logits)
    rows = list(np.ndindex(labels.shape))
    return sum(-math.log(probabilities[(*row, int(labels[row]))]) for row in rows) / len(rows)


def cross_entropy_backward(logits, labels):
    """Return the gradient of the logits: every probability, less one if it is the label's, over the rows."""
    probabilities = naive.softmax(logits)
    out = np.empty(logits.shape)
    for *row, at in np.ndindex(logits.shape):
        right = 1 if at == labels[tuple(row)] else 0
        out[(*row, at)] = (probabilities[(*row, at)] - right) / labels.size
    return out


def product_backward(grad, left, right):
    """Return the gradients of both factors, a sum over every number of the product that a number is part of."""
    by_left, by_right = np.zeros(left.shape), np.zeros(right.shape)
    for *lead, row, column in np.ndindex(grad.shape):
        for at in range(left.shape[-1]):
            by_left[(*lead, row, at)] += grad[(*lead, row, column)] * right[(*lead, at, column)]
            by_right[(*lead, at, column)] += grad[(*lead, row, column)] * left[(*lead, row, at)]
    return by_left, by_right


def softmax_backward(grad, weights):
    """Return the gradient of the scores by every derivative of every weight: w_j (1 - w_j), or -w_j w_i."""
    out = np.zeros(weights.shape)
    for *row, by in np.ndindex(weights.shape):
        own = weights[(*row, by)]
        for at in range(weights.shape[-1]):
            other = weights[(*row, at)]
            out[(*row, by)] += grad[(*row, at)] * (own * (1 - own) if at == by else -own * other)
    return out


def attention_backward(grad, query, key, value, weights):
    """Return the gradients of query, key and value, score by score."""
    by_weights, by_value = product_backward(grad, weights, value)
    by_scores = softmax_backward(by_weights, weights) / math.sqrt(key.shape[-1])
    by_query, by_key = np.zeros(query.shape), np.zeros(key.shape)
    for *lead, asks, asked in np.ndindex(weights.shape):
        for at in range(key.shape[-1]):
            by_query[(*lead, asks, at)] += by_scores[(*lead, asks, asked)] * key[(*lead, asked, at)]
            by_key[(*lead, asked, at)] += by_scores[(*lead, asks, asked)] * query[(*lead, asks, at)]
    return by_query, by_key, by_value


def attention_slopes(grad, query, key, value):
    """Return the same from the forward pass alone: slopes of causal attention."""
    mask = naive.looks_back(query.shape[-2])
    return (
        slopes(lambda other: total(naive.attention(other, key, value, mask), grad), query),
        slopes(lambda other: total(naive.attention(query, other, value, mask), grad), key),
        slopes(lambda other: total(naive.attention(query, key, other, mask), grad), value),
    )
