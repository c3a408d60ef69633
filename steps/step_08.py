"""Step 08: the residual connection, by which a sublayer adds to its input instead of replacing it."""

from __future__ import annotations

from collections.abc import Callable

from max.experimental.tensor import Tensor


def pre_norm_residual(
    x: Tensor, norm: Callable[[Tensor], Tensor], sublayer: Callable[[Tensor], Tensor]
) -> Tensor:  # [..., embd] -> [..., embd]
    """Return ``x`` plus the output of ``sublayer`` for the normalized ``x``.

    The sum takes ``x`` itself, not the normalized one, so every sublayer adds its output to one stream, which runs from
    the embeddings to the last norm. Source: Radford et al., "Language Models are Unsupervised Multitask Learners"
    (2019), section 2.3, which moved the normalization to the input of each sub-block.
    """
    # TODO: Normalize x, run the sublayer on that, and add x itself. (1 line)
    raise NotImplementedError
