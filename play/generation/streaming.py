"""Yield the text that follows a prompt, in pieces as it comes; what ``export`` writes has all of this in it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.random import Generator
from tokenizers import Tokenizer
from tokenizers.decoders import DecodeStream

from solutions.arrays import LogitsFunction
from solutions.solution_12 import Sampling, generate_tokens

END_OF_TEXT = "<|endoftext|>"


def read_tokenizer(folder: Path) -> Tokenizer:
    """Return the tokenizer of a checkpoint; raise ValueError if it is unreadable."""
    try:
        return Tokenizer.from_file(str(folder / "tokenizer.json"))
    except Exception as error:  # tokenizers has no class of its own
        raise ValueError(f"{folder} has no readable tokenizer.json: {error}") from error


def stream_text(
    model: LogitsFunction,
    tokenizer: Tokenizer,
    input_ids: np.ndarray,
    max_new_tokens: int,
    sampling: Sampling,
    *,
    n_positions: int,
    rng: Generator,
) -> Iterator[str]:  # int64 [1, seq] -> pieces of text
    """Yield the text that follows the tokens of a prompt, in pieces of whole characters, as it comes."""
    end = tokenizer.token_to_id(END_OF_TEXT)  # None if the tokenizer has no such token
    decoder = DecodeStream(skip_special_tokens=True)
    for _ in range(max_new_tokens):  # one at a time, so that the text streams
        input_ids = generate_tokens(model, input_ids, 1, sampling, n_positions=n_positions, rng=rng)
        if input_ids[0, -1] == end:
            break
        if piece := decoder.step(tokenizer, int(input_ids[0, -1])):
            yield piece
