"""Step 27: a conversation, whose messages become tokens, and an answer that stops at the end of its turn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator, default_rng
from tokenizers import Tokenizer

from solutions.arrays import LogitsFunction
from solutions.solution_12 import Sampling, generate_next_token

START, END = "<|im_start|>", "<|im_end|>"  # control tokens; the given tokenizer never makes one from text
SYSTEM = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"

Message = tuple[str, str]  # a role (system, user or assistant), and what it says


def message_ids(tokenizer: Tokenizer, role: str, content: str) -> list[int]:
    """Return the tokens of a message in ChatML, the model's chat template::

        <|im_start|>user
        Who wrote Moby Dick?<|im_end|>

    The role and the content are one text, with a newline between; another newline follows END.
    """
    # TODO: START by its id, the text's tokens, END by its id, the newline's tokens. (3 lines)
    raise NotImplementedError


def chat_ids(tokenizer: Tokenizer, messages: Sequence[Message]) -> np.ndarray:  # -> int64 [1, seq]
    """Return a conversation, of one message at least, as tokens up to where the assistant's answer begins.

    Unless it begins with a system message, the one of the model's chat template comes first.
    """
    # TODO: SYSTEM first, if needed; every message; then START and "assistant\n", which the answer follows. (6 lines)
    raise NotImplementedError


@dataclass(frozen=True)
class NucleusSampling(Sampling):
    """Step 12's choice, from the fewest tokens that together have a probability of at least ``top_p``."""

    top_p: float = 1.0  # 1: all tokens, except for what rounding drops

    def __post_init__(self) -> None:
        """Raise ValueError if ``top_p`` is outside (0, 1], or another setting is impossible."""
        super().__post_init__()
        if not 0 < self.top_p <= 1:
            raise ValueError(f"top_p = {self.top_p} is impossible; give a number above 0 and at most 1")

    def probabilities(self, logits: np.ndarray) -> np.ndarray:  # [batch, vocab] -> [batch, vocab]
        """Return the probability of each token to be drawn, at a temperature above 0; the likeliest is always kept.

        The temperature and ``top_k`` come first. Source: Holtzman et al., "The Curious Case of Neural Text
        Degeneration" (2020), section 3.1.
        """
        p = super().probabilities(logits)
        # TODO: Sort, likeliest first; a token stays if those before it add up to less than top_p; normalize. (6 lines)
        raise NotImplementedError


def answer(
    model: LogitsFunction,
    input_ids: np.ndarray,
    max_new_tokens: int,
    sampling: Sampling,
    *,
    end_id: int,
    rng: Generator | None = None,
) -> Iterator[int]:  # int64 [1, seq] -> at most max_new_tokens ids
    """Yield the tokens of an answer, each before the next is computed; ``end_id`` stops it, and is not yielded.

    Args:
        model: as in step 12.
        input_ids: the conversation, up to where the answer begins. No token drops out, so the context must have room
            for the answer, too.
        max_new_tokens: how many tokens at most, if the model does not end its turn.
        sampling: how step 12's ``generate_next_token(model, input_ids, sampling, rng)`` chooses, one token per row.
        end_id: the id of END.
        rng: what the tokens are drawn with; None: a new generator.
    """
    rng = default_rng(rng)  # as it is if it is a generator
    # TODO: max_new_tokens times: generate the next token; return at end_id; yield the token, then append it. (6 lines)
    raise NotImplementedError
