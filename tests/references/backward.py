"""The reference of the models that step 19 draws: GPT-2 in NumPy and float64, forward and back.

Every part returns what it computes and a function that goes back through it: given the gradient of the output, that
notes the gradients of the weights and returns the gradient of the input. No line is shared with the steps.
A mistake here would refuse the solutions, which other claims compare with what PyTorch's autograd has recorded.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

Array = np.ndarray
Back = Callable[[Array], Array]
Part = tuple[Array, Back]

TANH_FACTOR, CUBIC = math.sqrt(2 / math.pi), 0.044715  # of GPT-2's GELU


class GPT2:
    """A GPT-2, or some of its parts.

    Args:
        weights: by their names in a checkpoint, matrices as ``[out, in]``.
        n_head: number of heads.
        eps: what its norms add to the variance.

    Attributes:
        gradients: by the same names, those that a way back has noted.
    """

    def __init__(self, weights: Mapping[str, Array], n_head: int = 1, eps: float = 1e-5) -> None:
        self.weights = {name: weight.astype(np.float64) for name, weight in weights.items()}
        self.gradients = {name: np.zeros_like(weight) for name, weight in self.weights.items()}
        self.n_head, self.eps = n_head, eps

    def loss(self, input_ids: Array, labels: Array, ignored: int) -> float:  # twice [batch, seq] -> a number
        """Return the mean loss of the next tokens whose label is not ``ignored``, and note all gradients."""
        tokens, positions = "transformer.wte.weight", "transformer.wpe.weight"
        x = self.weights[tokens][input_ids] + self.weights[positions][: input_ids.shape[1]]
        ways = []
        layers = len({name.split(".")[2] for name in self.weights if name.startswith("transformer.h.")})
        for layer in range(layers):
            x, back = self.block(x, f"transformer.h.{layer}.")
            ways.append(back)
        final, back = self.norm(x, "transformer.ln_f.")
        ways.append(back)
        logits = final @ self.weights[tokens].T

        shifted = logits - logits.max(-1, keepdims=True)
        log_probabilities = shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))
        rows, columns = np.nonzero(labels[:, 1:] != ignored)
        wanted = labels[rows, columns + 1]
        by_logits = np.zeros_like(logits)
        by_logits[rows, columns] = np.exp(log_probabilities[rows, columns]) / len(rows)
        by_logits[rows, columns, wanted] -= 1 / len(rows)

        self.gradients[tokens] += np.einsum("bsv,bse->ve", by_logits, final)
        grad = through(ways, by_logits @ self.weights[tokens])
        np.add.at(self.gradients[tokens], input_ids, grad)
        self.gradients[positions][: input_ids.shape[1]] += grad.sum(0)
        return float(-log_probabilities[rows, columns, wanted].mean())

    def block(self, x: Array, name: str) -> Part:  # [batch, seq, embd] -> the same
        """Let each half add to what it takes."""
        middle, back_attention = self.around(x, f"{name}ln_1.", self.attention, f"{name}attn.")
        out, back_mlp = self.around(middle, f"{name}ln_2.", self.mlp, f"{name}mlp.")
        return out, lambda grad: back_attention(back_mlp(grad))

    def around(self, x: Array, norm: str, part: Callable[[Array, str], Part], name: str) -> Part:
        """Return x plus what a part makes of its norm."""
        normed, back_norm = self.norm(x, norm)
        branch, back_part = part(normed, name)
        return x + branch, lambda grad: grad + back_norm(back_part(grad))

    def attention(self, x: Array, name: str) -> Part:  # [batch, seq, embd] -> the same
        """Let every token gather from those up to itself."""
        batch, seq, embd = x.shape
        joined, back_joined = self.linear(x, f"{name}c_attn.")
        query, key, value = joined.reshape(batch, seq, 3, self.n_head, -1).transpose(2, 0, 3, 1, 4)
        scale = 1 / math.sqrt(query.shape[-1])
        scores = np.where(np.tri(seq, dtype=bool), query @ key.swapaxes(-2, -1) * scale, -np.inf)
        powers = np.exp(scores - scores.max(-1, keepdims=True))
        weights = powers / powers.sum(-1, keepdims=True)
        merged = (weights @ value).swapaxes(1, 2).reshape(batch, seq, embd)
        out, back_out = self.linear(merged, f"{name}c_proj.")

        def back(grad: Array) -> Array:
            heads = back_out(grad).reshape(batch, seq, self.n_head, -1).swapaxes(1, 2)
            by_weights = heads @ value.swapaxes(-2, -1)
            by_scores = weights * (by_weights - (by_weights * weights).sum(-1, keepdims=True)) * scale
            three = [by_scores @ key, by_scores.swapaxes(-2, -1) @ query, weights.swapaxes(-2, -1) @ heads]
            return back_joined(np.stack(three).transpose(1, 3, 0, 2, 4).reshape(batch, seq, 3 * embd))

        return out, back

    def mlp(self, x: Array, name: str = "") -> Part:  # [..., embd] -> the same
        """Widen, bend, narrow."""
        wide, back_wide = self.linear(x, f"{name}c_fc.")
        tanh = np.tanh(TANH_FACTOR * (wide + CUBIC * wide**3))
        out, back_out = self.linear(0.5 * wide * (1 + tanh), f"{name}c_proj.")
        slope = 0.5 * (1 + tanh) + 0.5 * wide * (1 - tanh**2) * TANH_FACTOR * (1 + 3 * CUBIC * wide**2)
        return out, lambda grad: back_wide(back_out(grad) * slope)

    def norm(self, x: Array, name: str) -> Part:  # [..., embd] -> the same
        """Give every row mean 0 and variance 1, then gain and bias."""
        weight = self.weights[f"{name}weight"]
        deviation = np.sqrt(x.var(-1, keepdims=True) + self.eps)
        normed = (x - x.mean(-1, keepdims=True)) / deviation

        def back(grad: Array) -> Array:
            axes = tuple(range(grad.ndim - 1))
            self.gradients[f"{name}weight"] += (grad * normed).sum(axes)
            self.gradients[f"{name}bias"] += grad.sum(axes)
            inner = grad * weight
            along = normed * (inner * normed).mean(-1, keepdims=True)
            return (inner - inner.mean(-1, keepdims=True) - along) / deviation

        return normed * weight + self.weights[f"{name}bias"], back

    def linear(self, x: Array, name: str) -> Part:  # [..., in] -> [..., out]
        """Multiply by a matrix, and add a bias."""
        weight = self.weights[f"{name}weight"]

        def back(grad: Array) -> Array:
            rows = grad.reshape(-1, grad.shape[-1])
            self.gradients[f"{name}weight"] += rows.T @ x.reshape(-1, x.shape[-1])
            self.gradients[f"{name}bias"] += rows.sum(0)
            return grad @ weight

        return x @ weight.T + self.weights[f"{name}bias"], back


def through(ways: Sequence[Back], grad: Array) -> Array:
    """Go back through several parts, the last one first."""
    for back in reversed(ways):
        grad = back(grad)
    return grad
