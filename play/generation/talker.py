"""A Llama that continues a text or answers: its file, its tokenizer, and the compiled model with its cache."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.random import Generator, default_rng

from checker.compiling import compiling
from checker.device import DeviceKind
from checker.errors import UserError
from checker.max_adapter.runtime import open_device
from play.generation.streaming import pieces_of_text
from play.kernels.modules import compile_llama_with_kernels
from play.tokens import encode, end_of_text
from solutions.gguf_tokenizer import tokenizer_of
from solutions.llama import compile_llama
from solutions.llama_files import load_llama
from solutions.solution_12 import Sampling
from solutions.solution_27 import END, START, Message, answer, chat_ids

ROOM = 256  # tokens that are kept free for an answer, if the context is long enough


class LlamaWriter:
    """Continues a text with the Llama of a GGUF file, compiled for one device.

    Args:
        file: the GGUF file.
        device: for which it is compiled.
        context: the most tokens that a text may have; a file that says less has the last word.
        kernels: run attention and linear layers by the kernels of ``play.kernels``, where
            :func:`play.startup.usable_kernels` says that they run; the text is the same.

    Raises:
        ValueError: the file cannot be read, or there is no such device.
    """

    def __init__(self, file: Path, device: DeviceKind, context: int, *, kernels: bool = False) -> None:
        target = open_device(device)
        model, fields = load_llama(file, context)
        self.tokenizer = tokenizer_of(fields)
        self.end_id = self.token_at_the_end(file)
        self.config = model.config.cache_config
        self.context = model.config.max_position_embeddings
        self.cut_after: int | None = None  # tokens of the last text, if that is not where the model ended it
        compile_it = compile_llama_with_kernels if kernels else compile_llama
        with_kernels = " with the kernels of play/kernels, 2 of 2" if kernels else ""
        with compiling(f"the model for {device}{with_kernels} (minutes, once)"):
            self.model = compile_it(model, target)

    def token_at_the_end(self, file: Path) -> int:
        """Return the token that ends a turn or, if the model knows none, a text."""
        end: int | None = self.tokenizer.token_to_id(END)
        return end_of_text(self.tokenizer) if end is None else end

    def write(self, prompt: str, sampling: Sampling, seed: int, max_new_tokens: int) -> Iterator[str]:
        """Yield the text that follows a prompt in pieces of whole characters, up to where the context is full.

        Raises:
            UserError: the prompt fills the context.
        """
        input_ids = encode(self.tokenizer, prompt, self.config)
        if (length := input_ids.shape[1]) >= self.context:
            raise UserError(f"the prompt makes {length} tokens, and there is room for {self.context - 1}; shorten it")
        return self.continued(input_ids, sampling, default_rng(seed), max_new_tokens)

    def continued(
        self, input_ids: np.ndarray, sampling: Sampling, rng: Generator, max_new_tokens: int
    ) -> Iterator[str]:  # [1, seq]
        """Yield what follows some tokens in pieces of whole characters, each as soon as it is known."""
        return pieces_of_text(self.new_tokens(input_ids, sampling, rng, max_new_tokens), self.tokenizer)

    def new_tokens(
        self, input_ids: np.ndarray, sampling: Sampling, rng: Generator, max_new_tokens: int
    ) -> Iterator[int]:  # [1, seq]
        """Yield the tokens that follow others, each as soon as it is known; then note whether a limit cut them."""
        most = min(max_new_tokens, self.context - input_ids.shape[1])
        count, self.cut_after = 0, None
        for token in answer(self.model, input_ids, most, sampling, end_id=self.end_id, rng=rng):
            count += 1
            yield int(token)
        if count == most:
            self.cut_after = count


class Talker(LlamaWriter):
    """Answers the last message of a conversation.

    Raises:
        UserError: the model was not trained on ChatML, besides what the writer refuses.
    """

    def token_at_the_end(self, file: Path) -> int:
        """Return the token that ends a turn."""
        end: int | None = self.tokenizer.token_to_id(END)
        if end is None or self.tokenizer.token_to_id(START) is None:
            raise UserError(f"{file} has no token {START} or {END}, so this model does not answer in ChatML")
        return end

    def recent(self, messages: Sequence[Message]) -> list[Message]:
        """Return the messages that the context has room for, and for an answer: the oldest are left out.

        Raises:
            UserError: there is no room for the last message alone.
        """
        room = min(ROOM, self.context // 4)
        kept = without_oldest(messages, lambda some: self.length(some) + room <= self.context)
        if (length := self.length(kept)) > self.context - room:
            raise UserError(
                f"the message makes {length} tokens, and with {self.context} for a conversation there is room for "
                f"{self.context - room}; shorten it, or give a larger --context"
            )
        return kept

    def length(self, messages: Sequence[Message]) -> int:
        """Count the tokens of a conversation."""
        return chat_ids(self.tokenizer, messages).shape[1]

    def answer(
        self, messages: Sequence[Message], sampling: Sampling, rng: Generator, max_new_tokens: int
    ) -> Iterator[str]:
        """Yield the answer to the last message in pieces, each as soon as it is known, in whole characters.

        It ends with its turn, or where the context is full. Of messages that it was given before, the cache has what
        this needs, so only the new ones run.
        """
        return self.continued(chat_ids(self.tokenizer, messages), sampling, rng, max_new_tokens)


def without_oldest(messages: Sequence[Message], fits: Callable[[Sequence[Message]], bool]) -> list[Message]:
    """Return messages without the oldest questions and their answers, until the rest fits or only the last is left.

    The message of the system stays.
    """
    kept = [*messages]
    first = 1 if kept[0][0] == "system" else 0
    while len(kept) > first + 1 and not fits(kept):
        del kept[first : first + 2]
    return kept
