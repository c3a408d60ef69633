"""Step 21 as an operation of MAX."""

from extensibility import InputTensor, OutputTensor, register
from max.gpu.host import DeviceContext

from .step_21 import Numbers, Rows, Starts, causal_attention


def rows(tensor: InputTensor[dtype = DType.float32, rank=4, ...]) -> Rows:
    var d = tensor.dim_size(3)
    var numbers = Numbers(
        unsafe_ptr=tensor.unsafe_ptr().unsafe_origin_cast[MutUntrackedOrigin](), length=tensor.size()
    )
    return Rows(numbers, d, d)


@register("causal_attention")
struct CausalAttention:
    @staticmethod
    def execute[
        target: StaticString
    ](
        output: OutputTensor[dtype = DType.float32, rank=3, ...],
        query: InputTensor[dtype = DType.float32, rank=4, ...],
        key: InputTensor[dtype = DType.float32, rank=4, ...],
        value: InputTensor[dtype = DType.float32, rank=4, ...],
        starts: InputTensor[dtype = DType.int32, rank=1, ...],
        ctx: DeviceContext,
    ) raises:
        var heads = query.dim_size(1)
        var seq = query.dim_size(2)
        var first = Starts(
            unsafe_ptr=starts.unsafe_ptr().unsafe_origin_cast[MutUntrackedOrigin](), length=starts.size()
        )
        var filled = Numbers(
            unsafe_ptr=output.unsafe_ptr().unsafe_origin_cast[MutUntrackedOrigin](), length=output.size()
        )
        causal_attention(rows(query), rows(key), rows(value), first, heads, seq, filled)
