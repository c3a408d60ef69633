"""The numbers of a training: each group is in two buffers, whose memory the compiled graphs share.

Step 20's ``Update`` treats every number alike, whatever weight it belongs to, except that matrices decay. So it gets
all matrices as one weight and everything else as another, and MAX compiles it for two weights instead of dozens.
``Accumulate``, which needs every weight by itself, gets views of the same memory.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from max.driver import CPU, Buffer, Device
from max.dtype import DType
from max.experimental.tensor import Tensor
from max.graph import BufferType, DeviceRef

from solutions.checkpoint import Weights
from solutions.gradients import Gradients

Shapes = Mapping[str, tuple[int, ...]]
Buffers = dict[str, Buffer]  # of float32, by name

ALIGNED = 16  # float32 numbers: every buffer begins at a multiple of 64 bytes
ROW = 1024  # numbers: a norm is that of sums of rows, in each of which float32 loses little


class Shared:
    """Buffers of zeros by name, all of them parts of two ``wholes``: what is written into one is in the other.

    Args:
        shapes: of the parts. The wholes are all matrices, [rows, ROW], which decay, and all vectors, [numbers].
        device: in whose memory they are.
    """

    def __init__(self, shapes: Shapes, device: Device = CPU()) -> None:  # noqa: B008 (a device never changes)
        matrices, whole = _side_by_side({name: shape for name, shape in shapes.items() if len(shape) > 1}, device)
        vectors, rest = _side_by_side({name: shape for name, shape in shapes.items() if len(shape) == 1}, device)
        self.parts: Buffers = matrices | vectors
        self.wholes: Buffers = {
            "matrices": whole.view(DType.float32, (whole.num_elements // ROW, ROW)),
            "vectors": rest,
        }

    @property
    def arrays(self) -> Weights:
        """The parts as arrays: on the CPU the memory itself, of a GPU a copy."""
        return {name: part.to_numpy() for name, part in self.parts.items()}

    def fill(self, values: Weights) -> None:
        """Write values into the parts, in place."""
        sources = {name: Buffer.from_numpy(values[name].astype(np.float32)) for name in self.parts}
        for name, part in self.parts.items():
            part.inplace_copy_from(sources[name])
        self.wholes["vectors"].device.synchronize()  # copying ends later, and needs the sources until then


def _side_by_side(shapes: Shapes, device: Device) -> tuple[Buffers, Buffer]:
    """Return buffers of zeros, and the memory that they are parts of; the numbers between and behind stay zeros."""
    sizes = [-(-math.prod(shape) // ALIGNED) * ALIGNED for shape in shapes.values()]
    whole = Buffer.zeros([-(-sum(sizes) // ROW) * ROW], DType.float32, device)
    starts = np.cumsum([0, *sizes[:-1]]).tolist()
    parts = zip(shapes.items(), starts, strict=True)
    return {name: whole[at : at + math.prod(shape)].view(DType.float32, shape) for (name, shape), at in parts}, whole


def tensors(buffers: Mapping[str, Any]) -> Gradients:
    """Return buffers, or arrays, as tensors that share their memory."""
    return {name: Tensor.from_dlpack(buffer) for name, buffer in buffers.items()}


def types(buffers: Buffers) -> Any:  # by name; Module.compile takes them, though its types do not say so
    """Return the types of buffers that a compiled graph may write into."""
    return {
        name: BufferType(DType.float32, buffer.shape, device=DeviceRef.from_device(buffer.device))
        for name, buffer in buffers.items()
    }
