"""Step 01: the model's configuration, the seven numbers that make a GPT-2 this GPT-2."""

from __future__ import annotations

from dataclasses import dataclass

#: Width, depth and heads of the four sizes that were published with weights; nothing else differs between them.
PUBLISHED = {
    "gpt2": (768, 12, 12),
    "gpt2-medium": (1024, 24, 16),
    "gpt2-large": (1280, 36, 20),
    "gpt2-xl": (1600, 48, 25),
}


@dataclass(frozen=True)
class GPT2Config:
    """The sizes of a GPT-2. The defaults are GPT-2 small, the one with 124 million parameters.

    Field names are those of Hugging Face's ``GPT2Config``, and so of a checkpoint's ``config.json``.
    Source: Radford et al., "Language Models are Unsupervised Multitask Learners" (2019).
    """

    vocab_size: int = 50257  # different tokens
    n_positions: int = 1024  # tokens in the longest sequence
    n_embd: int = 768  # numbers that describe one token: the width
    n_layer: int = 12  # transformer blocks on top of each other: the depth
    n_head: int = 12  # attention heads that share the width
    n_inner: int | None = None  # width of the feed-forward network, unless it is 4 * n_embd
    layer_norm_epsilon: float = 1e-5  # keeps a layer normalization from dividing by zero

    def __post_init__(self) -> None:
        """Refuse, by a ValueError, a number of heads that cannot share the width evenly."""
        # Raise the ValueError if this number of heads is impossible. (2 lines)
        if self.n_head < 1 or self.n_embd % self.n_head:
            raise ValueError(f"n_embd = {self.n_embd} cannot be shared evenly by n_head = {self.n_head} heads")

    @property
    def head_dim(self) -> int:
        """Return the width of one head: the heads share ``n_embd`` evenly."""
        # Share the width among the heads. (1 line)
        return self.n_embd // self.n_head

    @property
    def inner_dim(self) -> int:
        """Return the width of the feed-forward network: ``n_inner`` if it is given, else four times ``n_embd``."""
        # Choose between the two widths. (1 line)
        return 4 * self.n_embd if self.n_inner is None else self.n_inner

    @classmethod
    def published(cls, name: str) -> GPT2Config:
        """Return the configuration published as ``gpt2``, ``gpt2-medium``, ``gpt2-large`` or ``gpt2-xl``."""
        if name not in PUBLISHED:
            raise ValueError(f"no GPT-2 is called {name!r}; there are {', '.join(PUBLISHED)}")
        # Make a configuration of the three sizes that PUBLISHED has. (2 lines)
        n_embd, n_layer, n_head = PUBLISHED[name]
        return cls(n_embd=n_embd, n_layer=n_layer, n_head=n_head)
