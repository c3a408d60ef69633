"""Step 11: the language-model head, which turns the final hidden states into a score for every token."""

from __future__ import annotations

import numpy as np
from max.driver import Device
from max.dtype import DType
from max.experimental.nn import Linear, Module
from max.experimental.tensor import Tensor, TensorType

from solutions.arrays import LogitsFunction
from solutions.solution_01 import GPT2Config
from solutions.solution_05 import check_token_ids
from solutions.solution_06 import check_length
from solutions.solution_10 import GPT2Model


class MaxGPT2LMHeadModel(Module[[Tensor], Tensor]):
    """GPT-2 with its head. A logit scores one token as the next; softmax makes probabilities of all logits.

    Source: ``GPT2LMHeadModel`` in Hugging Face's transformers; the names are those of its checkpoint.
    Published checkpoints tie the head: they have no weights for it, and loading gives it those of ``wte``.
    """

    def __init__(self, config: GPT2Config) -> None:
        self.config = config
        # TODO: Make transformer, and lm_head: from n_embd to vocab_size, without a bias. (2 lines)
        raise NotImplementedError

    def forward(self, input_ids: Tensor) -> Tensor:  # int64 [batch, seq] -> [batch, seq, vocab]
        """Return the logits of the token that follows each token."""
        # TODO: Score every token of the vocabulary by the hidden states. (1 line)
        raise NotImplementedError


def compile_model(model: MaxGPT2LMHeadModel, device: Device) -> LogitsFunction:
    """Move the model to the device and compile it there: one graph for any batch and length, which takes arrays."""
    model.to(device)
    compiled = model.compile(TensorType(DType.int64, ["batch", "seq"], device=device))

    def run(input_ids: np.ndarray) -> np.ndarray:  # int64 [batch, seq] -> [batch, seq, vocab]
        """Return the logits; raise ValueError if there are too many tokens or unknown ids: the graph checks neither."""
        check_length(input_ids.shape[-1], model.config)
        check_token_ids(input_ids, model.config)
        ids = Tensor.from_dlpack(np.ascontiguousarray(input_ids))  # the last columns of a batch are not contiguous
        return compiled(ids.to(device)).to_numpy()

    return run
