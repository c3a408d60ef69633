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
from solutions.solution_16 import count_valid, next_labels
from solutions.solution_19 import gpt2_loss_and_gradients
from solutions.training import Batch, Graph, TrainingState, check_finite, model_with, scalar, zero_grad


def learning_rate(step: int, *, peak: float, warmup_steps: int, total_steps: int) -> float:
    """Return the learning rate of a step; the first is step 1.

    It rises in a straight line to ``peak`` at ``warmup_steps``, then falls along half a cosine to 0 at ``total_steps``,
    which is later, and stays there. Without a warm-up, ``warmup_steps`` is 0.
    """
    # TODO: Up to warmup_steps, return that fraction of peak; later, half of peak times (1 + cosine). (4 lines)
    raise NotImplementedError


def sum_of_squares(gradient: Tensor) -> Tensor:  # [...] -> []
    """Return the sum of all squares, of each row first: in one sum of millions, float32 loses several percent."""
    return F.sum(F.sum(gradient * gradient, axis=-1), axis=None).reshape([])


def clip_by_global_norm(gradients: Tensors, max_norm: float) -> tuple[Tensors, Tensor]:
    """Return all gradients, scaled by one factor to a joint norm of at most ``max_norm``, and their norm before, []."""
    # TODO: Add up sum_of_squares of all gradients, take the root; multiply all by one factor of at most 1. (3 lines)
    raise NotImplementedError


@dataclass(frozen=True)
class AdamW:
    """The optimizer of most language models, as PyTorch computes it: the decay is multiplied by the learning rate.

    Source: Loshchilov and Hutter, "Decoupled Weight Decay Regularization" (2019), where the schedule alone scales it.
    """

    beta1: float = 0.9
    beta2: float = 0.95
    epsilon: float = 1e-8
    weight_decay: float = 0.1

    def updated(
        self, weight: Tensor, m: Tensor, v: Tensor, gradient: Tensor, lr: Tensor, step: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:  # 4 x [...], 2 x [] -> 3 x [...]
        """Return a weight and its moving averages, ``m`` of the gradient and ``v`` of its square, after a step.

        Both averages begin at 0, and ``step``, the number of the step, at 1.
        """
        decay = self.weight_decay if weight.rank > 1 else 0.0  # a gain or a bias, which has one axis, does not decay
        # TODO: Move m and v; correct each by 1 - beta**step; divide; step down, with the decay. (6 lines)
        raise NotImplementedError


class Accumulate(Module[..., tuple[Tensor, Tensor]]):
    """Add the gradients of one more batch to sums: a batch with twice as many valid labels counts twice as much."""

    def __init__(self, config: GPT2Config) -> None:
        self.config = config

    def forward(
        self, input_ids: Tensor, labels: Tensor, weights: Tensors, sums: Tensors
    ) -> tuple[Tensor, Tensor]:  # 2 x [batch, seq], and tensors by name -> 2 x []
        """Return the sum of all losses of the batch, and how many losses they are; write into ``sums``."""
        loss, gradients = gpt2_loss_and_gradients(model_with(self.config, weights), input_ids, labels)
        count = count_valid(next_labels(labels))
        nats = F.where(count > 0, count * loss, 0.0)  # the mean of no losses is NaN, and their sum is 0
        # TODO: For each name: the mean gradient times count is a sum; add it to sums in place, with [...]. (3 lines)
        raise NotImplementedError


class Update(Module[..., Tensor]):
    """Change the weights, once the gradients of all batches of a step have been summed."""

    def __init__(self, optimizer: AdamW, max_norm: float) -> None:
        self.optimizer, self.max_norm = optimizer, max_norm

    def forward(self, lr: Tensor, step: Tensor, count: Tensor, state: TrainingState) -> Tensor:  # 3 x [], state -> []
        """Return the norm of the mean gradients; clip them, and write into weights and averages."""
        gradients = {name: total / count for name, total in state.sums.items()}
        gradients, norm = clip_by_global_norm(gradients, self.max_norm)
        for name, gradient in gradients.items():
            weight, m, v = state.weights[name], state.m[name], state.v[name]
            weight[...], m[...], v[...] = self.optimizer.updated(weight, m, v, gradient, lr, step)
        return norm


def accumulate_batches(state: TrainingState, batches: Iterable[Batch], accumulate: Graph) -> tuple[float, float]:
    """Return the sum of the losses of all batches, and how many losses they are; write into ``state.sums``."""
    nats = count = 0.0
    # TODO: Zero the sums; accumulate every batch into them, and add what it returns to nats and count. (6 lines)
    raise NotImplementedError


def train_step(
    state: TrainingState, step: int, batches: Iterable[Batch], lr: float, accumulate: Graph, update: Graph
) -> tuple[float, float]:
    """Learn from some batches as if they were one, in which every valid label counts the same; the first step is 1.

    Returns:
        The mean loss before the step, and the norm of the gradients before they were clipped.

    Raises:
        FloatingPointError: the loss is not finite, or no label is valid, and only ``sums`` has changed; or the norm is
            not finite, and the state is of no further use.
    """
    nats, count = accumulate_batches(state, batches, accumulate)
    loss = nats / count if count else math.nan
    check_finite(step, "loss", loss)
    norm = update(scalar(lr), scalar(step), scalar(count), state).item()
    check_finite(step, "norm", norm)
    return loss, norm
