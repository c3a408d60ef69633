"""One step of training as a workload: forward, backward, clipping and AdamW; and its matrix products alone."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from tools.benchmarks.backends import Call, Read, Workload

RATE = 1e-4  # small, so that many steps on one batch stay far from learning it by heart
MAX_NORM = 1.0
BETAS, EPSILON, WEIGHT_DECAY = (0.9, 0.95), 1e-8, 0.1
BFLOAT16 = "bfloat16"  # a precision; for PyTorch's step, a way: products in it, the rest in float32


def max_step(folder: Path, workload: Workload) -> tuple[Call, Read]:
    """Return a function that takes a step by steps 16 to 20 of this course, as ``./run train`` does."""
    from checker.max_adapter.runtime import tensor
    from play.training.graphs import compile_trainer
    from solutions.solution_13 import convert_checkpoint, read_checkpoint, read_config
    from solutions.solution_20 import train_step

    config = read_config(folder)
    trainer = compile_trainer(config)
    weights = convert_checkpoint(read_checkpoint(folder))
    del weights["lm_head.weight"]
    zeros = {name: np.zeros_like(weight) for name, weight in weights.items()}
    trainer.go_on(0, weights, zeros, zeros)
    input_ids = tensor(workload.token_ids(config.vocab_size))
    step = partial(
        train_step, trainer.state, [(input_ids, input_ids)], RATE, accumulate=trainer.accumulate, update=trainer.update
    )
    return step, partial(two_steps, step)


def torch_step(model: Any, workload: Workload) -> tuple[Call, Read]:
    """Return a function that takes a step as users of PyTorch do, with autograd and the fused AdamW.

    Args:
        model: Hugging Face's GPT-2, which the steps change.
        workload: its ``way`` is sdpa unless it is ``torch.compile`` or ``bfloat16``.
    """
    import torch

    model.eval()  # without dropout
    parameters = [parameter.requires_grad_() for parameter in model.parameters()]
    groups: list[dict[str, Any]] = [
        {"params": [one for one in parameters if one.dim() > 1], "weight_decay": WEIGHT_DECAY},
        {"params": [one for one in parameters if one.dim() < 2], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, lr=RATE, betas=BETAS, eps=EPSILON, fused=True)
    forward = torch.compile(model) if workload.way == "torch.compile" else model
    input_ids = torch.from_numpy(workload.token_ids(model.config.vocab_size))

    def step() -> tuple[float, float]:
        with torch.enable_grad():
            with torch.autocast("cpu", torch.bfloat16, enabled=workload.way == BFLOAT16):
                loss = forward(input_ids, labels=input_ids, use_cache=False).loss
            loss.backward()
            norm = torch.nn.utils.clip_grad_norm_(parameters, MAX_NORM)
        optimizer.step()
        optimizer.zero_grad()
        return loss.item(), norm.item()

    return step, partial(two_steps, step)


def two_steps(step: Callable[[], tuple[float, float]], first: tuple[float, float]) -> list[np.ndarray]:
    """Return loss and norm of two steps: the loss of the second tells whether the first step was right."""
    return [np.array([first, step()], np.float64)]


def max_products(folder: Path, workload: Workload) -> tuple[Call, Read]:
    """Return a function that computes what no step can do without, in MAX: all its products, and attention's core.

    Each linear layer has three products, one forward and two backward, and so has the head. The core is attention
    without its projections, forward and backward. Nothing is added, normalized or updated.
    """
    from max.driver import CPU
    from max.dtype import DType
    from max.experimental.nn import Module
    from max.experimental.tensor import Tensor
    from max.graph import TensorType

    from checker.max_adapter.runtime import tensor
    from solutions.solution_13 import read_config
    from solutions.solution_17 import linear_backward
    from solutions.solution_18 import attention_weights, heads_backward

    config = read_config(folder)
    rows, width, heads = workload.batch * workload.length, config.n_embd, config.n_head

    class Linear(Module[..., Any]):
        """A linear layer, forward and backward."""

        def forward(self, x: Tensor, grad: Tensor, weight: Tensor) -> Any:  # [rows, in], [rows, out], [out, in]
            grad_x, grad_weight, _ = linear_backward(grad, x, weight)
            return x @ weight.transpose(0, 1), grad_x, grad_weight

    class Core(Module[..., Any]):
        """Attention without projections, forward and backward."""

        def forward(self, query: Tensor, key: Tensor, value: Tensor) -> Any:  # three times [batch, head, seq, head_dim]
            output = attention_weights(query, key) @ value
            return output, *heads_backward(output, query, key, value)

    generator = np.random.default_rng(0)

    def ready(module: Any, *shapes: tuple[int, ...]) -> Callable[[], Any]:
        graph = module.compile(*(TensorType(DType.float32, shape, device=CPU()) for shape in shapes))
        return partial(graph, *(tensor(generator.standard_normal(shape, dtype=np.float32)) for shape in shapes))

    def linear(inputs: int, outputs: int) -> Callable[[], Any]:
        return ready(Linear(), (rows, inputs), (rows, outputs), (outputs, inputs))

    heads_shape = (workload.batch, heads, workload.length, width // heads)
    of_layer = [linear(width, 3 * width), linear(width, width), linear(width, 4 * width), linear(4 * width, width)]
    of_layer.append(ready(Core(), heads_shape, heads_shape, heads_shape))
    head = linear(width, config.vocab_size)

    def call() -> None:
        for _ in range(config.n_layer):
            for part in of_layer:
                part()
        head()

    return call, lambda nothing: []
