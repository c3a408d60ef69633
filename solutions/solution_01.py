"""Step 01: the model's configuration, the seven numbers that make a GPT-2 this GPT-2."""

from __future__ import annotations

from dataclasses import dataclass

#: The four sizes that were published with weights; in everything else they have the defaults below.
PUBLISHED = {
    "gpt2": {"n_embd": 768, "n_layer": 12, "n_head": 12},
    "gpt2-medium": {"n_embd": 1024, "n_layer": 24, "n_head": 16},
    "gpt2-large": {"n_embd": 1280, "n_layer": 36, "n_head": 20},
    "gpt2-xl": {"n_embd": 1600, "n_layer": 48, "n_head": 25},
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
    n_inner: int | None = None  # width of the feed-forward network; None: 4 * n_embd
    layer_norm_epsilon: float = 1e-5  # keeps a layer normalization from dividing by zero

    def __post_init__(self) -> None:
        """Raise ValueError if ``n_head`` is below 1, or does not divide ``n_embd``."""
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
        return self.n_inner if self.n_inner is not None else 4 * self.n_embd

    @classmethod
    def published(cls, name: str) -> GPT2Config:
        """Return the configuration of one of the four published sizes; raise ValueError for any other name."""
        if name not in PUBLISHED:
            raise ValueError(f"no GPT-2 is called {name!r}; there are {', '.join(PUBLISHED)}")
        # Make a configuration with the sizes in PUBLISHED. (1 line)
        return cls(**PUBLISHED[name])
