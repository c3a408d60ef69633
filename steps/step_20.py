"""Step 20: training, where gradients turn random numbers into a model that writes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from max.experimental import functional as F
from max.experimental.nn import Module
from max.experimental.tensor import Tensor

from solutions.checkpoint import Weights
from solutions.solution_01 import GPT2Config
from solutions.solution_11 import MaxGPT2LMHeadModel
from solutions.solution_16 import count_valid, next_labels
from solutions.solution_18 import Gradients
from solutions.solution_19 import gpt2_loss_and_gradients

Batch = tuple[Tensor, Tensor]  # input_ids and labels, both [batch, seq]


@dataclass
class TrainingState:
    """All that a training goes on from: by name, every weight, and what belongs to it. Each step writes into them."""

    weights: Gradients
    sums: Gradients  # of the gradients, over the tokens of the batches since the last update
    means: Gradients  # the moving averages of AdamW: of the gradients
    squares: Gradients  # and of their squares
    step: int = 0  # how many updates there were


def training_state(weights: Weights) -> TrainingState:
    """Return the state before the first step. It has copies of the weights, so that the arrays stay as they are."""

    def zeros() -> Gradients:
        return {name: Tensor.from_dlpack(np.zeros_like(weight)) for name, weight in weights.items()}

    copies = {name: Tensor.from_dlpack(weight.copy()) for name, weight in weights.items()}
    return TrainingState(copies, zeros(), zeros(), zeros())


def scalar(number: float) -> Tensor:  # -> []
    """Return a number as float32, which a compiled graph can take as an input."""
    return Tensor.from_dlpack(np.array(number, np.float32))


def empty_model(config: GPT2Config) -> MaxGPT2LMHeadModel:
    """Return a model whose random weights are never computed, to be given others."""
    with F.lazy():
        return MaxGPT2LMHeadModel(config)


def model_with(config: GPT2Config, weights: Gradients) -> MaxGPT2LMHeadModel:
    """Return a model that computes with these very tensors; the head has the weights of ``wte``."""
    model = empty_model(config)
    modules = dict(model.descendants)
    for name, weight in weights.items():
        module, _, leaf = name.rpartition(".")
        setattr(modules[module], leaf, weight)
    model.lm_head.weight = weights["transformer.wte.weight"]
    return model


def initialize(config: GPT2Config, seed: int) -> Weights:
    """Return the weights that a training begins with, by name, without the head's, which are those of ``wte``.

    Source: Radford et al., "Language Models are Unsupervised Multitask Learners" (2019), section 2.3, and
    ``GPT2PreTrainedModel._init_weights`` in Hugging Face's transformers.
    """
    shapes = {name: [int(size) for size in weight.shape] for name, weight in empty_model(config).parameters}
    del shapes["lm_head.weight"]
    rng = np.random.default_rng(seed)
    # TODO: Biases 0, gains 1; all else normal with std 0.02, but c_proj with 0.02 / sqrt(2 n_layer). (10 lines)
    raise NotImplementedError


def learning_rate(step: int, *, peak: float, warmup_steps: int, total_steps: int) -> float:
    """Return the learning rate of a step; the first is step 1.

    It rises in a straight line to ``peak`` at ``warmup_steps``, then falls along half a cosine to 0 at ``total_steps``,
    which is later, and stays there. Without a warm-up, ``warmup_steps`` is 0.
    """
    # TODO: Up to the end of the warm-up a fraction of peak; after it, half of peak times (1 + cosine). (4 lines)
    raise NotImplementedError


def clip_by_global_norm(gradients: Gradients, max_norm: float) -> tuple[Gradients, Tensor]:
    """Scale all gradients by one factor, so that together they are no longer than ``max_norm``.

    Returns:
        The gradients, and the length that they had together, [].
    """
    # TODO: Square each, sum its rows, then all; sum those, take the root; then a factor of at most 1 for all. (4 lines)
    raise NotImplementedError


@dataclass(frozen=True)
class AdamW:
    """The optimizer that the first GPT was trained with, and most language models since.

    Source: Loshchilov and Hutter, "Decoupled Weight Decay Regularization" (2019), algorithm 2.
    """

    beta1: float = 0.9
    beta2: float = 0.95
    epsilon: float = 1e-8
    weight_decay: float = 0.1

    def decay(self, weight: Tensor) -> float:
        """Return the weight decay: that of a matrix or a table, or none for a bias or a gain."""
        # TODO: Only a weight with two axes decays. (1 line)
        raise NotImplementedError

    def averages(self, gradient: Tensor, mean: Tensor, square: Tensor) -> tuple[Tensor, Tensor]:  # three times [...]
        """Return the moving averages of the gradient and of its square, one step later."""
        # TODO: What there was, times beta, and what is new, times 1 - beta. (2 lines)
        raise NotImplementedError

    def updated(self, weight: Tensor, mean: Tensor, square: Tensor, rate: Tensor, step: Tensor) -> Tensor:
        """Return a weight after a step; ``rate`` and ``step`` are [], and the first step is 1."""
        # TODO: Correct both averages for their start at 0, divide, add the decay, walk down by rate. (4 lines)
        raise NotImplementedError


def add_gradients(sums: Gradients, gradients: Gradients, count: Tensor) -> None:
    """Add to ``sums`` what a batch says of every weight: a batch with twice as many tokens says twice as much.

    Args:
        sums: of the gradients of single losses, over all batches so far; they are written into.
        gradients: of the mean loss of one more batch.
        count: how many losses that is the mean of, [].
    """
    # TODO: Of each name: the mean times count is a sum; add it in place, with [...]. (2 lines)
    raise NotImplementedError


class Accumulate(Module):
    """Add the gradients of one batch to sums that may have those of others."""

    def __init__(self, config: GPT2Config) -> None:
        self.config = config

    def forward(
        self, input_ids: Tensor, labels: Tensor, weights: Gradients, sums: Gradients
    ) -> tuple[Tensor, Tensor]:  # [batch, seq], [batch, seq] -> [], []
        """Return the sum of all losses of the batch, and how many they are; write into ``sums``."""
        model = model_with(self.config, weights)
        loss, gradients = gpt2_loss_and_gradients(model, input_ids, labels)
        count = count_valid(next_labels(labels))
        add_gradients(sums, gradients, count)
        return F.where(count > 0, count * loss, 0.0), count  # the mean of no losses is NaN, and their sum is 0


class Update(Module):
    """Change the weights, once the gradients of all batches of a step have been summed."""

    def __init__(self, optimizer: AdamW, max_norm: float) -> None:
        self.optimizer, self.max_norm = optimizer, max_norm

    def forward(
        self,
        rate: Tensor,
        step: Tensor,
        count: Tensor,
        weights: Gradients,
        sums: Gradients,
        means: Gradients,
        squares: Gradients,
    ) -> Tensor:  # [], [], [] -> []
        """Return the norm of all gradients before they were clipped; write into all weights and averages."""
        # TODO: Divide the sums by count and clip; then both averages and the weight of every name; sums to 0. (8 lines)
        raise NotImplementedError


def train_step(
    state: TrainingState,
    batches: Iterable[Batch],
    rate: float,
    accumulate: Callable[..., tuple[Tensor, Tensor]],
    update: Callable[..., Tensor],
) -> tuple[float, float]:
    """Learn from some batches at once, as if they were one that is too large for the memory.

    Args:
        state: what changes.
        batches: of any sizes; each valid label counts the same, in whichever batch it is.
        rate: the learning rate.
        accumulate: :class:`Accumulate`, or what it compiles to.
        update: :class:`Update`, or what it compiles to.

    Returns:
        The mean loss before the step, and the norm of the gradients before they were clipped.

    Raises:
        FloatingPointError: the loss is not a finite number, or no label is valid; no weight has been changed.
    """
    total, count = 0.0, 0.0
    # TODO: Accumulate all batches; refuse a mean loss that is not finite; then count the step, and update. (10 lines)
    raise NotImplementedError


@dataclass(frozen=True)
class Progress:
    """What one step of a training reports."""

    step: int
    loss: float
    norm: float
    rate: float


def train(
    state: TrainingState,
    batches_of: Callable[[int], Iterable[Batch]],
    rate_of: Callable[[int], float],
    n_steps: int,
    accumulate: Callable[..., tuple[Tensor, Tensor]],
    update: Callable[..., Tensor],
) -> Iterator[Progress]:
    """Train until step ``n_steps``, from wherever ``state`` is; stop between two steps by no longer asking.

    What a step learns and how fast depends on its number alone, so a training that was interrupted goes on as if it
    had not been.
    """
    # TODO: As long as there are steps: the next one's number, its rate, train_step, and yield. (4 lines)
    raise NotImplementedError
