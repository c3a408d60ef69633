"""What ONNX Runtime and OpenVINO have in common: one graph for prompts and for single tokens, and a loop around it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from tools.benchmarks.workers import FORWARD, Call, Read, Workload

Step = Callable[[np.ndarray, np.ndarray], Any]
Array = Callable[[Any], np.ndarray]


def prepare(
    workload: Workload, vocab_size: int, begin: Callable[[int], Step], array: Array = np.asarray
) -> tuple[Call, Read]:
    ids = workload.token_ids(vocab_size)
    if workload.part == FORWARD:
        places = np.arange(workload.length)
        return lambda: begin(workload.batch)(ids, places), lambda logits: array(logits)[:, -1].copy()
    return partial(write, begin, array, ids, workload.new_tokens), lambda tokens: tokens


def write(begin: Callable[[int], Step], array: Array, ids: np.ndarray, new_tokens: int) -> np.ndarray:
    step = begin(len(ids))
    found: list[np.ndarray] = []
    for _ in range(new_tokens):
        logits = array(step(ids, np.array([ids.shape[1] - 1])))
        ids = logits[:, -1].argmax(axis=-1)[:, None]
        found.append(ids)
    return np.concatenate(found, axis=1)
