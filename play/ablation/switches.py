"""Step 11's model with a switch for each part. Switches are inputs of the graph, so one graph serves them all."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from max.driver import CPU
from max.dtype import DType
from max.experimental import functional as F
from max.experimental.nn import Module
from max.experimental.tensor import Tensor
from max.graph import DeviceRef, TensorType

from solutions.solution_01 import GPT2Config
from solutions.solution_03 import LayerNorm
from solutions.solution_04 import GPT2MLP
from solutions.solution_07 import GPT2MultiHeadAttention
from solutions.solution_11 import MaxGPT2LMHeadModel

ATTENTION, FEED_FORWARD = 0, 1  # the sublayers of a block
NORMALIZED, GAIN, BIAS = 0, 1, 2  # what a layer normalization does
TANH, EXACT, NO_BEND = 0, 1, 2  # the activations
RANDOM_HEAD = 1  # a seed; with 0, step 20 draws the numbers that the embeddings begin from, and traces of them remain


#: How much of each part a run of the model has, by name. As a rule, 1 is all of it and 0 is nothing.
Switches = dict[str, np.ndarray]


def everything(model: MaxGPT2LMHeadModel) -> Switches:
    """Return the switches with which the model is step 11's."""
    config = model.config
    layers, length = config.n_layer, config.n_positions
    return {
        "wpe": np.from_dlpack(model.transformer.wpe.weight),  # [n_positions, embd]
        "mask": _numbers(np.triu(np.full((length, length), -np.inf), k=1)),  # added to the scores
        "scores": _numbers([1]),  # a factor of the scaled scores
        "heads": _numbers(np.ones((layers, config.n_head))),
        "sublayers": _numbers(np.ones((layers, 2))),  # what attention and feed-forward network write
        "stream": _numbers(np.ones((layers, 2))),  # what is left of the stream that each of them adds to
        "norm": _numbers([1, 1, 1]),  # the normalization itself, its gain, and its bias
        "activation": _numbers([1, 0, 0]),  # tanh GELU, exact GELU, nothing; they sum to 1
        "lm_head": np.from_dlpack(model.lm_head.weight),  # [vocab, embd]
    }


def _numbers(values: Any) -> np.ndarray:
    return np.array(values, np.float32)


def inputs(on: Switches, length: int) -> Switches:
    """Return the inputs of the graph for sequences of ``length`` tokens."""
    return on | {"wpe": on["wpe"][:length], "mask": on["mask"][:length, :length]}


def left_out(on: Switches, config: GPT2Config) -> dict[str, Switches]:
    """Return switches that each lack one part, by the name of that part or of its replacement."""
    numbers = np.random.default_rng(RANDOM_HEAD)
    random_head = numbers.standard_normal(on["lm_head"].shape) * on["lm_head"].std()
    return {
        "positions: none": on | {"wpe": 0 * on["wpe"]},
        "positions: everywhere the first": on | {"wpe": np.repeat(on["wpe"][:1], config.n_positions, axis=0)},
        "positions: backward": on | {"wpe": on["wpe"][::-1].copy()},
        "normalization: gain 1": on | {"norm": _numbers([1, 0, 1])},
        "normalization: bias 0": on | {"norm": _numbers([1, 1, 0])},
        "normalization: none": on | {"norm": _numbers([0, 1, 1])},
        "activation: exact GELU": on | {"activation": _numbers([0, 1, 0])},
        "activation: none": on | {"activation": _numbers([0, 0, 1])},
        "attention: no scale": on | {"scores": _numbers([math.sqrt(config.head_dim)])},
        "attention: even weights": on | {"scores": _numbers([0])},
        "attention: no mask": on | {"mask": 0 * np.tril(on["mask"])},
        "attention: none": without_layer(on, slice(None), ATTENTION),
        "feed-forward: none": without_layer(on, slice(None), FEED_FORWARD),
        "residual: none": on | {"stream": 0 * on["stream"]},
        "head: random": on | {"lm_head": _numbers(random_head)},
    }


