"""The attention of steps 07 and 25, step 14's cache and linear layers with the kernels for MAX's operations."""

from __future__ import annotations

from functools import partial
from typing import Any, cast

import numpy as np
from max.driver import CPU, Buffer, Device
from max.dtype import DType
from max.experimental import functional as F
from max.experimental.compilation import CompiledCallable
from max.experimental.nn import Linear, Module
from max.experimental.tensor import Tensor
from max.graph import DeviceRef, TensorType

from play.kernels.operations import cached_attention, linear, linear_bfloat16, loaded, pairs_of
from solutions.caching import PADDING, CachedFunction, KVCache, cache_type
from solutions.llama import LlamaForCausalLM
from solutions.solution_01 import GPT2Config
from solutions.solution_07 import GPT2MultiHeadAttention
from solutions.solution_08 import pre_norm_residual
from solutions.solution_11 import MaxGPT2LMHeadModel
from solutions.solution_14 import CachedModel
from solutions.solution_24 import rotary_angles, rotate
from solutions.solution_25 import LlamaAttention

LAST = slice(-1, None)  # the token after which a text goes on


class KernelLinear(Module[[Tensor], Tensor]):
    """A linear layer by the kernel, with the weights of the layer that it stands for, under the same names.

    If ``bfloat16``, they are rounded to bfloat16 and packed.
    """

    def __init__(self, layer: Linear, bfloat16: bool = False) -> None:
        self.weight, self.bias = layer.weight, layer.bias
        self.outputs = int(layer.weight.shape[0]) if bfloat16 else None
        if bfloat16:
            self.weight = Tensor.from_dlpack(pairs_of(np.from_dlpack(layer.weight)))

    def forward(self, x: Tensor) -> Tensor:  # [..., in] -> [..., out]
        """Apply the weights, and the bias if there is one, which MAX adds in passing with what comes after."""
        output = linear_bfloat16(x, self.weight, self.outputs) if self.outputs else linear(x, self.weight)
        return output + self.bias if isinstance(self.bias, Tensor) else output


def with_linear(model: Module[..., Any], bfloat16: bool = False) -> None:
    """Put the kernel into every linear layer of a model, which keeps its weights.

    If ``bfloat16``, it keeps them in bfloat16; the embeddings stay as they are, though the head shares their numbers.
    """
    for module in [model, *(inner for _, inner in model.descendants)]:
        for name, layer in list(module.children):
            if isinstance(layer, Linear):
                setattr(module, name, KernelLinear(layer, bfloat16))


def attend(
    attention: GPT2MultiHeadAttention, keys: Tensor, values: Tensor, starts: Tensor, past: Tensor, hidden_states: Tensor
) -> Tensor:  # [batch, seq, embd] -> [batch, seq, embd]
    """Run step 14's ``cached_attention``, with everything between the projections in one operation."""
    joined = attention.c_attn(hidden_states)
    return attention.c_proj(cached_attention(joined, keys, values, starts, past, attention.num_heads))


class KernelGPT2(Module[[Tensor, Tensor, Tensor, Tensor, KVCache], Tensor]):
    """Step 14's ``CachedGPT2`` with the kernels. It has no weights of its own; it uses those of step 11's model.

    The model's linear layers are the kernel's from then on.

    Args:
        model: the model.
        wanted: the new tokens whose logits are wanted.
        bfloat16: multiply in bfloat16 in linear layers.
    """

    def __init__(self, model: MaxGPT2LMHeadModel, wanted: slice, bfloat16: bool = False) -> None:
        self.model, self.wanted = model, wanted
        with_linear(model, bfloat16)

    def forward(
        self, input_ids: Tensor, positions: Tensor, starts: Tensor, past: Tensor, cache: KVCache
    ) -> Tensor:  # [batch, seq], [batch, seq], [batch], [1] -> [batch, wanted, vocab]
        """Return the logits after the wanted tokens, and leave keys and values of the new tokens in the cache."""
        transformer = self.model.transformer
        hidden_states = transformer.wte(input_ids) + transformer.wpe(positions)
        for block, (keys, values) in zip(transformer.h, cache, strict=True):
            attention = partial(attend, block.attn, keys, values, starts, past)
            hidden_states = pre_norm_residual(hidden_states, block.ln_1, attention)
            hidden_states = pre_norm_residual(hidden_states, block.ln_2, block.mlp)
        return self.model.lm_head(transformer.ln_f(hidden_states[:, self.wanted]))


