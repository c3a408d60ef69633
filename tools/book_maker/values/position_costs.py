"""Measure what wrong positions cost the small model, in bits per token, on the passage of the page on heads."""

import math
from collections.abc import Mapping
from functools import cache

import numpy as np

from checker.course.paths import SMALL_MODEL
from checker.max_adapter.runtime import lazily, prepare, tensor
from play.training.texts import moby_dick
from solutions.solution_11 import MaxGPT2LMHeadModel
from solutions.solution_13 import load_pretrained
from solutions.warmup_08 import softmax_cross_entropy
from tools.book_maker.values.head_measurements import CHAPTER, WINDOW

FAR = 100  # one place for all tokens, other than the first


@cache
def position_costs() -> Mapping[str, float]:
    """Return the bits per token with right and with wrong positions, by what is wrong with them."""
    from play.tokens import encode, load_tokenizer

    prepare()
    model = load_pretrained(SMALL_MODEL)
    ids = encode(load_tokenizer(SMALL_MODEL), moby_dick()[CHAPTER], model.config)[0]
    windows = ids[: len(ids) // WINDOW * WINDOW].reshape(-1, WINDOW)
    places = np.arange(WINDOW)
    variants = {
        "right": places,
        "from 1": places + 1,
        "backwards": places[::-1].copy(),
        "all at 0": 0 * places,
        "all far": 0 * places + FAR,
    }
    return {name: bits_per_token(model, windows, positions) for name, positions in variants.items()}


def bits_per_token(model: MaxGPT2LMHeadModel, windows: np.ndarray, positions: np.ndarray) -> float:
    """Return the mean of -log2 p of every token but the first.

    Args:
        model: what predicts.
        windows: ``[window, seq]``, token ids.
        positions: ``[seq]``, the rows of ``wpe`` to add.
    """
    transformer = model.transformer
    with lazily():
        hidden_states = transformer.wte(tensor(windows)) + transformer.wpe(tensor(positions))
        logits = model.lm_head(transformer.ln_f(transformer.h(hidden_states)))
    scores = np.from_dlpack(logits)[:, :-1].astype(np.float64)
    return softmax_cross_entropy(scores, windows[:, 1:]) / math.log(2)
