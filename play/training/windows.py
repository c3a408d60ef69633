"""Cut texts into tokens and windows: what a step learns depends on its number and the seed alone."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer, decoders, pre_tokenizers, processors, trainers
from tokenizers.models import BPE

from checker.errors import UserError
from play.tokens import END_OF_TEXT, end_of_text
from play.training.plan import Plan
from play.training.texts import read_corpus

VALIDATION_WINDOWS = 128  # at most; in a longer text, this many are spread evenly
NOT_COUNTED = -100  # in place of a token that is not to be predicted

Batches = Iterable[tuple[np.ndarray, np.ndarray]]  # of windows and of what each place predicts, two times [batch, seq]


def learn_tokenizer(texts: list[str], vocab: int) -> Tokenizer:
    """Return a byte-level BPE tokenizer, like GPT-2's, of at most ``vocab`` tokens: it can encode any text.

    They are the end of a text, 256 bytes, and merges, as far as the texts have any.
    """
    tokenizer = Tokenizer(BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    trainer = trainers.BpeTrainer(
        vocab_size=vocab,
        special_tokens=[END_OF_TEXT],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def token_ids(tokenizer: Tokenizer, texts: list[str]) -> np.ndarray:  # -> [tokens]
    """Return the tokens of all texts, one after another; the end-of-text token precedes each text."""
    parts = [[end_of_text(tokenizer), *encoded.ids] for encoded in tokenizer.encode_batch(texts)]
    return np.concatenate([np.array(part, np.int64) for part in parts])


@dataclass(frozen=True)
class Windows:
    """The windows of a training text, cut at different places and in a different order in every epoch.

    Two neighbors share one token: the last of the one, which it predicts, is the first of the next.

    Raises:
        UserError: the text is shorter than a window.
    """

    tokens: np.ndarray  # [tokens]
    plan: Plan

    def __post_init__(self) -> None:
        if len(self.tokens) < self.plan.positions:
            raise UserError(
                f"the text to learn has {len(self.tokens)} tokens, and a window is --positions {self.plan.positions} "
                "tokens; give a longer text or fewer positions"
            )

    @property
    def most_skipped(self) -> int:
        """How many tokens an epoch may leave out before its first window."""
        return min(self.plan.positions - 2, len(self.tokens) - self.plan.positions)

    @property
    def per_epoch(self) -> int:
        """How many windows an epoch has, wherever it begins."""
        return 1 + (len(self.tokens) - self.most_skipped - self.plan.positions) // (self.plan.positions - 1)

    def epoch(self, number: int) -> np.ndarray:  # -> [per_epoch]
        """Return where the windows of an epoch begin, in the order of the epoch."""
        rng = np.random.default_rng([self.plan.seed, number])
        skipped = rng.integers(self.most_skipped + 1)
        return rng.permutation(skipped + np.arange(self.per_epoch) * (self.plan.positions - 1))

    def read(self, numbers: np.ndarray) -> np.ndarray:  # [windows] -> [windows, positions]
        """Return windows by their numbers, which go on from one epoch to the next."""
        epochs = {number: self.epoch(number) for number in {*(numbers // self.per_epoch).tolist()}}
        places = [epochs[number // self.per_epoch][number % self.per_epoch] for number in numbers.tolist()]
        return self.tokens[np.array(places, np.int64)[:, None] + np.arange(self.plan.positions)]

    def batches(self, step: int) -> Iterator[np.ndarray]:  # -> accumulate times [batch, positions]
        """Yield the batches of a step; the first step is 1."""
        for numbers in self.plan.windows_of(step):
            yield self.read(np.array(numbers))


@dataclass(frozen=True)
class Blend:
    """The windows of a text, among those of other texts: none at first, and more and more of them.

    Their share grows in a straight line up to twice ``plan.share``, which is what it is on average.
    """

    text: Windows
    others: Windows
    plan: Plan

    def of_the_text(self, first: np.ndarray) -> np.ndarray:  # [counts] -> [counts]
        """Return how many of the first windows of the training are windows of the text."""
        return (self.plan.share * first * first / self.plan.windows).astype(np.int64)

    def batches(self, step: int) -> Iterator[np.ndarray]:  # -> accumulate times [batch, positions]
        """Yield the batches of a step; the first step is 1."""
        for numbers in map(np.array, self.plan.windows_of(step)):
            before, after = self.of_the_text(numbers), self.of_the_text(numbers + 1)
            is_text = before < after
            batch = np.empty([len(numbers), self.plan.positions], np.int64)
            batch[is_text] = self.text.read(before[is_text])
            batch[~is_text] = self.others.read((numbers - before)[~is_text])
            yield batch


def validation_windows(tokens: np.ndarray, plan: Plan) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return batches of windows and of what each place has to predict: two times ``[batch, positions]``.

    Each token but the first is predicted once; the rest of the last window, which no token before it sees, is
    not counted. Every batch has the same size, so the last one may hold windows in which nothing is counted.
    """
    starts = np.arange(0, max(len(tokens) - 1, 1), plan.positions - 1)
    if len(starts) > VALIDATION_WINDOWS:
        starts = starts[np.linspace(0, len(starts) - 1, VALIDATION_WINDOWS).astype(int)]
    inputs = np.zeros([-(-len(starts) // plan.batch) * plan.batch, plan.positions], np.int64)
    targets = np.full_like(inputs, NOT_COUNTED)
    for row, start in enumerate(starts):
        part = tokens[start : start + plan.positions]
        inputs[row, : len(part)] = part
        targets[row, : len(part) - 1] = part[1:]
    cut = range(0, len(inputs), plan.batch)
    return [(inputs[at : at + plan.batch], targets[at : at + plan.batch]) for at in cut]


def total_nats(log_probabilities: Callable[[np.ndarray], np.ndarray], batches: Batches) -> tuple[float, int]:
    """Return how many nats a model needs for all targets that count, and how many targets that are.

    Args:
        log_probabilities: the model: token ids ``[batch, seq]`` to ``[batch, seq, vocab]``.
        batches: the windows.
    """
    nats, count = 0.0, 0
    for input_ids, targets in batches:
        counts = targets != NOT_COUNTED
        every = log_probabilities(input_ids)
        of_targets = np.take_along_axis(every, np.maximum(targets, 0)[..., None], axis=-1)[..., 0]  # [batch, seq]
        nats -= float(of_targets[counts].sum(dtype=np.float64))
        count += int(counts.sum())
    return nats, count


def count_bytes(tokenizer: Tokenizer, batches: list[tuple[np.ndarray, np.ndarray]]) -> int:
    """Return how many bytes the targets that count stand for; the end-of-text token stands for none."""
    spelled = [tokenizer.id_to_token(token) for token in range(tokenizer.get_vocab_size())]
    sizes = np.array([0 if token == END_OF_TEXT else len(token) for token in spelled])  # a letter per byte
    return sum(int(sizes[targets[targets != NOT_COUNTED]].sum()) for _, targets in batches)


@dataclass(frozen=True)
class Material:
    """What a training reads."""

    tokenizer: Tokenizer
    windows: Windows | Blend
    validation: list[tuple[np.ndarray, np.ndarray]]
    bytes: dict[str, int]  # of each part: train and validation, and what is learned beside them
    tokens: dict[str, int]
    digest: str  # of all tokens


def read_material(plan: Plan, tokenizer: Tokenizer | None = None) -> Material:
    """Read the texts of a plan with its tokenizer, which is learned from them if there is none yet.

    Raises:
        UserError: a text cannot be read, or is too short.
    """
    corpus = read_corpus([Path(file) for file in plan.texts], [Path(file) for file in plan.also])
    tokenizer = tokenizer or learn_tokenizer(corpus.train + corpus.also, plan.vocab)
    parts = {"train": corpus.train, "validation": corpus.dev}
    if plan.also:
        parts["also"] = corpus.also
    ids = {part: token_ids(tokenizer, texts) for part, texts in parts.items()}
    windows = Windows(ids["train"], plan)
    return Material(
        tokenizer,
        Blend(windows, Windows(ids["also"], plan), plan) if plan.also else windows,
        validation_windows(ids["validation"], plan),
        bytes={part: sum(len(text.encode()) for text in texts) for part, texts in parts.items()},
        tokens={part: len(tokens) for part, tokens in ids.items()},
        digest=hashlib.sha256(b"".join(tokens.tobytes() for tokens in ids.values())).hexdigest(),
    )
