"""Step 20: training, where gradients turn random numbers into a model that writes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
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
    # Up to warmup_steps, return that fraction of peak; later, half of peak times (1 + cosine). (4 lines)
    if step <= warmup_steps:
        return peak * step / warmup_steps
    done = min(1.0, (step - warmup_steps) / (total_steps - warmup_steps))
    return peak * (1 + math.cos(math.pi * done)) / 2


def sum_of_squares(gradient: Tensor) -> Tensor:  # [...] -> []
    """Return the sum of all squares, of each row first: in one sum of millions, float32 loses several percent."""
    return F.sum(F.sum(gradient * gradient, axis=-1), axis=None).reshape([])


def clip_by_global_norm(gradients: Tensors, max_norm: float) -> tuple[Tensors, Tensor]:
    """Scale all gradients by one factor, so that together they are no longer than ``max_norm``.

    Returns:
        The gradients, and the length that they had together, [].
    """
    # Add up sum_of_squares of all gradients, take the root; multiply all by one factor of at most 1. (3 lines)
    norm = F.sqrt(sum(map(sum_of_squares, gradients.values())))
    factor = max_norm / F.max(norm, max_norm)
    return {name: factor * gradient for name, gradient in gradients.items()}, norm


@dataclass(frozen=True)
class AdamW:
    """The optimizer of most language models, as PyTorch computes it: the decay is multiplied by the learning rate.

    Source: Loshchilov and Hutter, "Decoupled Weight Decay Regularization" (2019), whose algorithm 2 takes
    only the schedule for that.
    """

    beta1: float = 0.9
    beta2: float = 0.95
    epsilon: float = 1e-8
    weight_decay: float = 0.1

    def updated(
        self, weight: Tensor, m: Tensor, v: Tensor, gradient: Tensor, lr: Tensor, step: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:  # 4 x [...], 2 x [] -> 3 x [...]
        """Return a weight and its moving averages, ``m`` of the gradient and ``v`` of its square, after a step.

        A matrix or a table decays; a gain or a bias, which has one axis, does not. Both averages begin at 0, and
        ``step``, the number of the step, at 1.
        """
        # Decay a matrix; move m and v; correct each by 1 - beta**step; step down by their quotient. (7 lines)
        if weight.rank > 1:
            weight = weight - lr * self.weight_decay * weight
        m = self.beta1 * m + (1 - self.beta1) * gradient
        v = self.beta2 * v + (1 - self.beta2) * gradient * gradient
        m_hat = m / (1 - self.beta1**step)
        v_hat = v / (1 - self.beta2**step)
        return weight - lr * m_hat / (F.sqrt(v_hat) + self.epsilon), m, v


class Update(Module):
    """Change the weights, once the gradients of all batches of a step have been summed."""

    def __init__(self, optimizer: AdamW, max_norm: float) -> None:
        self.optimizer, self.max_norm = optimizer, max_norm

    def forward(
        self, lr: Tensor, step: Tensor, count: Tensor, weights: Tensors, sums: Tensors, m: Tensors, v: Tensors
    ) -> Tensor:  # 3 x [] -> []
        """Write into all weights and averages, and return the norm of the mean gradients before clipping.

        If the norm is NaN or infinite, nothing is changed.
        """
        gradients = {name: total / count for name, total in sums.items()}
        gradients, norm = clip_by_global_norm(gradients, self.max_norm)
        is_finite = F.greater(math.inf, norm)  # false for NaN too, unlike MAX's norm < math.inf
        for name, gradient in gradients.items():
            before = weights[name], m[name], v[name]
            after = self.optimizer.updated(*before, gradient, lr, step)
            for tensor, value in zip(before, after, strict=True):
                tensor[...] = F.where(is_finite, value, tensor)
        return norm


def add_gradients(sums: Tensors, gradients: Tensors, count: Tensor) -> None:
    """Add the gradients of one more batch to ``sums``: a batch with twice as many tokens counts twice as much.

    Args:
        sums: of the gradients of single losses, over all batches so far; they are written into.
        gradients: of the mean loss of one more batch.
        count: the number of losses in that mean, [].
    """
    # For each name: the mean times count is a sum; add it in place, with [...]. (2 lines)
    for name, total in sums.items():
        total[...] = total + count * gradients[name]


class Accumulate(Module):
    """Add the gradients of one batch to sums that may hold those of others."""

    def __init__(self, config: GPT2Config) -> None:
        self.config = config

    def forward(
        self, input_ids: Tensor, labels: Tensor, weights: Tensors, sums: Tensors
    ) -> tuple[Tensor, Tensor]:  # [batch, seq], [batch, seq] -> [], []
        """Return the sum of all losses of the batch, and how many they are; write into ``sums``."""
        loss, gradients = gpt2_loss_and_gradients(model_with(self.config, weights), input_ids, labels)
        count = count_valid(next_labels(labels))
        add_gradients(sums, gradients, count)
        return F.where(count > 0, count * loss, 0.0), count  # the mean of no losses is NaN, and their sum is 0


def train_step(
    state: TrainingState, batches: Iterable[Batch], lr: float, accumulate: Graph, update: Graph
) -> tuple[float, float]:
    """Learn from some batches as if they were one, in which every valid label counts the same.

    Returns:
        The mean loss before the step, and the norm of the gradients before they were clipped.

    Raises:
        FloatingPointError: the loss or the norm is not finite, or no label is valid. Weights, averages, and the number
            of the step are as before.
    """
    step, total, count = state.step + 1, 0.0, 0.0
    # Zero the sums, accumulate all batches, check the loss, update, check the norm, count the step. (10 lines)
    zero_grad(state.sums)
    for input_ids, labels in batches:
        losses, valid = accumulate(input_ids, labels, state.weights, state.sums)
        total, count = total + losses.item(), count + valid.item()
    loss = total / count if count else math.nan
    check_finite(step, loss=loss)
    norm = update(scalar(lr), scalar(step), scalar(count), state.weights, state.sums, state.m, state.v).item()
    check_finite(step, norm=norm)
    state.step = step
    return loss, norm


def train(
    state: TrainingState,
    batches_of: Callable[[int], Iterable[Batch]],
    lr_of: Callable[[int], float],
    n_steps: int,
    accumulate: Graph,
    update: Graph,
) -> Iterator[tuple[float, float]]:
    """Train until step ``n_steps``, from wherever ``state`` is, and yield the loss and the norm of every step.

    The batches and the learning rate of a step depend on its number alone, so a training that was interrupted continues
    as if it had not been.
    """
    while state.step < n_steps:
        step = state.step + 1
        yield train_step(state, batches_of(step), lr_of(step), accumulate, update)
