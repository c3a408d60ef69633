"""Bits per byte of the held-out chapters, by the rule of the model card."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer

from checker.compiling import compiling
from checker.course.steps import SMALL_MODEL
from checker.errors import UserError
from checker.max_adapter.runtime import tensor
from play.ablation.switches import SwitchedGPT2, Switches, everything, inputs
from play.tokens import encode, end_of_text, load_tokenizer
from play.training.texts import moby_dick_corpus
from play.training.windows import NOT_COUNTED, total_nats
from solutions.checkpoint import checkpoint_folder
from solutions.solution_01 import GPT2Config
from solutions.solution_13 import load_pretrained

STRIDE = 64  # tokens that each window predicts, after the first window of a chapter
BATCH = 16  # windows that run at once


@dataclass(frozen=True)
class MeasuredText:
    """A text as the model reads it: windows of tokens, and the tokens to predict in each."""

    windows: list[tuple[np.ndarray, np.ndarray]]  # [batch, seq] each
    tokens: int  # to predict
    bytes: int


def read(texts: list[str], tokenizer: Tokenizer, config: GPT2Config, stride: int) -> MeasuredText:
    """Cut texts into windows of at most ``n_positions`` tokens, so that each token is predicted once.

    A text is preceded by the end-of-text token and otherwise stands alone. A window moves over it by ``stride`` tokens,
    and each token is predicted by the first window that holds it. No window is padded: a model without its mask would
    see the padding.

    Raises:
        UserError: the stride is below 1 or above ``n_positions``, or the model does not know a token.
    """
    if not 1 <= stride <= config.n_positions:
        raise UserError(f"stride = {stride} is impossible; give 1 to n_positions = {config.n_positions}")
    by_length: dict[int, list[tuple[np.ndarray, np.ndarray]]] = {}
    for text in texts:
        ids = np.concatenate([[end_of_text(tokenizer)], encode(tokenizer, text, config)[0]])
        done = 0  # how many tokens have been predicted
        while done < len(ids) - 1:
            end = min(config.n_positions if done == 0 else done + stride, len(ids) - 1)
            start = max(0, end - config.n_positions)
            targets = ids[start + 1 : end + 1].copy()
            targets[: done - start] = NOT_COUNTED  # an earlier window has predicted these
            by_length.setdefault(end - start, []).append((ids[start:end], targets))
            done = end
    batches = [rows[at : at + BATCH] for rows in by_length.values() for at in range(0, len(rows), BATCH)]
    windows = [(np.stack(ids), np.stack(targets)) for ids, targets in (zip(*rows, strict=True) for rows in batches)]
    tokens = sum(int((targets != NOT_COUNTED).sum()) for _, targets in windows)
    return MeasuredText(windows, tokens, sum(len(text.encode()) for text in texts))


class Measure:
    """The bits per byte of a text under a checkpoint's model, with switches.

    Args:
        name_or_folder: the checkpoint.
        stride: tokens that each window predicts; a larger one is faster, but gives each token less to look back at.

    Raises:
        ValueError: the checkpoint cannot be found or read, or the stride is impossible.
    """

    def __init__(self, name_or_folder: str | Path = SMALL_MODEL, stride: int = STRIDE) -> None:
        folder = checkpoint_folder(name_or_folder)
        model = load_pretrained(folder)
        self.config, self.all_on = model.config, everything(model)
        self.text = read(moby_dick_corpus().test, load_tokenizer(folder), model.config, stride)
        with compiling("the model with a switch for each part"):
            self.graph: Callable[..., Any] = SwitchedGPT2(model).compiled()

    def bits_per_byte(self, switches: Switches) -> float:
        """Return the bits that the model needs for the text, per byte in UTF-8."""
        nats, _ = total_nats(partial(self.log_probabilities, switches), self.text.windows)
        return nats / float(np.log(2)) / self.text.bytes

    def log_probabilities(
        self, switches: Switches, ids: np.ndarray
    ) -> np.ndarray:  # [batch, seq] -> [batch, seq, vocab]
        """Return the logarithm of the probability of every token after these."""
        on = {name: tensor(array) for name, array in inputs(switches, ids.shape[-1]).items()}
        return np.from_dlpack(self.graph(tensor(ids), on))
