"""Given in step 23: the sizes of a Llama."""

from __future__ import annotations

from dataclasses import dataclass

from solutions.solution_01 import GPT2Config


@dataclass(frozen=True)
class LlamaConfig:
    """The sizes of a Llama. The defaults are those of SmolLM2-135M; field names are Hugging Face's.

    A head has a width of its own, ``head_dim``: the heads together need not be as wide as the model.
    """

    vocab_size: int = 49152  # different tokens
    max_position_embeddings: int = 8192  # tokens in the longest sequence
    hidden_size: int = 576  # numbers that describe one token: the width
    intermediate_size: int = 1536  # width of the feed-forward network
    num_hidden_layers: int = 30  # blocks on top of each other: the depth
    num_attention_heads: int = 9  # query heads
    num_key_value_heads: int = 3  # key-value heads; each serves a group of query heads
    head_dim: int = 64  # width of one head
    rms_norm_eps: float = 1e-5  # keeps an RMS norm from dividing by zero
    rope_theta: float = 100_000.0  # how slowly the slowest pair of channels rotates

    def __post_init__(self) -> None:
        """Raise ValueError if the query heads cannot be shared evenly among the key-value heads."""
        heads, kv_heads = self.num_attention_heads, self.num_key_value_heads
        if min(heads, kv_heads) < 1 or heads % kv_heads:
            raise ValueError(f"num_attention_heads = {heads} cannot share num_key_value_heads = {kv_heads} evenly")

    @property
    def cache_config(self) -> GPT2Config:
        """Return the sizes of a GPT-2 whose cache is this model's: its heads are the key-value heads here."""
        return GPT2Config(
            vocab_size=self.vocab_size,
            n_positions=self.max_position_embeddings,
            n_embd=self.num_key_value_heads * self.head_dim,
            n_layer=self.num_hidden_layers,
            n_head=self.num_key_value_heads,
        )
