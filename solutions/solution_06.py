"""Step 06: position embeddings, a table with one row for every place in the sequence."""

from __future__ import annotations

from max.driver import Device
from max.dtype import DType
from max.experimental import functional as F
from max.experimental.nn import Module
from max.experimental.tensor import Tensor
from max.graph import Dim, DimLike, StaticDim

from solutions.solution_01 import GPT2Config


def position_ids(sequence_length: DimLike, *, device: Device) -> Tensor:  # -> int64 [seq]
    """Return the position of every token: 0, 1, 2, …"""
    # Count from 0 up to, but not including, the length, in int64; arange takes a Dim, not its name. (1 line)
    return Tensor.arange(Dim(sequence_length), dtype=DType.int64, device=device)


class GPT2PositionEmbeddings(Module[[Tensor], Tensor]):
    """The position embeddings: row ``i`` stands for position ``i``. GPT-2 learned this table; it is not a formula."""

    def __init__(self, config: GPT2Config) -> None:
        # Make the table, the parameter weight: one row for every position. (1 line)
        self.weight = Tensor.zeros([config.n_positions, config.n_embd])

    def forward(self, positions: Tensor) -> Tensor:  # int64 [...] -> [..., embd]
        """Return the rows of the given positions."""
        # Gather the row of every position. (1 line)
        return F.gather(self.weight, positions, axis=0)


def check_length(sequence_length: DimLike, config: GPT2Config) -> None:
    """Raise ValueError if the table has too few rows. A symbolic length, not known while MAX compiles, passes."""
    dim = Dim(sequence_length)
    if isinstance(dim, StaticDim) and int(dim) > config.n_positions:
        raise ValueError(f"a sequence of {dim} tokens is longer than n_positions = {config.n_positions}")
