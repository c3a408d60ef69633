"""Measure for the page on heads where the heads of the small model look.

The text is chapter 30 of Moby Dick, "The Pipe", one of those that the model was not trained on. Layers and heads are
counted from 0, as ``./run attention`` and the weights' names count them.
"""

from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from checker.course.steps import SMALL_MODEL
from checker.max_adapter.hooks import install_hooks
from checker.session.printer import telling_of_compiling
from play import attention_weights
from play.pictures import visible
from play.tokens import encode, load_tokenizer, token_texts
from play.training.texts import moby_dick
from solutions.solution_13 import load_pretrained

CHAPTER = 30
WINDOW = 128  # tokens that are read together
SENTENCE = "The whale and the ship and the sea."
OFTEN = 8  # times that a token must occur in the passage to be called a favorite


@dataclass(frozen=True)
class Reading:
    """A text, cut into windows of one length, and the attention of every head in each of them."""

    ids: np.ndarray  # [window, seq]
    tokens: list[list[str]]  # [window][seq]
    weights: np.ndarray  # [window, layer, head, seq, seq]

    @property
    def even(self) -> np.ndarray:  # [seq, seq]
        """The weights of a head that looks equally at everything it may see: the yardstick."""
        length = self.ids.shape[-1]
        return np.tril(np.ones((length, length))) / np.arange(1, length + 1)[:, None]

    @cached_property
    def shares(self) -> dict[str, np.ndarray]:  # kind of key -> [layer, head]
        """How much attention every head gives to each kind of key that there is in this text."""
        return self._shares(self.weights)

    @cached_property
    def even_shares(self) -> dict[str, float]:
        """The same for a head that looks at everything equally."""
        alike = np.broadcast_to(self.even, (len(self.ids), 1, 1, *self.even.shape))
        return {name: share.item() for name, share in self._shares(alike).items()}

    def _shares(self, weights: np.ndarray) -> dict[str, np.ndarray]:
        """Return the mean share that a query gives to each kind of key, over the queries that see such a key."""
        shares = {name: share.mean(axis=0) for name, share in attention_weights.shares(weights).items()}
        for name, place in _places(self.ids).items():
            if place.any():
                shares[name] = np.einsum("wlhqk,wqk->lh", weights, place) / place.any(axis=-1).sum()
        return shares


def read(text: str, window: int | None = None) -> Reading:
    """Return what the small model's heads look at in ``text``; a last window that is not full is left out."""
    install_hooks()
    tokenizer, model = load_tokenizer(SMALL_MODEL), load_pretrained(SMALL_MODEL)
    ids = encode(tokenizer, text, model.config)[0]
    window = window or len(ids)
    cut = ids[: len(ids) // window * window].reshape(-1, window)
    with telling_of_compiling():
        weights = np.stack([attention_weights.attention_of(model, part[None])[0] for part in cut])
    return Reading(cut, [token_texts(tokenizer, part) for part in cut], weights)


@cache
def passage() -> Reading:
    """Return the passage that everything is measured on."""
    return read(moby_dick()[CHAPTER], WINDOW)


@cache
def sentence() -> Reading:
    """Return the short sentence that is drawn."""
    return read(SENTENCE)


def _places(ids: np.ndarray) -> dict[str, np.ndarray]:  # [window, seq] -> [window, query, key] of bool, by name
    """Return where the kinds of keys are that ``./run attention`` does not measure; the first query does not count."""
    length = ids.shape[1]
    seen = np.tril(np.ones((length, length), bool))
    earlier = np.tril(seen, k=-1)
    copies = (ids[:, :, None] == ids[:, None, :]) & earlier
    after_copy = np.zeros_like(copies)
    after_copy[:, :, 1:] = copies[:, :, :-1]
    near = np.broadcast_to(seen & ~np.tril(seen, k=-8), copies.shape).copy()
    near[:, 0] = False
    return {
        "the last eight": near,
        "an earlier copy of itself": copies,
        "the token after an earlier copy": after_copy & earlier,
    }


def shares() -> dict[str, np.ndarray]:  # kind of key -> [layer, head]
    """Return what is measured of the heads in the passage."""
    return passage().shares


def even_shares() -> dict[str, float]:
    """Return the same for a head that looks at everything equally."""
    return passage().even_shares


def first_token(text: Reading) -> tuple[float, float]:
    """Return the highest share that a head gives to the first token, and that of even attention."""
    return float(text.shares["the first token"].max()), text.even_shares["the first token"]


def row(name: str) -> str:
    """Return one row of the page's table: even attention, the mean of all heads, the highest and its head."""
    of_heads = shares()[name]
    even, highest = even_shares()[name], named(int(of_heads.argmax()))
    return f"{even:.1%} | {of_heads.mean():.1%} | {of_heads.max():.1%} | {highest}"


def taste(place: int) -> str:
    """Return one row of the page's table of favorite tokens, the clearest taste first."""
    head, token, times, share = favorites(place + 1)[place]
    return f"{head} | `{token}` | {times} | {share:.1f}"


def favorites(rows: int) -> list[tuple[str, str, int, float]]:
    """Return the heads with the clearest taste: head, token, how often that occurs, and the multiple of the even share.

    For every head, it is the token that the head gives the most to, compared with even attention, among those that
    occur in the passage at least ``OFTEN`` times.
    """
    text = passage()
    kinds, counts = np.unique(text.ids, return_counts=True)
    kinds, counts = kinds[counts >= OFTEN], counts[counts >= OFTEN]
    is_kind = (text.ids[None] == kinds[:, None, None]).astype(float)  # [kind, window, key]
    taken = np.einsum("wlhqk,nwk->lhn", text.weights, is_kind)
    alike = np.einsum("qk,nwk->n", text.even, is_kind)
    times = (taken / alike).reshape(-1, len(kinds))  # [layer and head, kind]
    words = dict(zip(text.ids.ravel().tolist(), [word for window in text.tokens for word in window], strict=True))
    table = []
    for head in np.argsort(-times.max(axis=-1))[:rows].tolist():
        kind = int(times[head].argmax())
        word = visible(words[int(kinds[kind])])
        table.append((named(head), word, int(counts[kind]), float(times[head, kind])))
    return table


def named(flat: int) -> str:
    """Return the name of a head that is counted through all layers: ``layer 3, head 4``."""
    layer, head = divmod(flat, sentence().weights.shape[2])
    return f"layer {layer}, head {head}"


def decided() -> int:
    """Return the head that is the most decided on the sentence, counted through all layers from 0.

    That is the head in which the highest weight of each token but the first is the largest on average.
    """
    return int(sentence().weights[0].max(axis=-1)[..., 1:].mean(axis=-1).argmax())
