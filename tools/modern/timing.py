"""Time a block of GPT-2 small against the same block with what newer models change.

All of them run in one process, compiled by MAX, with seeded random weights. The blocks have about the same amount of
code, so a ratio says what a change costs or saves in this course's code; a dedicated fused kernel would give other
ratios.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from max.driver import CPU
from max.dtype import DType
from max.experimental import functional as F
from max.experimental.nn import Module
from max.experimental.tensor import Tensor
from max.graph import BufferType, DeviceRef, TensorType

from checker.max_adapter.runtime import prepare, tensor
from tools.benchmarks.harness import (
    Column,
    Result,
    Row,
    conditions,
    finish,
    milliseconds,
    ratio,
    say,
    seconds_per_call,
    table,
    take_turns,
)
from tools.modern.building import load
from tools.modern.variants import VARIANTS

SOLUTION, ALL = "the solutions", "all five"
LENGTH = 512  # tokens of one sequence that a block reads
USERS, PAST = 8, 1023  # sequences, and tokens in the cache of each, when a block decodes one more token
SECONDS_PER_TURN = 0.3
COLUMNS = (
    Column("block", "variant"),
    Column(f"{LENGTH} tokens, ms", "reading, ms", ".2f", rule="--:"),
    Column("of the solutions'", "reading, ratio", ".2f", rule="--:"),
    Column(f"one token for {USERS} users, ms", "decoding, ms", ".2f", rule="--:"),
    Column("of the solutions'", "decoding, ratio", ".2f", rule="--:"),
)


def names_of(way: str) -> tuple[str, ...]:
    """Return the variants that are applied together for a row of the table."""
    return {SOLUTION: (), ALL: tuple(VARIANTS)}.get(way, (way,))


def block_of(way: str) -> Module[[Tensor], Tensor]:
    """Return a block of GPT-2 small with seeded random weights."""
    modules = load(*names_of(way))
    with F.lazy():
        block: Module[[Tensor], Tensor] = modules["09"].GPT2Block(modules["01"].GPT2Config())
    generator = np.random.default_rng(0)
    shapes = {name: [int(size) for size in weight.shape] for name, weight in block.parameters}
    block.load_state_dict(
        {name: tensor(0.02 * generator.standard_normal(shape, dtype=np.float32)) for name, shape in shapes.items()}
    )
    return block


class Decoding(Module[..., Tensor]):
    """A block that is shown new tokens, with the keys and values of earlier ones in a cache."""

    def __init__(self, block: Any, cached_attention: Callable[..., Tensor], residual: Callable[..., Tensor]) -> None:
        self.block = block
        self.attend, self.residual = cached_attention, residual

    def forward(self, hidden_states: Tensor, mask: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        """Return the block's output for ``[batch, seq, embd]``; the cache holds ``[batch, head, total, head_dim]``."""
        attention = partial(self.attend, self.block.attn, keys, values, mask)
        hidden_states = self.residual(hidden_states, self.block.ln_1, attention)
        return self.residual(hidden_states, self.block.ln_2, self.block.mlp)


def reading(way: str) -> Callable[[], Any]:
    """Return a compiled block as a function without arguments: it reads one sequence."""
    say(f"  compiling the block of {way}")
    block: Any = block_of(way).compile(TensorType(DType.float32, ["batch", "seq", 768], DeviceRef.from_device(CPU())))
    return partial(block, tensor(np.random.default_rng(1).standard_normal((1, LENGTH, 768), dtype=np.float32)))


def decoding(way: str) -> Callable[[], Any]:
    """Return a compiled block with a full cache as a function without arguments: it decodes one token per sequence."""
    say(f"  compiling the block with a cache of {way}")
    modules, ref = load(*names_of(way)), DeviceRef.from_device(CPU())
    config = modules["01"].GPT2Config(n_layer=1)
    ((keys, values),) = modules["14"].empty_cache(config, USERS, device=CPU())
    buffer = BufferType(DType.float32, ["batch", *map(int, keys.shape[1:])], ref)
    block = Decoding(block_of(way), modules["14"].cached_attention, modules["08"].pre_norm_residual)
    compiled: Any = block.compile(
        TensorType(DType.float32, ["batch", 1, 768], ref),
        TensorType(DType.float32, ["batch", 1, 1, "total"], ref),
        buffer,
        buffer,
    )
    generator = np.random.default_rng(2)
    token = tensor(generator.standard_normal((USERS, 1, 768), dtype=np.float32))
    return partial(compiled, token, tensor(np.zeros((USERS, 1, 1, PAST + 1), np.float32)), keys, values)


def compare(ways: Sequence[str], make: Callable[[str], Callable[[], Any]], rounds: int) -> dict[str, list[float]]:
    """Return the seconds of every way in each round; the ways take turns."""
    made = {way: make(way) for way in ways}
    calls = {way: max(1, round(SECONDS_PER_TURN / seconds_per_call(call, 3))) for way, call in made.items()}
    return take_turns(ways, rounds, lambda way: seconds_per_call(made[way], calls[way]))


def as_markdown(result: Result) -> str:
    """Return the figures as a table; a column without a figure in any row is left out."""
    rows = result["blocks"]
    return table([column for column in COLUMNS if any(column.key in row for row in rows)], rows)


def run(only: Sequence[str] | None, quick: bool, rounds: int, out: Path | None) -> None:
    """Time the solutions' block and those of the variants, ``quick`` without a cache, and print a table."""
    prepare()
    result = conditions(rounds) | {"length": LENGTH, "users": USERS, "past": PAST}
    ways = [SOLUTION, *(only or [*VARIANTS, ALL])]
    with_cache = [way for way in ways if way in (SOLUTION, "grouped_query", ALL)]  # no other changes what is cached
    times = {"reading": compare(ways, reading, rounds)}
    if not quick:
        times["decoding"] = compare(with_cache, decoding, rounds)
    rows: list[Row] = []
    for way in ways:
        row: Row = {"variant": way}
        for kind, measured in times.items():
            if way in measured:
                row |= {f"{kind}, ms": milliseconds(measured[way])}
                row |= {f"{kind}, ratio": ratio(measured[way], measured[SOLUTION])} if way != SOLUTION else {}
        rows.append(row)
    finish(as_markdown(result | {"blocks": rows}), result | {"blocks": rows}, out)
