"""Step 16: the loss, which measures how badly the model guesses, and its gradient, where training begins."""

from __future__ import annotations

import math

from max.dtype import DType
from max.experimental import functional as F
from max.experimental.tensor import Tensor

IGNORED = -100  # the label of a token that is not to be predicted: padding, or a prompt


def next_labels(labels: Tensor) -> Tensor:  # [batch, seq] -> [batch, seq]
    """Return what each position has to predict: the label after it, and ``IGNORED`` at the last position."""
    # TODO: Append IGNORED to every row with F.pad; leave the first column out. (1 line)
    raise NotImplementedError


def log_softmax(logits: Tensor) -> Tensor:  # [..., vocab] -> [..., vocab]
    """Return the logarithm of each token's probability; it is finite for large logits too."""
    # TODO: Subtract the largest logit of each row, then the log of the sum of the exponentials of that. (2 lines)
    raise NotImplementedError


def token_losses(logits: Tensor, targets: Tensor) -> Tensor:  # [batch, seq, vocab], [batch, seq] -> [batch, seq]
    """Return the surprise -ln p of each target, and 0 where the target is ``IGNORED``."""
    is_valid = targets != IGNORED
    # TODO: With 0 for IGNORED, pick one log-probability per position (F.gather_nd); negate it where valid. (3 lines)
    raise NotImplementedError


def count_valid(targets: Tensor) -> Tensor:  # [...] -> []
    """Return how many targets are not ``IGNORED``, as float32: the losses are divided by it."""
    # TODO: Compare, cast, sum over all axes; F.sum leaves the shape [1], which becomes []. (1 line)
    raise NotImplementedError


def cross_entropy(logits: Tensor, labels: Tensor) -> Tensor:  # [batch, seq, vocab], [batch, seq] -> []
    """Return the mean surprise, in nats, over all positions that have a valid label to predict.

    Source: ``ForCausalLMLoss`` in Hugging Face's transformers. As there, the loss is NaN if no label is valid.
    """
    targets = next_labels(labels)
    # TODO: The sum of all token losses, with the shape [], over the number of valid targets. (2 lines)
    raise NotImplementedError


def cross_entropy_backward(logits: Tensor, labels: Tensor) -> Tensor:  # [batch, seq, vocab] -> [batch, seq, vocab]
    """Return the gradient of :func:`cross_entropy` with respect to the logits.

    It is zero where nothing is predicted: everywhere, if no label is valid.
    """
    targets = next_labels(labels).unsqueeze(-1)  # [batch, seq, 1]
    vocab = Tensor.arange(int(logits.shape[-1]), dtype=targets.dtype, device=targets.device)
    # TODO: Probabilities minus one-hot targets, over the number of valid ones; 0 where IGNORED. (3 lines)
    raise NotImplementedError


def perplexity(loss: float) -> float:
    """Return how many equally likely tokens would be as hard to guess as a loss in nats says."""
    # TODO: The exponential undoes the natural logarithm. (1 line)
    raise NotImplementedError


def bits_per_byte(loss: float, n_tokens: int, n_bytes: int) -> float:
    """Return the bits per byte of a text, by which models with different tokenizers can be compared.

    Args:
        loss: the mean over the tokens that were predicted, in nats.
        n_tokens: how many tokens were predicted.
        n_bytes: how many bytes of UTF-8 those tokens stand for.
    """
    # TODO: The nats of all tokens, as bits (a bit is ln 2 nats), over the bytes. (1 line)
    raise NotImplementedError
