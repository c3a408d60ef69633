"""Operations in NumPy that MAX's interpreter lacks, or that MAX runs unchecked.

A part of the hook ``operations``, a trick.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from max.driver import Buffer
from max.dtype import DType

Run = Callable[[Any, Sequence[Any]], Sequence[Any]]  # the interpreter's own: an operation, its inputs -> its results

#: The two operations that ``F.qmatmul`` puts into a graph: one reorders the blocks, the other multiplies by them.
PRODUCT = re.compile(r"vroom_(q\w+?)_(repack_weights|matmul)")


def multiply(run: Run, op: Any, inputs: Sequence[Any]) -> Sequence[Any]:
    """Multiply rows by weights in blocks, in NumPy."""
    product = PRODUCT.fullmatch(op.symbol)
    if not product:
        return run(op, inputs)
    if product[2] == "repack_weights":
        return inputs
    import gguf

    rows, blocks = np.from_dlpack(inputs[0]), np.from_dlpack(inputs[1])
    weights = gguf.dequantize(blocks, gguf.GGMLQuantizationType[product[1].upper()])
    return [Buffer.from_numpy(rows @ weights.T)]


def gather(run: Run, op: Any, inputs: Sequence[Any]) -> Sequence[Any]:
    """Look up rows by any whole numbers, such as the uint32 offsets of step 15's requests."""
    rows, numbers = inputs
    if numbers.dtype not in (DType.int32, DType.int64):  # there are kernels for these alone
        numbers = Buffer.from_numpy(numbers.to_numpy().astype(np.int64))
    return run(op, [rows, numbers])


def gather_nd(run: Run, op: Any, inputs: Sequence[Any]) -> Sequence[Any]:
    """Return the elements at these indices.

    Raises:
        IndexError: there is no such element. MAX would read whatever lies there in memory.
    """
    rows, places = inputs
    for axis, indices in enumerate(np.moveaxis(places.to_numpy(), -1, 0), op.batch_dims):
        size = rows.shape[axis]
        for index in indices[(indices < -size) | (indices >= size)]:
            raise IndexError(f"index {index} is out of range for an axis of size {size}, and MAX does not check it")
    return gather(run, op, inputs)
