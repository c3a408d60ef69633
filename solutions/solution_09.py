"""Step 09: the transformer block, attention and feed-forward network with a residual around each."""

from __future__ import annotations

from max.experimental.nn import Module
from max.experimental.tensor import Tensor

from solutions.solution_01 import GPT2Config
from solutions.solution_03 import LayerNorm
from solutions.solution_04 import GPT2MLP
from solutions.solution_07 import GPT2MultiHeadAttention
from solutions.solution_08 import pre_norm_residual


class GPT2Block(Module[[Tensor], Tensor]):
    """The tokens look at each other, then each thinks by itself: Hugging Face's ``GPT2Block``."""

    def __init__(self, config: GPT2Config) -> None:
        # Make ln_1, attn, ln_2 and mlp; the epsilon of the norms comes from the configuration. (4 lines)
        self.ln_1 = LayerNorm(config.n_embd, eps=config.layer_norm_epsilon)
        self.attn = GPT2MultiHeadAttention(config)
        self.ln_2 = LayerNorm(config.n_embd, eps=config.layer_norm_epsilon)
        self.mlp = GPT2MLP(config)

    def forward(self, hidden_states: Tensor) -> Tensor:  # [..., seq, embd] -> [..., seq, embd]
        """Apply attention, then the feed-forward network, each with a residual around it."""
        # Let the tokens look at each other, then let each think by itself. (2 lines)
        hidden_states = pre_norm_residual(hidden_states, self.ln_1, self.attn)
        return pre_norm_residual(hidden_states, self.ln_2, self.mlp)
