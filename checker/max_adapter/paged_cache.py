"""MAX's paged KV cache as step 15 uses it: three of MAX's kernels behind two methods."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from max import tree
from max.driver import CPU
from max.dtype import DType
from max.experimental import functional as F
from max.experimental.tensor import Tensor
from max.nn.attention import MHAMaskVariant
from max.nn.kernels import flash_attention_ragged, store_k_cache_ragged, store_v_cache_ragged
from max.nn.kv_cache import KVCacheInputsPerDevice, KVCacheParamInterface

_store_key = F.functional(store_k_cache_ragged)
_store_value = F.functional(store_v_cache_ragged)
_attend = F.functional(flash_attention_ragged)


class MaxPagedCache:
    """The cache of one device while a graph is being made. Step 15 says what each method does.

    Args:
        params: the sizes that the pages were cut to.
        inputs: the graph's inputs that make up the cache, in MAX's order.
        row_offsets: where each request begins, and the end of the last: one more than there are requests.
    """

    def __init__(self, params: KVCacheParamInterface, inputs: Sequence[Tensor], row_offsets: Tensor) -> None:
        self.params = params
        values = params.unflatten_kv_inputs(iter([value._graph_value for value in inputs]))
        (self.values,) = tree.leaves(values, leaf=KVCacheInputsPerDevice)
        past = Tensor.from_graph_value(self.values.cache_lengths)
        self.past = F.rebind(past, [row_offsets.shape[0] - 1])  # MAX can't know that they are as many

    def store(self, layer: int, key: Tensor, value: Tensor, row_offsets: Tensor) -> None:
        """Write keys and values, twice [head, tokens, head_dim], into the pages of their requests."""
        index = F.constant(layer, DType.uint32, device=CPU())
        _store_key(self.values, key.transpose(0, 1), row_offsets, index)  # MAX wants [tokens, head, head_dim]
        _store_value(self.values, value.transpose(0, 1), row_offsets, index)

    def attend(
        self, layer: int, query: Tensor, row_offsets: Tensor, *, scale: float
    ) -> Tensor:  # [head, tokens, head_dim] -> [head, tokens, head_dim]
        """Attend to the pages of each request, with a causal mask."""
        attended: Tensor = _attend(
            self.params,
            input=query.transpose(0, 1),
            input_row_offsets=row_offsets,
            kv_collection=self.values,
            layer_idx=F.constant(layer, DType.uint32, device=CPU()),
            mask_variant=MHAMaskVariant.CAUSAL_MASK,
            scale=scale,
        )
        return attended.transpose(0, 1)


def over_pages(model: type[Any], params: KVCacheParamInterface) -> type[Any]:
    """Let ``model``, step 15's ``ServedGPT2``, take MAX's cache as inputs of its graph.

    It is a subclass, so that the weights keep their names.
    """

    class ServedOverPages(model):
        def forward(
            self, tokens: Tensor, row_offsets: Tensor, *cache: Tensor
        ) -> Tensor:  # [tokens], [batch + 1], MAX's cache -> [batch, vocab]
            """Return the logits of the token that follows each request."""
            return super().forward(tokens, row_offsets, MaxPagedCache(params, cache, row_offsets))

    return ServedOverPages
