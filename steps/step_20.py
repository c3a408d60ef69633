"""Step 20: training, where gradients turn random numbers into a model that writes."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from max.experimental import functional as F
from max.experimental.nn import Module
from max.experimental.tensor import Tensor

from solutions.gradients import Tensors
from solutions.solution_01 import GPT2Config
from solutions.solution_16 import count_valid, shift_labels, sum_all
from solutions.solution_19 import gpt2_loss_and_gradients
from solutions.training import (
    Batch,
    Compiled,
    TrainingState,
    accumulate_batches,
    check_finite,
    model_with_weights,
    scalar,
)


def learning_rate(step: int, *, peak: float, warmup_steps: int, total_steps: int) -> float:
    """Return the learning rate of a step; the first is step 1.

    It rises in a straight line to ``peak`` at ``warmup_steps``, then falls along half a cosine to 0 at ``total_steps``,
    which is greater than ``warmup_steps``, and stays there. Without a warm-up, ``warmup_steps`` is 0.
    """
    # TODO: Rise in a straight line during the warm-up, then fall along half a cosine, and stay at 0. (4 lines)
    raise NotImplementedError


def sum_of_squares(grad: Tensor) -> Tensor:  # [...] -> []
    """Return the sum of all squares, row by row: one sum of wte's 39 million is 9 percent too small in MAX 26.7."""
    return sum_all(F.sum(grad * grad, axis=-1))


def clip_by_global_norm(grads: Tensors, max_norm: float) -> tuple[Tensors, Tensor]:  # by name -> by name, []
    """Return the gradients, scaled by one factor to a joint norm of at most ``max_norm``, and the norm before that."""
    # TODO: Shorten all gradients together, as if they were one long vector, if that is longer than max_norm. (3 lines)
    raise NotImplementedError


@dataclass(frozen=True)
class AdamW:
    """The optimizer of most language models, as PyTorch computes it: the decay is multiplied by the learning rate.

    The defaults are nanoGPT's. Source: Loshchilov and Hutter, "Decoupled Weight Decay Regularization" (2019), where
    the schedule alone scales the decay.
    """

    beta1: float = 0.9
    beta2: float = 0.95
    eps: float = 1e-8
    weight_decay: float = 0.1

    def update(
        self, weight: Tensor, grad: Tensor, m: Tensor, v: Tensor, step: Tensor, lr: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:  # 4 x [...], 2 x [] -> 3 x [...]
        """Return a weight and its moving averages, ``m`` of the gradient and ``v`` of its square, after a step.

        Both averages begin at 0, and ``step``, the number of the step, at 1.
        """
        decay = self.weight_decay if weight.rank > 1 else 0.0  # a gain or a bias, which has one axis, does not decay
        # TODO: Move both averages, correct them for their start at 0, and step downhill, with the decay. (6 lines)
        raise NotImplementedError


def add_to_sums(sums: Tensors, grads: Tensors, count: Tensor) -> None:
    """Add the gradients of a mean over ``count`` losses to sums, in place: other batches have added to them as well."""
    # TODO: Make a sum of each mean, so that every loss counts the same, and write into the sums. (2 lines)
    raise NotImplementedError


class Accumulate(Module[[Tensor, Tensor, Tensors, Tensors], tuple[Tensor, Tensor]]):
    """Add the gradients of one more batch to sums: a batch with twice as many valid labels counts twice as much."""

    def __init__(self, config: GPT2Config) -> None:
        self.config = config

    def forward(
        self, input_ids: Tensor, labels: Tensor, weights: Tensors, sums: Tensors
    ) -> tuple[Tensor, Tensor]:  # 2 x int64 [batch, seq], and tensors by name -> 2 x []
        """Return the sum of all losses of the batch, and how many losses they are; write into ``sums``."""
        transformer = model_with_weights(self.config, weights).transformer  # the head is tied to its wte
        loss, grads = gpt2_loss_and_gradients(transformer, input_ids, labels)
        count = count_valid(shift_labels(labels))
        add_to_sums(sums, grads, count)
        loss_sum = F.where(count > 0, count * loss, 0.0)  # the mean of no losses is NaN, and their sum is 0
        return loss_sum, count


class Update(Module[[Tensor, Tensor, Tensor, TrainingState], Tensor]):
    """Change the weights, once the gradients of all batches of a step have been summed."""

    def __init__(self, optimizer: AdamW, max_norm: float) -> None:
        self.optimizer = optimizer
        self.max_norm = max_norm

    def forward(self, step: Tensor, lr: Tensor, count: Tensor, state: TrainingState) -> Tensor:  # 3 x [], state -> []
        """Return the norm of the mean gradients; clip them, and write into weights and averages."""
        grads = {name: grad_sum / count for name, grad_sum in state.sums.items()}
        grads, norm = clip_by_global_norm(grads, self.max_norm)
        for name, grad in grads.items():
            weight, m, v = state.weights[name], state.m[name], state.v[name]
            weight[...], m[...], v[...] = self.optimizer.update(weight, grad, m, v, step, lr)
        return norm


def train_step(
    state: TrainingState, step: int, batches: Iterable[Batch], lr: float, accumulate: Compiled, update: Compiled
) -> tuple[float, float]:
    """Learn from some batches as if they were one, in which every valid label counts the same; the first step is 1.

    Return the mean loss before the step, and the norm of the gradients before they were clipped. Raise
    FloatingPointError if the loss is not finite or no label is valid; then only ``sums`` has changed. Raise it also if
    the norm is not finite; then the state is of no further use.
    """
    # TODO: Accumulate all batches, then update once; check the loss before that, and the norm after it. (6 lines)
    raise NotImplementedError
