"""Turn text into tokens, and back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Encoding, Tokenizer

from checker.errors import UserError
from solutions.solution_01 import GPT2Config
from solutions.solution_05 import check_token_ids

END_OF_TEXT = "<|endoftext|>"


def load_tokenizer(folder: Path) -> Tokenizer:
    """Return the tokenizer of a checkpoint folder.

    Raises:
        UserError: the folder has none, or one that cannot be read.
    """
    file = folder / "tokenizer.json"
    if not file.is_file():
        raise UserError(f"{folder} has no tokenizer.json, without which text cannot be turned into tokens")
    try:
        return Tokenizer.from_file(str(file))
    except Exception as error:  # the library raises nothing more special
        raise UserError(f"{file} is damaged, or is not a Hugging Face tokenizer: {error}") from error


class ForThreads:
    """A tokenizer whose ``encode`` lets other threads run meanwhile, unlike the library's own.

    Args:
        tokenizer: the library's tokenizer, which has everything else.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer

    def __getattr__(self, name: str) -> Any:
        return getattr(self.tokenizer, name)

    def encode(self, text: str) -> Encoding:
        """Return the tokens of a text."""
        encoding: Encoding = self.tokenizer.encode_batch_fast([text])[0]
        return encoding


def end_of_text(tokenizer: Tokenizer) -> int:
    """Return the token that separates texts."""
    return tokenizer.token_to_id(END_OF_TEXT) or 0


def encode(tokenizer: Tokenizer, text: str, config: GPT2Config) -> np.ndarray:  # -> [1, seq]
    """Return the tokens of a text; for an empty one, return the token that separates texts.

    Raises:
        ValueError: the model does not know a token: the tokenizer is another model's.
    """
    ids = tokenizer.encode(text).ids or [end_of_text(tokenizer)]
    input_ids = np.array([ids], dtype=np.int64)
    check_token_ids(input_ids, config)
    return input_ids


def token_texts(tokenizer: Tokenizer, ids: np.ndarray) -> list[str]:
    """Return each token's own text; bytes that are not a character by themselves stay in the tokenizer's spelling."""
    texts = []
    for token in ids.tolist():
        text = tokenizer.decode([token], skip_special_tokens=False)
        texts.append(tokenizer.id_to_token(token) if "\ufffd" in text else text)
    return texts
