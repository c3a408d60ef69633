"""Step 05: token embeddings, a table with one row for every token of the vocabulary."""

from __future__ import annotations

import numpy as np
from max.experimental import functional as F
from max.experimental.nn import Module
from max.experimental.tensor import Tensor

from solutions.solution_01 import GPT2Config


class GPT2Embeddings(Module[[Tensor], Tensor]):
    """The token embeddings: row ``i``, once trained, stands for token ``i`` outside any context."""

    def __init__(self, config: GPT2Config) -> None:
        # TODO: Make the table, the parameter weight: one row for every token of the vocabulary. (1 line)
        raise NotImplementedError

    def forward(self, input_ids: Tensor) -> Tensor:  # int64 [...] -> [..., embd]
        """Return the rows of the given tokens."""
        # TODO: Gather the row of every token. (1 line)
        raise NotImplementedError


def check_token_ids(input_ids: np.ndarray, config: GPT2Config) -> None:  # int64 [...]
    """Raise ValueError if an id has no row in the table; MAX would count a negative one from the table's end."""
    outside = input_ids[(input_ids < 0) | (input_ids >= config.vocab_size)]
    if outside.size:
        raise ValueError(f"token id {outside[0]} is not in the vocabulary of vocab_size = {config.vocab_size} tokens")
