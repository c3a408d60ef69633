"""Step 24: rotary position embeddings (RoPE), which rotate queries and keys instead of adding a row of a table."""

from __future__ import annotations

from max.dtype import DType
from max.experimental import functional as F
from max.experimental.tensor import Tensor

from solutions.llama_config import LlamaConfig


def rotary_angles(positions: Tensor, config: LlamaConfig) -> Tensor:  # int64 [batch, seq] -> [batch, seq, head_dim / 2]
    """Return the angle, in radians, by which each pair of a head's channels is rotated at each position.

    From one position to the next, pair ``i`` rotates by its frequency, ``rope_theta ** (-2 * i / head_dim)``: the first
    by 1, each later one more slowly.
    Source: Su et al., "RoFormer: Enhanced Transformer with Rotary Position Embedding" (2021), section 3.2.2.
    """
    # List the frequencies; make a float32 tensor on positions.device; multiply each position by each. (3 lines)
    frequencies = [config.rope_theta ** (-2 * i / config.head_dim) for i in range(config.head_dim // 2)]
    freqs = Tensor(frequencies, dtype=DType.float32, device=positions.device)  # [head_dim / 2]
    return positions.cast(DType.float32).unsqueeze(-1) * freqs


def rotate(x: Tensor, angles: Tensor) -> Tensor:  # [batch, head, seq, head_dim], [batch, seq, head_dim / 2] -> as x
    """Rotate each pair of channels, ``i`` and ``i + head_dim / 2``, like a point in a plane, by angle ``i``.

    All heads are rotated alike. Each head's vector keeps its norm, and positions enter the dot product of a rotated
    query and a rotated key only by their difference. Hugging Face's Llama pairs channels this way; the paper and Meta's
    own code pair neighbors, ``2 * i`` and ``2 * i + 1``.
    """
    # Give cosine and sine an axis for the heads; cut x into halves, the coordinates; rotate; join. (4 lines)
    cos, sin = F.cos(angles).unsqueeze(1), F.sin(angles).unsqueeze(1)  # [batch, 1, seq, head_dim / 2]
    first, second = F.chunk(x, 2, axis=-1)  # 2 x [batch, head, seq, head_dim / 2]
    rotated = [first * cos - second * sin, first * sin + second * cos]
    return F.concat(rotated, axis=-1)