def attend_in_groups(
    attention: LlamaAttention,
    keys: Tensor,
    values: Tensor,
    starts: Tensor,
    past: Tensor,
    angles: Tensor,
    hidden_states: Tensor,
) -> Tensor:  # [batch, seq, embd] -> [batch, seq, embd]
    """Run step 25's attention, with everything between the rotation and the last projection in one operation."""
    batch, seq, _ = hidden_states.shape
    query, key, value = attention._qkv(hidden_states)
    heads = F.concat([rotate(query, angles), rotate(key, angles), value], axis=1)  # [batch, …, seq, head_dim]
    joined = heads.transpose(1, 2).reshape([batch, seq, -1])
    return attention.o_proj(cached_attention(joined, keys, values, starts, past, attention.num_heads))


class KernelLlama(Module[[Tensor, Tensor, Tensor, Tensor, KVCache], Tensor]):
    """``LlamaForCausalLM`` with the kernels. It has that model's weights, and replaces its linear layers."""

    def __init__(self, model: LlamaForCausalLM) -> None:
        self.model = model
        with_linear(model)

    def forward(
        self, input_ids: Tensor, positions: Tensor, starts: Tensor, past: Tensor, cache: KVCache
    ) -> Tensor:  # [batch, seq], [batch, seq], [batch], [1] -> [batch, 1, vocab]
        """Return the logits after the last token, and leave keys and values of the new tokens in the cache."""
        llama = self.model.model
        angles = rotary_angles(positions, llama.config)
        hidden_states = llama.embed_tokens(input_ids)
        for layer, (keys, values) in zip(llama.layers, cache, strict=True):
            attention = cast(LlamaAttention, layer.self_attn)
            sublayer = partial(attend_in_groups, attention, keys, values, starts, past, angles)
            hidden_states = pre_norm_residual(hidden_states, layer.input_layernorm, sublayer)
            hidden_states = pre_norm_residual(hidden_states, layer.post_attention_layernorm, layer.mlp)
        return self.model.lm_head(llama.norm(hidden_states[:, -1:]))


def compile_with_kernels(
    model: MaxGPT2LMHeadModel, device: Device, wanted: slice = LAST, bfloat16: bool = False
) -> CachedModel:
    """Move the model to a device and compile it with a cache and with the kernels, for the prompt and every token."""
    return compiled(KernelGPT2(model, wanted, bfloat16), model.config, device)


def compile_llama_with_kernels(model: LlamaForCausalLM, device: Device) -> CachedModel:
    """Move a Llama to a device and compile it with a cache and with the kernels, for the prompt and every token."""
    return compiled(KernelLlama(model), model.config.cache_config, device)


def compiled(model: KernelGPT2 | KernelLlama, cached: GPT2Config, device: Device) -> CachedModel:
    """Move a model with the kernels to a device and compile it; ``cached`` has the sizes of its cache."""
    model.to(device)
    ref = DeviceRef.from_device(device)
    ids = TensorType(DType.int64, ["batch", "seq"], ref)
    starts, past = TensorType(DType.int32, ["batch"], ref), TensorType(DType.int32, [1], ref)
    with loaded():
        graph = model.compile(ids, ids, starts, past, cache_type(cached, device))
    return CachedModel(as_step_14(graph, device), cached, device)


def as_step_14(graph: CompiledCallable[..., Tensor], device: Device) -> CachedFunction:
    """Return a compiled ``KernelGPT2`` or ``KernelLlama`` as a function with the arguments of step 14's."""
    return partial(run_graph, graph, device)


def run_graph(
    graph: CompiledCallable[..., Tensor], device: Device, input_ids: np.ndarray, past: int, cache: KVCache
) -> np.ndarray:  # [batch, seq] -> [batch, wanted, vocab]
    """Return the logits of a compiled graph for tokens, of which the first ``past`` are in the cache."""
    starts = (input_ids == PADDING).sum(axis=-1, dtype=np.int32)  # padding stands in front
    positions = np.maximum(np.arange(input_ids.shape[-1]) - starts[:, None], 0)
    new = np.maximum(input_ids, 0)[:, past:], positions[:, past:]  # padding is looked up too
    arrays = map(np.ascontiguousarray, (*new, starts, np.array([past], np.int32)))
    inputs = (Buffer.from_dlpack(array).to(device) for array in arrays)
    # Called as a function, MAX would check every tensor of the cache for each token, which takes a millisecond.
    (logits,) = graph.execute_raw(*inputs, *(half.driver_tensor for block in cache for half in block))
    return np.from_dlpack(logits.to(CPU()))
