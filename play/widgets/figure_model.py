"""The model that answers interactive figures: the weights of its heads, and its logits after each token."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from checker.course.steps import SMALL_MODEL
from checker.errors import UserError
from checker.max_adapter.runtime import tensor
from play.attention.pictures import attention_on, visible
from play.attention.weights import Attention, attention_of
from play.browser.packing import Json, packed
from play.tokens import encode, end_of_text, load_tokenizer, token_texts
from play.widgets.timing import BATCHES, PROMPTS, Timer
from solutions.solution_05 import check_token_ids
from solutions.solution_13 import load_pretrained

ROUNDS = 3  # of a measurement that somebody waits for
MOST_TOKENS = 64  # of a text that a page asks about; more would be too small to see


class FigureModel:
    """The small model, which is asked about one text after another."""

    def __init__(self) -> None:
        self.tokenizer = load_tokenizer(SMALL_MODEL)
        self.model = load_pretrained(SMALL_MODEL)

    def ids_of(self, question: Json) -> np.ndarray:  # -> [1, seq]
        """Return the tokens that are asked about, as ``ids`` or as a ``text``.

        Raises:
            ValueError: there are none or too many, or the model does not know one.
        """
        ids = question.get("ids")
        if ids is None:
            input_ids = encode(self.tokenizer, str(question.get("text", "")), self.model.config)
        else:
            if not all(type(number) is int for number in ids):
                raise UserError("token ids are whole numbers")
            input_ids = np.array([ids or [end_of_text(self.tokenizer)]], np.int64)
            check_token_ids(input_ids, self.model.config)
        if input_ids.shape[-1] > MOST_TOKENS:
            raise UserError(f"this text has {input_ids.shape[-1]} tokens; a picture shows {MOST_TOKENS} at most")
        return input_ids

    def attention(self, question: Json) -> Json:
        """Return the scores and weights of every head."""
        input_ids = self.ids_of(question)
        return attention_on(Attention(token_texts(self.tokenizer, input_ids[0]), *attention_of(self.model, input_ids)))

    def sampling(self, question: Json) -> Json:
        """Return the logits after every token."""
        input_ids = self.ids_of(question)
        logits = np.from_dlpack(self.model(tensor(input_ids)))[0]
        return {
            "tokens": [visible(text) for text in token_texts(self.tokenizer, input_ids[0])],
            "ids": input_ids[0].tolist(),
            "logits": packed(logits),
        }

    @cached_property
    def timer(self) -> Timer:
        """The timer of the model, on the beginning of its text."""
        text = (SMALL_MODEL / "moby_dick.txt").read_text(encoding="utf-8")
        ids = encode(self.tokenizer, text[: 8 * max(PROMPTS) * max(BATCHES)], self.model.config)
        return Timer(self.model, ids[0])

    def cache(self, question: Json) -> Json:
        """Return the times of a generation's calls with a cache and without it."""
        return self.timer.measure(question.get("prompt", 0), question.get("batch", 0), ROUNDS)

    def vocabulary(self) -> list[str]:
        """Return the text of every token."""
        every = np.arange(self.model.config.vocab_size)
        return [visible(text) for text in token_texts(self.tokenizer, every)]

    @property
    def answers(self) -> dict[str, Callable[[Json], Any]]:
        """The methods that answer, by the name of a figure."""
        return {"attention": self.attention, "sampling": self.sampling, "cache": self.cache}
