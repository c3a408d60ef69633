"""Step 16: the loss, which measures how badly the model guesses, and its gradient, where training begins."""

from __future__ import annotations

import math

from max.dtype import DType
from max.experimental import functional as F
from max.experimental.tensor import Tensor

IGNORE_INDEX = -100  # the label of a token that is not to be predicted: padding, or a prompt


def sum_all(x: Tensor) -> Tensor:  # [...] -> []
    """Return the sum over all axes, as one number; ``F.sum`` with ``axis=None`` would leave the shape [1]."""
    return F.sum(x, axis=None).reshape([])


def shift_labels(labels: Tensor) -> Tensor:  # int64 [batch, seq] -> int64 [batch, seq]
    """Return the target of each position: the label after it, ``IGNORE_INDEX`` at the last one."""
    paddings = [0, 0, 0, 1]  # before and after each axis: nothing around batch, and one label after seq
    return F.pad(labels, paddings, value=IGNORE_INDEX)[:, 1:]


def count_valid(targets: Tensor) -> Tensor:  # int64 [...] -> []
    """Return how many targets are not ``IGNORE_INDEX``, as float32: the sum of the losses is divided by it."""
    return sum_all((targets != IGNORE_INDEX).cast(DType.float32))


def log_softmax(logits: Tensor) -> Tensor:  # [..., vocab] -> [..., vocab]
    """Return the logarithm of each token's probability; it is finite for large logits too."""
    # Take the logarithm of the softmax, without an exponential that overflows. (2 lines)
    shifted = logits - F.max(logits, axis=-1)  # F.max keeps the axis: [..., 1]
    return shifted - F.log(F.sum(F.exp(shifted), axis=-1))


def token_losses(logits: Tensor, targets: Tensor) -> Tensor:  # [batch, seq, vocab], int64 [batch, seq] -> [batch, seq]
    """Return the surprise -ln p of each target, and 0 where the target is ``IGNORE_INDEX``."""
    is_valid = targets != IGNORE_INDEX
    # Look up how surprised the model is by each target; IGNORE_INDEX isn't an index, and costs nothing. (3 lines)
    indices = F.where(is_valid, targets, 0).unsqueeze(-1)  # [batch, seq, 1]
    target_log_probs = F.gather_nd(log_softmax(logits), indices, batch_dims=2)
    return F.where(is_valid, -target_log_probs, 0.0)


def cross_entropy(logits: Tensor, labels: Tensor) -> Tensor:  # [batch, seq, vocab], int64 [batch, seq] -> []
    """Return the mean surprise, in nats, over all positions that have a valid label to predict.

    Source: ``ForCausalLMLoss`` in Hugging Face's transformers. As there, the loss is NaN if no label is valid.
    """
    targets = shift_labels(labels)
    # Average the losses over the targets that count. (1 line)
    return sum_all(token_losses(logits, targets)) / count_valid(targets)


def cross_entropy_backward(
    logits: Tensor, labels: Tensor
) -> Tensor:  # [batch, seq, vocab], int64 [batch, seq] -> [batch, seq, vocab]
    """Return the gradient of ``cross_entropy`` with respect to the logits: 0 where no label is to be predicted."""
    targets = shift_labels(labels).unsqueeze(-1)  # [batch, seq, 1]
    token_ids = Tensor.arange(logits.shape[-1], dtype=targets.dtype, device=targets.device)
    # Find how the loss changes with each logit; where nothing is predicted, it does not. (3 lines)
    one_hot = (targets == token_ids).cast(logits.dtype)  # [batch, seq, vocab]
    grad = (F.softmax(logits, axis=-1) - one_hot) / count_valid(targets)
    return F.where(targets != IGNORE_INDEX, grad, 0.0)


def perplexity(loss: float) -> float:
    """Return how many equally likely tokens cost ``loss`` nats to guess; raise OverflowError if that has no float."""
    # Turn the surprise into a number of equally likely tokens. (1 line)
    return math.exp(loss)


def bits_per_byte(loss: float, n_tokens: int, n_bytes: int) -> float:
    """Return the bits per byte of a text, by which models with different tokenizers can be compared.

    ``loss`` is the mean over ``n_tokens`` predicted tokens, in nats; ``n_bytes`` is their length in UTF-8.
    """
    # Share the bits of all tokens among the bytes. (1 line)
    return loss / math.log(2) * n_tokens / n_bytes
