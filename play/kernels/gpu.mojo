"""Causal attention on a GPU, straightforward: a thread per query, which goes through its keys by the online softmax."""

from max.gpu import global_idx
from max.gpu.host import DeviceContext
from std.math import exp2, sqrt

from .vectors import LOG2_E

comptime THREADS = 128  # of a block
comptime MASKED = Float32(-1e30)  # as in attention.mojo


def attend_thread[depth: Int](
    query: Pointer[Float32, MutAnyOrigin],
    key: Pointer[Float32, MutAnyOrigin],
    value: Pointer[Float32, MutAnyOrigin],
    starts: Pointer[Int32, MutAnyOrigin],
    output: Pointer[Float32, MutAnyOrigin],
    batch: Int32,
    heads: Int32,
    seq: Int32,
    total: Int32,
):  # [batch, head, seq, depth], twice [batch, head, total, depth], [batch] -> [batch, seq, head * depth]
    """Let one query attend to the keys from where its row starts up to itself."""
    var index = Int(global_idx.x)
    if index >= Int(batch * heads * seq):
        return
    var token = index % Int(seq)
    var of = index // Int(seq)  # batch and head
    var row = of // Int(heads)
    comptime Numbers = SIMD[DType.float32, depth]
    var asked = query.unsafe_load[width=depth](index * depth) * Float32(LOG2_E / sqrt(Float64(depth)))
    var result = Numbers(0)
    var highest = MASKED
    var sum = Float32(0)
    for k in range(max(Int(starts.unsafe_load(row)), 0), Int(total - seq) + token + 1):
        var at = (of * Int(total) + k) * depth
        var score = (key.unsafe_load[width=depth](at) * asked).reduce_add()
        var now = max(highest, score)
        var correction = exp2(highest - now)
        var weight = exp2(score - now)
        sum = sum * correction + weight
        result = result * correction + value.unsafe_load[width=depth](at) * weight
        highest = now
    var factor = 1 / sum if sum > 0 else Float32(0)
    output.unsafe_store(((row * Int(seq) + token) * Int(heads) + of % Int(heads)) * depth, result * factor)


def attend_on_gpu[depth: Int](
    query: Pointer[Float32, MutAnyOrigin],
    key: Pointer[Float32, MutAnyOrigin],
    value: Pointer[Float32, MutAnyOrigin],
    starts: Pointer[Int32, MutAnyOrigin],
    output: Pointer[Float32, MutAnyOrigin],
    batch: Int,
    heads: Int,
    seq: Int,
    total: Int,
    context: DeviceContext,
) raises:
    """Start a thread for every query."""
    context.enqueue_function[attend_thread[depth]](
        query,
        key,
        value,
        starts,
        output,
        Int32(batch),
        Int32(heads),
        Int32(seq),
        Int32(total),
        grid_dim=(batch * heads * seq + THREADS - 1) // THREADS,
        block_dim=THREADS,
    )
