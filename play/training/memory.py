"""The numbers of a training: each group is in two arrays, which NumPy and the compiled graphs share.

Step 20's ``Update`` treats every number alike, whatever weight it belongs to, except that matrices decay. So it gets
all matrices as one weight and everything else as another, and MAX compiles it for two weights instead of dozens.
``Accumulate``, which needs every weight by itself, gets views of the same memory.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from max.driver import CPU, Buffer
from max.dtype import DType
from max.experimental.tensor import Tensor
from max.graph import BufferType, DeviceRef

from solutions.checkpoint import Weights
from solutions.gradients import Tensors

Shapes = Mapping[str, tuple[int, ...]]

ALIGNED = 16  # float32 numbers: every array begins at a multiple of 64 bytes
ROW = 1024  # numbers: a norm is that of sums of rows, in each of which float32 loses little


class Shared:
    """Arrays of zeros by name, all of them views into two ``wholes``.

    Args:
        shapes: the shapes of the arrays. The wholes are all matrices, [rows, ROW], which decay, and all vectors.
    """

    def __init__(self, shapes: Shapes) -> None:
        matrices, whole = _side_by_side({name: shape for name, shape in shapes.items() if len(shape) > 1})
        vectors, rest = _side_by_side({name: shape for name, shape in shapes.items() if len(shape) == 1})
        self.arrays: Weights = matrices | vectors
        self.wholes: Weights = {"matrices": whole.reshape(-1, ROW), "vectors": rest}

    def fill(self, values: Weights) -> None:
        """Write values into the arrays, in place."""
        for name, array in self.arrays.items():
            array[...] = values[name]


def _side_by_side(shapes: Shapes) -> tuple[Weights, np.ndarray]:
    """Return arrays of zeros, and the memory that they are parts of; the numbers between and behind stay zeros."""
    sizes = [-(-math.prod(shape) // ALIGNED) * ALIGNED for shape in shapes.values()]
    whole = Buffer.zeros([-(-sum(sizes) // ROW) * ROW], DType.float32, CPU()).to_numpy()
    starts = np.cumsum([0, *sizes[:-1]])
    parts = zip(shapes.items(), starts, strict=True)
    return {name: whole[at : at + math.prod(shape)].reshape(shape) for (name, shape), at in parts}, whole


def tensors(arrays: Weights) -> Tensors:
    """Return arrays as tensors that share their memory."""
    return {name: Tensor.from_dlpack(array) for name, array in arrays.items()}


def types(arrays: Weights) -> Any:  # by name; Module.compile takes them, though its types do not say so
    """Return the types of arrays that a compiled graph may write into."""
    return {name: BufferType(DType.float32, array.shape, device=DeviceRef.CPU()) for name, array in arrays.items()}
