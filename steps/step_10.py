"""Step 10: the model without its head, embeddings and a stack of blocks."""

from __future__ import annotations

from max.experimental.nn import Module, Sequential
from max.experimental.tensor import Tensor

from solutions.solution_01 import GPT2Config
from solutions.solution_03 import LayerNorm
from solutions.solution_05 import GPT2Embeddings
from solutions.solution_06 import GPT2PositionEmbeddings, check_length, position_ids
from solutions.solution_09 import GPT2Block


class GPT2Model(Module[[Tensor], Tensor]):
    """Embed the tokens and their positions, run every block, and normalize: Hugging Face's ``GPT2Model``."""

    def __init__(self, config: GPT2Config) -> None:
        self.config = config
        # TODO: Make the two tables wte and wpe, the stack h of n_layer blocks, and the norm ln_f. (4 lines)
        raise NotImplementedError

    def forward(self, input_ids: Tensor) -> Tensor:  # int64 [batch, seq] -> [batch, seq, embd]
        """Return the final hidden state of every token, made from the tokens up to it."""
        sequence_length = input_ids.shape[-1]
        check_length(sequence_length, self.config)
        # TODO: Embed the tokens and their positions; run the blocks; normalize. (4 lines)
        raise NotImplementedError
