"""One step of training as a workload: forward, backward, clipping and AdamW; and its matrix products alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from play.training.plan import Plan
    from play.training.windows import Material
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

    optimizer = torch_optimizer(model)
    forward = torch.compile(model) if workload.way == "torch.compile" else model
    input_ids = torch.from_numpy(workload.token_ids(model.config.vocab_size))

    def step() -> tuple[float, float]:
        with torch.enable_grad():
            with torch.autocast("cpu", torch.bfloat16, enabled=workload.way == BFLOAT16):
                loss = forward(input_ids, labels=input_ids, use_cache=False).loss
            loss.backward()
            norm = torch.nn.utils.clip_grad_norm_(model.parameters(), MAX_NORM)
        optimizer.step()
        optimizer.zero_grad()
        return loss.item(), norm.item()

    return step, partial(two_steps, step)


def torch_optimizer(model: Any) -> Any:
    """Make a model ready to be trained without dropout, and return the fused AdamW, which decays matrices alone."""
    import torch

    model.eval()
    parameters = [parameter.requires_grad_() for parameter in model.parameters()]
    groups: list[dict[str, Any]] = [
        {"params": [one for one in parameters if one.dim() > 1], "weight_decay": WEIGHT_DECAY},
        {"params": [one for one in parameters if one.dim() < 2], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=RATE, betas=BETAS, eps=EPSILON, fused=True)


def torch_training(plan: Plan, material: Material, last: int) -> Iterator[tuple[int, float, Callable[[], float]]]:
    """Train as ``./run train`` does, in PyTorch: yield each step, its loss, and what measures the held-out text.

    The first weights, the batches and the learning rates are those of the plan. The measure is in bits per byte.
    """
    import torch
    from transformers import GPT2Config as TheirConfig
    from transformers import GPT2LMHeadModel

    from play.training.checkpoint import in_hugging_faces_layout
    from play.training.graphs import config_of
    from play.training.windows import NOT_COUNTED, count_bytes
    from solutions.solution_16 import bits_per_byte
    from solutions.solution_20 import initialize, learning_rate

    config = config_of(plan, material.tokenizer.get_vocab_size())
    model = GPT2LMHeadModel(TheirConfig(**asdict(config)))
    first = in_hugging_faces_layout(initialize(config, plan.seed))
    model.load_state_dict({name: torch.from_numpy(array) for name, array in first.items()}, strict=False)
    optimizer = torch_optimizer(model)

    def evaluate() -> float:
        nats, count = 0.0, 0
        with torch.inference_mode():
            for ids, targets in material.validation:
                logits, wanted = model(torch.from_numpy(ids)).logits.flatten(0, 1), torch.from_numpy(targets).flatten()
                losses = torch.nn.functional.cross_entropy(logits, wanted, ignore_index=NOT_COUNTED, reduction="sum")
                nats, count = nats + losses.item(), count + int((wanted != NOT_COUNTED).sum())
        return bits_per_byte(nats / count, count, count_bytes(material.tokenizer, material.validation))

    for step in range(1, last + 1):
        optimizer.zero_grad()
        total = 0.0
        for ids in material.windows.batches(step):
            input_ids = torch.from_numpy(ids)
            loss = model(input_ids, labels=input_ids, use_cache=False).loss / plan.accumulate
            loss.backward()
            total += loss.item()
        torch.nn.utils.clip_grad_norm_(model.parameters(), MAX_NORM)
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(step, peak=plan.rate, warmup_steps=plan.warmup_steps, total_steps=plan.steps)
        optimizer.step()
        yield step, total, evaluate


def two_steps(step: Callable[[], tuple[float, float]], first: tuple[float, float]) -> list[np.ndarray]:
    """Return the loss of a step, that of the next, which tells whether the first was right, and the first one's norm.

    The norm counts a hundredth: in 32 bits PyTorch's own norm of GPT-2 small's gradients is off by almost a thousandth.
    The next step's norm is no measure. AdamW's first update of a weight has the size of the rate and the sign of the
    gradient, and gradients near zero have the sign that rounding gives them.
    """
    loss, norm = first
    return [np.array([loss, step()[0], norm / 100], np.float64)]


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
