"""Step 08: the residual connection, by which a block adds to its input instead of replacing it."""

from __future__ import annotations

from collections.abc import Callable

from max.experimental.tensor import Tensor


def pre_norm_residual(
    x: Tensor, norm: Callable[[Tensor], Tensor], sublayer: Callable[[Tensor], Tensor]
) -> Tensor:  # [..., embd] -> [..., embd]
    """Add to ``x`` what ``sublayer`` makes of the normalized ``x``.

    The sum takes ``x`` itself, not the normalized one, so every block adds its part to one stream, which
    runs from the embeddings to the last norm. Source: Radford et al. (2019), section 2.3, which moved
    the normalization to the input of each sub-block.
    """
    # Return the sum. (1 line)
    return x + sublayer(norm(x))
