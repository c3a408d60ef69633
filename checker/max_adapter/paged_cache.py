"""MAX's paged KV cache as step 15 uses it: three of MAX's kernels behind two methods, and pages without MAX's server.

The server's model is built on :class:`MaxPagedCache`. The check of step 15 runs :class:`Pages`, which does what the
server does around each call of the model; so can anyone who wants to look into the pages.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import numpy as np
from max import tree
from max.driver import CPU, Buffer, Device
from max.dtype import DType
from max.experimental import functional as F
from max.experimental.tensor import Tensor, TensorType
from max.graph import DeviceRef
from max.nn.attention import MHAMaskVariant
from max.nn.kernels import flash_attention_ragged, store_k_cache_ragged, store_v_cache_ragged
from max.nn.kv_cache import KVCacheInputsPerDevice, KVCacheParamInterface, MHAKVCacheParams

SEED = 15  # of the order in which pages are handed out

_store_key = F.functional(store_k_cache_ragged)
_store_value = F.functional(store_v_cache_ragged)
_attend = F.functional(flash_attention_ragged)


class MaxPagedCache:
    """The cache of one device while a graph is being made. Step 15 says what each method does.

    Args:
        params: the sizes that the pages were cut to.
        inputs: the graph's inputs that make up the cache, in MAX's order.
    """

    def __init__(self, params: KVCacheParamInterface, inputs: Sequence[Tensor]) -> None:
        self.params = params
        values = params.unflatten_kv_inputs(iter([value._graph_value for value in inputs]))
        (self.values,) = tree.leaves(values, leaf=KVCacheInputsPerDevice)
        self.lengths = Tensor.from_graph_value(self.values.cache_lengths)

    def store(self, layer: int, key: Tensor, value: Tensor, row_offsets: Tensor) -> None:
        """Write keys and values, twice [tokens, head, head_dim], into the pages of their requests."""
        index = F.constant(layer, DType.uint32, device=CPU())
        _store_key(self.values, key, row_offsets, index)
        _store_value(self.values, value, row_offsets, index)

    def attend(
        self, layer: int, query: Tensor, row_offsets: Tensor, *, scale: float
    ) -> Tensor:  # [tokens, head, head_dim] -> [tokens, head, head_dim]
        """Attend to the pages of each request, with a causal mask."""
        return _attend(
            self.params,
            input=query,
            input_row_offsets=row_offsets,
            kv_collection=self.values,
            layer_idx=F.constant(layer, DType.uint32, device=CPU()),
            mask_variant=MHAMaskVariant.CAUSAL_MASK,
            scale=scale,
        )


def over_pages(model: type[Any], params: KVCacheParamInterface) -> type[Any]:
    """Let ``model``, step 15's ``ServedGPT2``, take MAX's cache as inputs of its graph.

    It is a subclass, so that the weights keep their names.
    """

    class ServedOverPages(model):
        def forward(
            self, tokens: Tensor, row_offsets: Tensor, *cache: Tensor
        ) -> Tensor:  # [tokens], [batch + 1], MAX's cache -> [batch, vocab]
            """Return the logits of the token that follows each request."""
            return super().forward(tokens, row_offsets, MaxPagedCache(params, cache))

    return ServedOverPages


class Pages:
    """A fixed batch of requests, each with pages of its own, scattered among those of the others.

    Args:
        step: the module of step 15.
        config: the model's configuration, as step 01 has it.
        build: makes the model, of the class and the configuration that it is given, with its weights.
        batch: how many requests there are.
        page_size: tokens in one page.
        device: where the model runs.
    """

    def __init__(
        self,
        step: ModuleType,
        config: Any,
        build: Callable[[type[Any], Any], Any],
        *,
        batch: int,
        page_size: int,
        device: Device,
    ) -> None:
        reference = DeviceRef.from_device(device)
        sizes = step.cache_sizes(config)
        self.params = MHAKVCacheParams(dtype=DType.float32, devices=[reference], page_size=page_size, **sizes)
        self.device = device
        self.held = np.zeros(batch, dtype=int)
        pages_each = -(-config.n_positions // page_size)
        self.table = np.random.RandomState(SEED).permutation(batch * pages_each).reshape(batch, pages_each)
        shape = [batch * pages_each, *self.params.shape_per_block]
        self.blocks = Buffer.zeros(shape=shape, dtype=DType.float32, device=device)
        model = build(over_pages(step.ServedGPT2, self.params), config)
        if device != CPU():
            model.to(device)
        tokens = TensorType(DType.int64, ["tokens"], device=reference)
        row_offsets = TensorType(DType.uint32, ["row_offsets"], device=reference)
        self.graph: Any = model.compile(tokens, row_offsets, *tree.leaves(self.params.get_symbolic_inputs()))

    def __call__(self, tokens: np.ndarray, counts: Sequence[int]) -> np.ndarray:  # [tokens] -> [batch, vocab]
        """Run each request's next ``counts`` tokens, which the cache keeps; return the logits of its last one."""
        row_offsets = np.cumsum([0, *counts])
        longest, total = max(counts), int((self.held + counts).max())
        plan = self.params.resolve_attn_key(len(counts), longest, total).pack_into_buffer(self.device, total)
        inputs = [
            self._buffer(tokens, DType.int64),
            self._buffer(row_offsets, DType.uint32),
            self.blocks,
            self._buffer(self.held, DType.uint32),
            self._buffer(self.table, DType.uint32),
            Buffer.from_numpy(np.array([longest], dtype=np.uint32)),
            Buffer.from_numpy(np.array([total], dtype=np.uint32)),
            Buffer.from_numpy(np.array([np.prod(self.params.shape_per_block)], dtype=np.int64)),
            plan,
        ]
        logits: Tensor = self.graph(*inputs)
        self.held += counts
        return np.from_dlpack(logits.to(CPU()))

    def _buffer(self, array: np.ndarray, dtype: DType) -> Buffer:
        return Buffer.from_numpy(np.ascontiguousarray(array, dtype=dtype.to_numpy())).to(self.device)
