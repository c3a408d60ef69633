"""Step 02: the causal mask, which keeps every token from looking at the tokens after it."""

from __future__ import annotations

from max.driver import Device
from max.dtype import DType
from max.experimental import functional as F
from max.experimental.tensor import Tensor
from max.graph import DimLike


def causal_mask(sequence_length: DimLike, *, dtype: DType, device: Device) -> Tensor:  # -> [seq, seq]
    """Return a mask to add to attention scores: 0 where a token may look, -inf where it may not.

    Row ``i`` is the token at position ``i``. It may look at columns ``0`` to ``i``, and at nothing to the right.
    The length is a number, or a symbolic dimension while MAX compiles; dtype and device are those of the scores.
    """
    # Fill a square with -inf, and clear all that a row may look at. (2 lines)
    mask = Tensor.full([sequence_length, sequence_length], float("-inf"), dtype=dtype, device=device)
    return F.band_part(mask, num_lower=None, num_upper=0, exclude=True)  # exclude: keep what is outside the band
