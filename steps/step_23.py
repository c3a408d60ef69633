"""Step 23: RMS norm and a gate, what a Llama block does to each token alone."""

from __future__ import annotations

from max.experimental import functional as F
from max.experimental.nn import Linear, Module
from max.experimental.tensor import Tensor

from solutions.llama_config import LlamaConfig


def rms_norm(x: Tensor, weight: Tensor, eps: float) -> Tensor:  # [..., dim], [dim] -> [..., dim]
    """Bring every token to a mean square of 1, then scale each channel.

    ``x / sqrt(mean(x * x) + eps) * weight``, where the mean is that of one token's channels. Step 03's norm also
    subtracts the token's mean before this, and adds a bias after it.
    Source: Zhang and Sennrich, "Root Mean Square Layer Normalization" (2019).
    """
    # TODO: Take the mean of the squares over the last axis, then write out the rest of the formula. (2 lines)
    raise NotImplementedError


class LlamaRMSNorm(Module[[Tensor], Tensor]):
    """An RMS norm with its weight, one number per channel."""

    def __init__(self, dim: int, *, eps: float = 1e-6) -> None:
        self.eps = eps
        self.weight = Tensor.ones([dim])

    def forward(self, x: Tensor) -> Tensor:  # [..., dim] -> [..., dim]
        """Normalize over the last axis."""
        return rms_norm(x, self.weight, self.eps)


class LlamaMLP(Module[[Tensor], Tensor]):
    """SwiGLU: project every token up twice, let one result gate the other, and project it back down.

    The gate is a factor for each channel, SiLU of what ``gate_proj`` makes: ``silu(z) = z * sigmoid(z)`` is near 0 for
    a very negative ``z``, and near ``z`` for a large one.
    Source: Shazeer, "GLU Variants Improve Transformer" (2020).
    """

    def __init__(self, config: LlamaConfig) -> None:
        # TODO: Make gate_proj and up_proj (to intermediate_size) and down_proj (back), all without a bias. (3 lines)
        raise NotImplementedError

    def forward(self, hidden_states: Tensor) -> Tensor:  # [..., hidden_size] -> [..., hidden_size]
        """Project up, apply the gate, and project back down."""
        # TODO: Compute the gate (gate_proj, then SiLU), multiply up_proj's output by it, then down_proj. (3 lines)
        raise NotImplementedError
