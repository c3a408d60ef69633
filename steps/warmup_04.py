"""Warm-up 04: split the embedding into heads, and put the heads together again."""

from __future__ import annotations

import numpy as np


def head_dim(n_embd: int, n_head: int) -> int:
    """Return the width of one head: ``n_head`` heads share ``n_embd`` channels evenly.

    GPT-2's heads are all 64 wide: 12 of them share 768 channels, 16 share 1024, 20 share 1280 and 25 share 1600. Raise
    ValueError, naming both numbers, if ``n_head`` is not positive or does not divide ``n_embd``.
    """
    if n_head < 1 or n_embd % n_head:
        raise ValueError(f"n_embd = {n_embd} cannot be shared evenly by n_head = {n_head} heads")
    # TODO: Share the channels among the heads. (1 line)
    raise NotImplementedError


def split_heads(x: np.ndarray, n_head: int) -> np.ndarray:  # [..., seq, embd] -> [..., head, seq, head_dim]
    """Give every head its own slice of the channels: head 0 the first channels, head 1 the next.

    Raise ValueError if ``n_head`` does not divide the width of ``x``.
    """
    # TODO: Cut the last axis into (head, head_dim), if that is possible, then bring head in front of seq. (3 lines)
    raise NotImplementedError


def merge_heads(heads: np.ndarray) -> np.ndarray:  # [..., head, seq, head_dim] -> [..., seq, embd]
    """Put the heads side by side again: the inverse of ``split_heads``."""
    # TODO: Bring seq back in front of head, then join the last two axes into one. (2 lines)
    raise NotImplementedError
