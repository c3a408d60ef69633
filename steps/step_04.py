"""Step 04: the feed-forward network, where every token thinks by itself."""

from __future__ import annotations

from max.experimental import functional as F
from max.experimental.nn import Linear, Module
from max.experimental.tensor import Tensor

from solutions.solution_01 import GPT2Config


class GPT2MLP(Module[[Tensor], Tensor]):
    """Widen every token, apply GELU to it, and bring it back to its width.

    GPT-2 uses the tanh approximation of GELU, which differs from the exact one by up to 5e-4. Source: Hendrycks and
    Gimpel, "Gaussian Error Linear Units (GELUs)" (2016).
    """

    def __init__(self, config: GPT2Config) -> None:
        # TODO: Make the linear layers c_fc (to inner_dim) and c_proj (back), both with a bias. (2 lines)
        raise NotImplementedError

    def forward(self, hidden_states: Tensor) -> Tensor:  # [..., embd] -> [..., embd]
        """Apply two linear layers with a GELU between them."""
        # TODO: Apply c_fc, GELU in its tanh form, and c_proj. (3 lines)
        raise NotImplementedError
