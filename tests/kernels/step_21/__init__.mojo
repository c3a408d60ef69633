"""Step 21 as an operation of MAX: ``ops.custom("causal_attention", …, custom_extensions=[this folder])``."""

import extensibility
from extensibility import InputTensor, OutputTensor
from max.gpu.host import DeviceContext

from .step_21 import causal_attention


@extensibility.register("causal_attention")
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
        causal_attention(
            query.unsafe_ptr(), key.unsafe_ptr(), value.unsafe_ptr(), starts.unsafe_ptr(),
            query.dim_size(0), query.dim_size(1), query.dim_size(2), key.dim_size(2), query.dim_size(3),
            output.unsafe_ptr(),
        )
