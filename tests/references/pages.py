"""The pages of MAX's KV cache without its server, which the compiled claim of step 15 runs the model over."""

from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np
from max import tree
from max.driver import CPU, Buffer, Device
from max.dtype import DType
from max.experimental.tensor import Tensor, TensorType
from max.graph import DeviceRef
from max.nn.kv_cache import MHAKVCacheParams

from checker.max_adapter.paged_cache import over_pages

SEED = 15  # of the order in which pages are handed out


class Pages:
    """A fixed batch of requests, each with pages of its own, scattered among those of the others.

    Args:
        step: the module of step 15.
        model: step 11's, with its weights.
        batch: how many requests there are.
        page_size: tokens in one page.
        device: where the model runs.
    """

    def __init__(
        self,
        step: ModuleType,
        model: Any,
        *,
        batch: int,
        page_size: int,
        device: Device,
    ) -> None:
        reference, config = DeviceRef.from_device(device), model.config
        sizes = {"num_layers": config.n_layer, "n_kv_heads": config.n_head, "head_dim": config.head_dim}
        self.params = MHAKVCacheParams(dtype=DType.float32, devices=[reference], page_size=page_size, **sizes)
        self.device = device
        self.held = np.zeros(batch, dtype=int)
        pages_each = -(-config.n_positions // page_size)
        self.table = np.random.RandomState(SEED).permutation(batch * pages_each).reshape(batch, pages_each)
        shape = [batch * pages_each, *self.params.shape_per_block]
        self.blocks = Buffer.zeros(shape=shape, dtype=DType.float32, device=device)
        model.to(device)
        served = over_pages(step.ServedGPT2, self.params)(model)
        tokens = TensorType(DType.int64, ["tokens"], device=reference)
        row_offsets = TensorType(DType.uint32, ["row_offsets"], device=reference)
        self.graph: Any = served.compile(tokens, row_offsets, *tree.leaves(self.params.get_symbolic_inputs()))

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
