"""Operations for MAX's graphs: causal attention with a cache, and the product of a linear layer."""

from extensibility import InputTensor, ManagedTensorSlice, OutputTensor, register
from extensibility import _MutableInputTensor as MutableInputTensor
from linalg.matmul import matmul
from max.gpu.host import DeviceContext
from max.runtime.asyncrt import parallelism_level

from .bfloat16 import rounded_product
from .heads import Heads, attend, store
from .linear import FEW, few_rows
from .vectors import Floats


@always_inline
def heads_of(tensor: ManagedTensorSlice[dtype=DType.float32, rank=4, ...]) -> Heads:  # [batch, head, token, depth]
    """Return a view of a tensor whose last axis is side by side in memory."""
    var strides = tensor.strides()
    return Heads(tensor.unsafe_ptr().unsafe_origin_cast[MutUntrackedOrigin](), strides[0], strides[1], strides[2])


@always_inline
def heads_from[depth: Int](
    joined: ManagedTensorSlice[dtype=DType.float32, rank=3, ...], first: Int
) -> Heads:  # [batch, token, head * depth]
    """Return the heads from the first that is wanted, of tokens whose heads stand side by side."""
    var strides = joined.strides()
    var data = joined.unsafe_ptr().unsafe_origin_cast[MutUntrackedOrigin]()
    return Heads(data.unsafe_offset(first * depth), strides[0], depth, strides[1])


@register("causal_attention_cached")
struct CachedCausalAttention:
    """[batch, seq, (head + 2 * kv_head) * depth], twice [batch, kv_head, slots, depth], [batch], [1] ->
    [batch, seq, head * depth].
    """

    @staticmethod
    def execute[
        target: StaticString, depth: Int
    ](
        output: OutputTensor[dtype=DType.float32, rank=3, ...],
        joined: InputTensor[dtype=DType.float32, rank=3, ...],
        keys: MutableInputTensor[dtype=DType.float32, rank=4, ...],
        values: MutableInputTensor[dtype=DType.float32, rank=4, ...],
        starts: InputTensor[dtype=DType.int32, rank=1, ...],
        past: InputTensor[dtype=DType.int32, rank=1, ...],
        ctx: DeviceContext,
    ) raises:
        var batch = output.shape()[0]
        var heads = output.shape()[2] // depth
        var kv_heads = keys.shape()[1]
        var seq = output.shape()[1]
        var before = Int(past.unsafe_ptr().unsafe_load(0))
        store[depth](heads_from[depth](joined, heads), heads_of(keys), batch, kv_heads, seq, before)
        store[depth](heads_from[depth](joined, heads + kv_heads), heads_of(values), batch, kv_heads, seq, before)
        attend[depth](
            heads_from[depth](joined, 0),
            heads_of(keys),
            heads_of(values),
            starts.unsafe_ptr().unsafe_origin_cast[MutUntrackedOrigin](),
            heads_from[depth](output, 0),
            batch,
            heads,
            kv_heads,
            seq,
            before + seq,
            parallelism_level(None),
        )


@register("linear")
struct Linear:
    """[rows, in], [out, in] -> [rows, out]: our own product for few rows, MAX's for more."""

    @staticmethod
    def execute[
        target: StaticString
    ](
        output: OutputTensor[dtype=DType.float32, rank=2, ...],
        x: InputTensor[dtype=DType.float32, rank=2, ...],
        weight: InputTensor[dtype=DType.float32, rank=2, ...],
        ctx: DeviceContext,
    ) raises:
        var rows = x.shape()[0]
        if rows > FEW:
            matmul[transpose_b=True, target=target](
                output.to_tile_tensor[DType.int64](),
                x.to_tile_tensor[DType.int64](),
                weight.to_tile_tensor[DType.int64](),
                ctx,
            )
            return
        few_rows(
            x.unsafe_ptr().unsafe_origin_cast[MutUntrackedOrigin](),
            weight.unsafe_ptr().unsafe_origin_cast[MutUntrackedOrigin](),
            rows,
            weight.shape()[1],
            weight.shape()[0],
            output.unsafe_ptr().unsafe_origin_cast[MutUntrackedOrigin](),
            parallelism_level(None),
        )


@register("linear_bfloat16")
struct LinearInBfloat16:
    """[rows, in], [blocks, (in + 1) / 2, BLOCK] -> [rows, out]: the product of numbers rounded to bfloat16."""

    @staticmethod
    def execute[
        target: StaticString
    ](
        output: OutputTensor[dtype=DType.float32, rank=2, ...],
        x: InputTensor[dtype=DType.float32, rank=2, ...],
        weight: InputTensor[dtype=DType.uint32, rank=3, ...],
        ctx: DeviceContext,
    ) raises:
        rounded_product(
            x.unsafe_ptr().unsafe_origin_cast[MutUntrackedOrigin](),
            weight.unsafe_ptr().unsafe_origin_cast[MutUntrackedOrigin](),
            x.shape()[0],
            x.shape()[1],
            output.shape()[1],
            output.unsafe_ptr().unsafe_origin_cast[MutUntrackedOrigin](),
            parallelism_level(None),
        )
