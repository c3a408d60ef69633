"""The numbers of a training: each group is in two arrays, which NumPy and the compiled graphs share.

Step 20's ``Update`` treats every number alike, whatever weight it belongs to, except that matrices decay. So it gets
all matrices as one weight and everything else as another, and MAX compiles it for two weights instead of dozens.
``Accumulate``, which needs every weight by itself, gets views of the same memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from max.dtype import DType
from max.experimental.tensor import Tensor
from max.graph import BufferType, DeviceRef

from solutions.solution_13 import Weights
from solutions.solution_18 import Gradients

ALIGNED = 16  # float32 numbers: every view begins at a multiple of 64 bytes
ROW = 1024  # numbers: a norm is that of sums of rows, in each of which float32 loses little

MATRICES, VECTORS = "matrices", "vectors"  # what decays, and what does not


@dataclass(frozen=True)
class Shared:
    """Arrays by name, which are parts of the two ``wholes``, of shapes [rows, ROW] and [numbers]."""

    arrays: Weights
    wholes: Weights

    def tensors(self) -> Gradients:
        """Return the arrays as tensors; whatever writes into one writes into the other."""
        return {name: Tensor.from_dlpack(array) for name, array in self.arrays.items()}

    def whole_tensors(self) -> Gradients:
        """Return the two wholes as tensors; whatever writes into them writes into all arrays."""
        return {name: Tensor.from_dlpack(array) for name, array in self.wholes.items()}

    def fill(self, values: Mapping[str, np.ndarray]) -> None:
        """Write values into the arrays, in place.

        Raises:
            ValueError: values are missing or unknown, or have other shapes.
        """
        shapes = {name: array.shape for name, array in self.arrays.items()}
        if {name: np.shape(value) for name, value in values.items()} != shapes:
            raise ValueError("the numbers of the checkpoint do not fit the model of its plan")
        for name, array in self.arrays.items():
            array[...] = values[name]

    def clear(self) -> None:
        """Write zeros, in place."""
        for whole in self.wholes.values():
            whole[...] = 0


def shared(shapes: Mapping[str, tuple[int, ...]]) -> Shared:
    """Return zeros of these shapes."""
    arrays: Weights = {}
    wholes: Weights = {}
    for kind in (MATRICES, VECTORS):
        places, size = {}, 0
        for name, shape in shapes.items():
            if (len(shape) > 1) == (kind == MATRICES):
                places[name] = size
                size += -(-int(np.prod(shape)) // ALIGNED) * ALIGNED
        if kind == MATRICES:
            size = -(-size // ROW) * ROW  # the zeros at the end stay zeros
        room = np.zeros(size + ALIGNED, np.float32)
        start = -room.ctypes.data // room.itemsize % ALIGNED
        whole = room[start : start + size]
        wholes[kind] = whole.reshape(-1, ROW) if kind == MATRICES else whole
        for name, place in places.items():
            arrays[name] = whole[place : place + int(np.prod(shapes[name]))].reshape(shapes[name])
    return Shared({name: arrays[name] for name in shapes}, wholes)


def types(arrays: Weights) -> Any:  # by name; Module.compile takes them, though its types do not say so
    """Return the types of arrays that a compiled graph may write into."""
    return {name: BufferType(DType.float32, array.shape, device=DeviceRef.CPU()) for name, array in arrays.items()}
