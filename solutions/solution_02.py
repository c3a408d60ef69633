"""Step 02: the causal mask, which keeps every token from looking at the tokens after it."""

from __future__ import annotations

from max.driver import Device
from max.dtype import DType
from max.experimental import functional as F
from max.experimental.tensor import Tensor
from max.graph import Dim, DimLike


def causal_mask(
    sequence_length: DimLike, num_tokens: int, *, dtype: DType, device: Device
) -> Tensor:  # -> [seq, seq + num_tokens]
    """Return a mask to add to attention scores: 0 where a token may look, -inf where it may not.

    Row ``i`` is the token at position ``num_tokens + i``, because ``num_tokens`` earlier tokens come
    before this sequence. It may look at columns ``0`` to ``num_tokens + i``, and at nothing to the right.

    Args:
        sequence_length: the number of rows; a number, or a symbolic dimension while MAX compiles.
        num_tokens: how many earlier tokens there are; 0 if the sequence is the whole text. A number, never a symbol.
        dtype: the element type of the scores that the mask is added to.
        device: where those scores are.
    """
    # Broadcast one -inf to the whole shape; F.band_part with exclude=True keeps what is outside a band. (3 lines)
    mask = Tensor(float("-inf"), dtype=dtype, device=device)
    mask = F.broadcast_to(mask, [Dim(sequence_length), Dim(sequence_length) + num_tokens])
    return F.band_part(mask, num_lower=None, num_upper=num_tokens, exclude=True)
