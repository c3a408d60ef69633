"""Step 03: layer normalization, which brings every token to mean 0 and variance 1, then scales and shifts it."""

from __future__ import annotations

from max.experimental import functional as F
from max.experimental.nn import Module
from max.experimental.tensor import Tensor


class LayerNorm(Module[[Tensor], Tensor]):
    """Normalize every token to mean 0 and variance 1, then scale and shift each channel.

    ``(x - mean) / sqrt(variance + eps) * weight + bias``, with the mean and variance of one token's channels; the
    variance is divided by ``dim``, not ``dim - 1``. Source: Ba et al., "Layer Normalization" (2016).
    """

    def __init__(self, dim: int, *, eps: float = 1e-5) -> None:
        self.eps = eps
        # TODO: Make the parameters weight (ones) and bias (zeros), one number per channel. (2 lines)
        raise NotImplementedError

    def forward(self, x: Tensor) -> Tensor:  # [..., dim] -> [..., dim]
        """Normalize over the last axis."""
        # TODO: Apply the formula above to every token; F.mean keeps the axis. (3 lines)
        raise NotImplementedError
