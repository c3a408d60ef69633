"""How long a pass over a model takes at least: its operations and bytes, at the best rates that the same run measured.

What is a few numbers per channel is left out: biases, normalizations, GELU, softmax. So are keys that a query may not
look at, and all that is written.
"""

from __future__ import annotations

from collections.abc import Mapping

from solutions.solution_01 import GPT2Config
from tools.benchmarks.peers.catalog import ALL, Peer
from tools.book_maker.values.arithmetic import attention_flops, cache_bytes, matrix_weights

READING = "reading"
Limits = Mapping[str, float]  # by type, 10**9 operations a second of the best product; for READING, 10**9 bytes


def operations(config: GPT2Config, batch: int, new: int, past: int, logits: int) -> int:
    """Return the floating-point operations of a pass.

    Args:
        config: the model.
        batch: sequences.
        new: tokens of each, every one of which looks at those up to itself.
        past: tokens of each that a cache holds.
        logits: tokens of each whose logits are computed.
    """
    head = config.vocab_size * config.n_embd
    matrices = 2 * (new * (matrix_weights(config) - head) + logits * head)
    return batch * (matrices + attention_flops(config, new * past + new * (new + 1) // 2))


def bytes_read(config: GPT2Config, batch: int, past: int, bits: float, cached: int) -> float:
    """Return the bytes that a pass reads: each matrix once, with ``bits`` a weight, and the cache, ``cached`` each."""
    return matrix_weights(config) * bits / 8 + batch * cache_bytes(config, past, cached)


def least_seconds(limits: Limits, config: GPT2Config, way: Peer, batch: int, new: int, past: int = 0) -> float:
    """Return the seconds that a pass takes at least, if the cores compute while they read."""
    computed = operations(config, batch, new, past, new if way.logits == ALL else 1)
    read = bytes_read(config, batch, past, way.bits, 4 if way.cache == "float32" else 2)
    return max(computed / limits[way.weights], read / limits[READING]) / 1e9
