"""Time a generation call by call, with step 14's cache and without it."""

from __future__ import annotations

import time

import numpy as np
from max.driver import CPU

from checker.errors import UserError
from play.browser.packing import Json
from play.generation.engine import compile_whole
from solutions.arrays import LogitsFunction
from solutions.solution_11 import MaxGPT2LMHeadModel
from solutions.solution_14 import compile_cached

PROMPTS = (16, 64, 128)  # tokens of a prompt that can be asked for
BATCHES = (1, 4, 8)  # texts at once
NEW_TOKENS = 64  # each is one call; the first call runs the prompt


class Timer:
    """The two ways to run a model.

    Args:
        model: the model; it is compiled twice.
        ids: tokens of a text, as many as the longest batch of prompts has.
    """

    def __init__(self, model: MaxGPT2LMHeadModel, ids: np.ndarray) -> None:
        self.ids = ids
        self.ways: dict[str, LogitsFunction] = {
            "without": compile_whole(model, CPU()),
            "with": compile_cached(model, CPU()),
        }

    def measure(self, prompt: int, batch: int, rounds: int = 1) -> Json:
        """Return the milliseconds of every call in either way, the medians over some rounds that take turns.

        Raises:
            UserError: the prompt or the batch is not one of those that can be asked for.
        """
        if prompt not in PROMPTS or batch not in BATCHES:
            raise UserError(f"prompts have {PROMPTS} tokens and batches {BATCHES} texts; {prompt}, {batch} is neither")
        input_ids = self.ids[: prompt * batch].reshape(batch, prompt)
        rounds_of: dict[str, list[list[float]]] = {way: [] for way in self.ways}
        for _ in range(rounds):
            for way, model in self.ways.items():
                rounds_of[way].append(self._calls(model, input_ids))
        return {
            "prompt": prompt,
            "batch": batch,
            **{way: np.median(times, axis=0).round(2).tolist() for way, times in rounds_of.items()},
        }

    def _calls(self, model: LogitsFunction, input_ids: np.ndarray) -> list[float]:
        """Return the milliseconds of every call of a greedy generation."""
        model((input_ids[:, :1] + 1) % 2)  # another text, so that nothing of the prompt is in the cache
        times = []
        for _ in range(NEW_TOKENS):
            start = time.perf_counter()
            logits = model(input_ids)
            times.append(1000 * (time.perf_counter() - start))
            input_ids = np.concatenate([input_ids, logits[:, -1].argmax(axis=-1)[:, None]], axis=1)
        return times
