"""What ONNX Runtime and OpenVINO have in common: one graph for prompts and for single tokens, and a loop around it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from tools.benchmarks.backends import Call, Read, Workload

#: Runs tokens ``[batch, seq]`` after what the cache has, nothing at first; returns logits of the places ``[kept]``, as
#: the library has them.
Step = Callable[[np.ndarray, np.ndarray], Any]
Array = Callable[[Any], np.ndarray]


def prepare(
    workload: Workload, vocab_size: int, begin: Callable[[int], Step], array: Array = np.asarray
) -> tuple[Call, Read]:
    """Return a workload as a function with its input in place, and how to read what it returns.

    Args:
        workload: a forward pass, or greedy text.
        vocab_size: how many tokens there are.
        begin: returns a step for so many sequences, its cache empty.
        array: returns logits of the library's as an array.
    """
    ids = workload.token_ids(vocab_size)
    if workload.part == "forward":
        places = np.arange(workload.length)
        return lambda: begin(workload.batch)(ids, places), lambda logits: [array(logits)]
    return partial(write, begin, array, ids, workload.new_tokens), lambda tokens: [tokens]


def write(  # [batch, seq] -> [batch, new]
    begin: Callable[[int], Step], array: Array, ids: np.ndarray, new_tokens: int
) -> np.ndarray:
    """Return the likeliest tokens after a prompt."""
    step = begin(len(ids))
    found: list[np.ndarray] = []
    for _ in range(new_tokens):
        logits = array(step(ids, np.array([ids.shape[1] - 1])))
        ids = logits[:, -1].argmax(axis=-1)[:, None]
        found.append(ids)
    return np.concatenate(found, axis=1)
