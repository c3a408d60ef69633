"""Yield the text that follows a prompt, in pieces as it comes; what ``export`` writes has all of this in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
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


def new_tokens(
    model: LogitsFunction,
    tokenizer: Tokenizer,
    input_ids: np.ndarray,
    max_new_tokens: int,
    sampling: Sampling,
    *,
    n_positions: int,
    rng: Generator,
) -> Iterator[int]:  # int64 [1, seq] -> at most max_new_tokens ids
    """Yield the tokens that follow those of a prompt, each as soon as it is known, up to the end of the text."""
    end_id = tokenizer.token_to_id(END_OF_TEXT)  # None if the tokenizer has no such token
    for _ in range(max_new_tokens):
        input_ids = generate_tokens(model, input_ids, 1, sampling, n_positions=n_positions, rng=rng)
        token = int(input_ids[0, -1])
        if token == end_id:
            return
        yield token


def pieces_of_text(tokens: Iterable[int], tokenizer: Tokenizer) -> Iterator[str]:
    """Yield the text of tokens in pieces of whole characters, each as soon as its last token is there."""
    decoder = DecodeStream(skip_special_tokens=True)
    for token in tokens:
        if piece := decoder.step(tokenizer, token):
            yield piece
