"""The graphs of a training: gradients, the update, and the logits, which share the weights' memory.

They are compiled once per size of the model, and not again when the weights change: weights are inputs that the update
writes into.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from max.driver import CPU
from max.dtype import DType
from max.experimental.nn import Module
from max.experimental.tensor import Tensor
from max.graph import TensorType

from checker.compiling import compiling
from checker.max_adapter.runtime import tensor
from play.training.memory import Shared, tensors, types
from play.training.plan import Plan
from play.training.windows import Batches, total_nats
from solutions.checkpoint import Weights
from solutions.gradients import Tensors
from solutions.solution_01 import GPT2Config
from solutions.solution_20 import Accumulate, AdamW, Update, train_step
from solutions.training import Batch, TrainingState, check_finite, initial_weights, model_with_weights

MAX_NORM = 1.0  # of all gradients together; a longer one is clipped

Groups = dict[str, Weights]  # weights, means and squares: step 20's m and v


class Logits(Module[..., Tensor]):
    """The logits of a model whose weights are inputs."""

    def __init__(self, config: GPT2Config) -> None:
        self.config = config

    def forward(self, input_ids: Tensor, weights: Tensors) -> Tensor:  # [batch, seq] -> [batch, seq, vocab]
        """Run step 11's model with these weights."""
        return model_with_weights(self.config, weights)(input_ids)


def config_of(plan: Plan, vocab: int) -> GPT2Config:
    """Return the configuration of the model; a short text may have a smaller vocabulary than was planned."""
    return GPT2Config(
        vocab_size=vocab, n_positions=plan.positions, n_embd=plan.width, n_layer=plan.layers, n_head=plan.heads
    )


@dataclass
class Trainer:
    """A model that learns: its state, and the graphs that change it. Make one with :func:`compile_trainer`."""

    config: GPT2Config
    groups: dict[str, Shared]  # in the order of the state's fields
    accumulate: Callable[..., Any]
    update: Callable[..., Any]
    compiled_logits: Callable[..., Any]

    def __post_init__(self) -> None:
        weights, sums, means, squares = (tensors(group.arrays) for group in self.groups.values())
        self.state = TrainingState(weights, sums, means, squares)
        self.step = 0  # the number of those taken

    def begin(self, seed: int) -> None:
        """Begin at step 0, with random weights."""
        weights = initial_weights(self.config, seed)
        zeros = {name: np.zeros_like(array) for name, array in weights.items()}
        self.go_on(0, {"weights": weights, "means": zeros, "squares": zeros})

    def go_on(self, step: int, groups: Groups) -> None:
        """Continue from a step."""
        for name, arrays in groups.items():
            self.groups[name].fill(arrays)
        self.step = step

    def learn(self, batches: Iterable[Batch], lr: float) -> tuple[float, float]:
        """Take the next step; return the mean loss before it, and the norm of the gradients before clipping.

        Raises:
            FloatingPointError: the loss, or the norm of the gradients, is not finite.
        """
        report = train_step(self.state, self.step + 1, batches, lr, self.accumulate, self.update)
        self.step += 1
        return report

    def kept(self) -> Groups:
        """Return the arrays from which a training goes on, in the memory that the next step writes into."""
        return {name: self.groups[name].arrays for name in ("weights", "means", "squares")}

    def logits(self, input_ids: np.ndarray) -> np.ndarray:  # [batch, seq] -> [batch, seq, vocab]
        """Run the model with the weights as they are now.

        Raises:
            FloatingPointError: a logit is not finite, though every weight is.
        """
        logits = np.from_dlpack(self.compiled_logits(tensor(input_ids), self.state.weights))
        if not np.isfinite(logits).all():
            raise FloatingPointError(f"after step {self.step} some logits are not finite")
        return logits

    def log_probabilities(self, input_ids: np.ndarray) -> np.ndarray:  # [batch, seq] -> [batch, seq, vocab]
        """Return the logarithm of the probability of every token, by the weights as they are now."""
        logits = self.logits(input_ids)
        return logits - np.logaddexp.reduce(logits, axis=-1, keepdims=True)

    def loss(self, batches: Batches) -> tuple[float, int]:
        """Return the mean loss in nats over all targets that count, and how many they are.

        Raises:
            FloatingPointError: a logit, or the loss, is not finite.
        """
        nats, count = total_nats(self.log_probabilities, batches)
        check_finite(self.step, "validation loss", nats)
        return nats / count, count


def compile_trainer(config: GPT2Config) -> Trainer:
    """Compile the three graphs, and make room for everything that they share."""
    shapes = {name: array.shape for name, array in initial_weights(config, 0).items()}
    groups = {name: Shared(shapes) for name in ("weights", "sums", "means", "squares")}
    ids, number = TensorType(DType.int64, ["batch", "seq"], device=CPU()), TensorType(DType.float32, [], device=CPU())
    each, both = types(groups["weights"].arrays), types(groups["weights"].wholes)
    state: Any = TrainingState(both, both, both, both)  # of types, not of tensors
    with compiling("step 20's Update, 1 of 3"):
        update = Update(AdamW(), MAX_NORM).compile(number, number, number, state)
    with compiling("the model's logits, 2 of 3"):
        logits = Logits(config).compile(ids, each)
    with compiling("step 20's Accumulate, 3 of 3, which takes longest"):
        accumulate = Accumulate(config).compile(ids, ids, each, each)
    wholes = TrainingState(*(tensors(group.wholes) for group in groups.values()))
    return Trainer(config, groups, accumulate, partial(_update_wholes, update, wholes), logits)


def _update_wholes(
    update: Callable[..., Any], wholes: TrainingState, step: Tensor, lr: Tensor, count: Tensor, _: TrainingState
) -> Any:
    """Run step 20's ``Update`` on the wholes in place of the state whose arrays are parts of them."""
    return update(step, lr, count, wholes)