def without_head(on: Switches, layer: int, head: int) -> Switches:
    """Return the switches without one head; layers and heads count from 0."""
    heads = on["heads"].copy()
    heads[layer, head] = 0
    return on | {"heads": heads}


def without_layer(on: Switches, layer: int | slice, *halves: int) -> Switches:
    """Return the switches with one sublayer of a block, or both, writing nothing; a slice does so in several blocks."""
    sublayers = on["sublayers"].copy()
    sublayers[layer, halves] = 0
    return on | {"sublayers": sublayers}


class SwitchedGPT2(Module[[Tensor, Mapping[str, Tensor]], Tensor]):
    """GPT-2 with switches. It has no weights of its own; it uses the weights of step 11's model."""

    def __init__(self, model: MaxGPT2LMHeadModel) -> None:
        self.model = model

    def forward(
        self, input_ids: Tensor, on: Mapping[str, Tensor]
    ) -> Tensor:  # [batch, seq], the switches -> [batch, seq, vocab]
        """Return the logarithm of each token's probability of coming next."""
        transformer = self.model.transformer
        hidden_states = transformer.wte(input_ids) + on["wpe"]
        for layer, block in enumerate(transformer.h):
            normalized = normalize(block.ln_1, hidden_states, on["norm"])
            written = gather(block.attn, normalized, on["mask"], on["scores"], on["heads"][layer])
            stream, added = on["stream"][layer], on["sublayers"][layer]
            hidden_states = stream[ATTENTION] * hidden_states + added[ATTENTION] * written
            written = feed_forward(block.mlp, normalize(block.ln_2, hidden_states, on["norm"]), on["activation"])
            hidden_states = stream[FEED_FORWARD] * hidden_states + added[FEED_FORWARD] * written
        return F.logsoftmax(normalize(transformer.ln_f, hidden_states, on["norm"]) @ on["lm_head"].transpose(0, 1))

    def compiled(self) -> Any:
        """Return the graph for the CPU, as a function of a tensor and a dictionary of tensors."""
        ref, on = DeviceRef.from_device(CPU()), everything(self.model)
        shapes: dict[str, Any] = {name: array.shape for name, array in on.items()}
        shapes |= {"wpe": ["seq", self.model.config.n_embd], "mask": ["seq", "seq"]}
        types: Any = {name: TensorType(DType.float32, shape, ref) for name, shape in shapes.items()}
        return self.compile(TensorType(DType.int64, ["batch", "seq"], ref), types)


def normalize(norm: LayerNorm, x: Tensor, on: Tensor) -> Tensor:  # [..., embd], [3] -> [..., embd]
    """Apply step 03's layer normalization, or parts of it."""
    gain = on[GAIN] * norm.weight + (1 - on[GAIN])
    normalized = F.layer_norm(x, gamma=gain, beta=on[BIAS] * norm.bias, epsilon=norm.eps)
    return on[NORMALIZED] * normalized + (1 - on[NORMALIZED]) * x


def gather(
    attention: GPT2MultiHeadAttention, x: Tensor, mask: Tensor, factor: Tensor, heads: Tensor
) -> Tensor:  # [batch, seq, embd], [seq, seq], [1], [head] -> [batch, seq, embd]
    """Apply step 07's attention, with a factor for the scores and one for the result of each head."""
    query, key, value = attention._qkv(x)
    values = attention._attn(factor * query, key, value, mask) * heads.reshape([-1, 1, 1])
    return attention.c_proj(attention._merge_heads(values))


def feed_forward(mlp: GPT2MLP, x: Tensor, on: Tensor) -> Tensor:  # [..., embd], [3] -> [..., embd]
    """Apply step 04's feed-forward network, with a mixture of activations."""
    wide = mlp.c_fc(x)
    tanh, exact = F.gelu(wide, approximate="tanh"), F.gelu(wide, approximate="none")
    return mlp.c_proj(on[TANH] * tanh + on[EXACT] * exact + on[NO_BEND] * wide)
