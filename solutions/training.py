"""Given in step 20: random weights, the state that every step writes into, and small functions around it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from max import tree
from max.driver import Buffer
from max.experimental.tensor import Tensor

from solutions.checkpoint import HEAD, WTE, Weights, empty_model
from solutions.gradients import Tensors
from solutions.solution_01 import GPT2Config
from solutions.solution_11 import MaxGPT2LMHeadModel

Batch = tuple[Tensor, Tensor]  # input_ids and labels, both [batch, seq]
Compiled = Callable[..., Any]  # Accumulate or Update, or what it compiles to


@tree.dataclass
class TrainingState:
    """What a training step reads and writes. To resume, keep ``weights``, ``m``, ``v``, and the last step's number."""

    weights: Tensors
    sums: Tensors  # of the gradients of all losses, over the batches of a step
    m: Tensors  # AdamW's moving averages of the gradients
    v: Tensors  # and of their squares


def initial_weights(config: GPT2Config, seed: int) -> Weights:
    """Return random weights by name, without the head's, which are those of ``wte``.

    Gains are 1 and biases 0. Everything else is normal noise with a standard deviation of 0.02; for both ``c_proj`` of
    a block it is 0.02 / sqrt(2 n_layer), because that many of them add to the residual stream.
    Source: Radford et al., "Language Models are Unsupervised Multitask Learners" (2019), section 2.3, and Karpathy's
    nanoGPT, ``GPT.__init__`` and ``GPT._init_weights``.
    """
    rng = np.random.default_rng(seed)
    weights: Weights = {}
    for name, parameter in empty_model(config).parameters:
        shape = [int(size) for size in parameter.shape]
        if name.endswith("bias"):
            weights[name] = np.zeros(shape, np.float32)
        elif len(shape) == 1:  # a gain
            weights[name] = np.ones(shape, np.float32)
        elif name != HEAD:
            std = 0.02 / math.sqrt(2 * config.n_layer) if name.endswith("c_proj.weight") else 0.02
            weights[name] = (std * rng.standard_normal(shape)).astype(np.float32)
    return weights


def training_state(weights: Weights) -> TrainingState:
    """Return the state before the first step. It has copies of the weights, so the arrays stay as they are."""

    def zeros() -> Tensors:
        return {name: Tensor.from_dlpack(np.zeros_like(array)) for name, array in weights.items()}

    copies = {name: Tensor.from_dlpack(array.copy()) for name, array in weights.items()}
    return TrainingState(copies, sums=zeros(), m=zeros(), v=zeros())


def zero_sums(sums: Tensors) -> None:
    """Write zeros into the sums of gradients, in place."""
    for tensor in sums.values():
        buffer = tensor.driver_tensor
        buffer.inplace_copy_from(Buffer.zeros(buffer.shape, buffer.dtype, buffer.device))
        buffer.device.synchronize()  # what reads the tensor next must not come before the copy


def accumulate_batches(state: TrainingState, batches: Iterable[Batch], accumulate: Compiled) -> tuple[float, float]:
    """Return the sum of the losses of all batches, and how many losses they are; write into ``state.sums``."""
    loss_sum = count = 0.0
    zero_sums(state.sums)
    for input_ids, labels in batches:
        batch_sum, batch_count = accumulate(input_ids, labels, state.weights, state.sums)
        loss_sum += batch_sum.item()
        count += batch_count.item()
    return loss_sum, count


def check_finite(step: int, name: str, number: float) -> None:
    """Raise FloatingPointError if the loss or the norm of a step is NaN or infinite."""
    if not math.isfinite(number):
        raise FloatingPointError(f"the {name} of step {step} is {number}")


def model_with_weights(config: GPT2Config, weights: Tensors) -> MaxGPT2LMHeadModel:
    """Return a model that computes with these very tensors; the head has the weights of ``wte``."""
    return tree.update(empty_model(config), weights | {HEAD: weights[WTE]}, leaf=Tensor)


def scalar(number: float) -> Tensor:  # -> []
    """Return a number as float32, which a compiled graph can take as an input."""
    return Tensor.from_dlpack(np.array(number, np.float32))
