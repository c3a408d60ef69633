"""Measure how well the small GPT-2 predicts text it has not seen, in bits per byte, beside an n-gram and xz.

All three predict the same bytes. Fewer bits are better; plain text is 8 bits per byte.
"""

from __future__ import annotations

import lzma
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from play.training.texts import DEV, TEST, Corpus, moby_dick_corpus, read_text
from solutions.checkpoint import read_config
from tools.benchmarks.harness import Column, Result, finish, table
from tools.book_maker.values.arithmetic import parameters
from tools.small_model.quantized import STRIDE, bits_per_byte

DISCOUNTS = np.linspace(0.05, 0.95, 19)


def grams(chapters: list[str], order: int) -> Iterator[bytes]:
    """Yield for each byte of ``chapters`` the run of ``order`` bytes that ends in it; zeros precede a chapter."""
    for chapter in chapters:
        data = bytes(order - 1) + chapter.encode()
        yield from (data[at : at + order] for at in range(len(data) - order + 1))


class NGram:
    """An interpolated n-gram over bytes, with absolute discounting.

    Let C be the count of the context of n - 1 bytes, c that of context and byte, and D the number of different bytes
    seen after it. Then (Ney, Essen and Kneser 1994, "On structuring probabilistic dependences in stochastic language
    modeling"):  p_n = max(c - d_n, 0) / C + d_n D / C * p_(n-1), and p_0 = 1/256. Each discount d_n is chosen on the
    dev chapters.
    """

    def __init__(self, order: int, corpus: Corpus):
        self.tables = []
        for n in range(1, order + 1):
            counts, totals = Counter(grams(corpus.train, n)), Counter[bytes]()
            for gram, count in counts.items():
                totals[gram[:-1]] += count
            self.tables.append((counts, totals, Counter(gram[:-1] for gram in counts)))
        self.discounts = [0.5] * order
        seen = self.counts(corpus.dev)
        for _ in range(2):  # one discount at a time; a second round changes little
            for n in range(order):
                bits = {d: self.bits_of(seen, [*self.discounts[:n], d, *self.discounts[n + 1 :]]) for d in DISCOUNTS}
                self.discounts[n] = float(min(bits, key=bits.__getitem__))

    def counts(self, chapters: list[str]) -> list[np.ndarray]:
        """Return c, C and D for each order and for each byte of ``chapters``: [bytes, 3]."""
        return [
            np.array([(counts[gram], totals[gram[:-1]], kinds[gram[:-1]]) for gram in grams(chapters, n)])
            for n, (counts, totals, kinds) in enumerate(self.tables, start=1)
        ]

    @staticmethod
    def bits_of(seen: list[np.ndarray], discounts: list[float]) -> float:
        """Return bits per byte, from the counts at each byte."""
        p = np.full(len(seen[0]), 1 / 256)
        for counts, discount in zip(seen, discounts, strict=True):
            count, total, kinds = counts.T
            known = total > 0
            safe = np.where(known, total, 1)
            p = np.where(known, np.maximum(count - discount, 0) / safe + discount * kinds / safe * p, p)
        return float(-np.log2(p).mean())

    def bits(self, chapters: list[str]) -> float:
        """Return the bits per byte of ``chapters``."""
        return self.bits_of(self.counts(chapters), self.discounts)


def xz_bits(corpus: Corpus) -> tuple[float, float]:
    """Return bits per byte of the test chapters under ``xz -9e``: what they add to all that is learned, and alone."""
    train, test = ("".join(texts).encode() for texts in (corpus.also + corpus.train, corpus.test))

    def compressed(data: bytes) -> int:
        return len(lzma.compress(data, preset=9 | lzma.PRESET_EXTREME))

    return 8 * (compressed(train + test) - compressed(train)) / len(test), 8 * compressed(test) / len(test)


def record_evaluation(folder: Path, others: Sequence[Path]) -> None:
    """Evaluate a model, print a table, and write ``evaluation.json`` beside the model.

    Args:
        folder: the model, in Hugging Face's layout.
        others: texts that it has read beside *Moby Dick*.
    """
    corpus = replace(moby_dick_corpus(), also=[read_text(file) for file in others])
    orders = {n: NGram(n, corpus) for n in range(4, 9)}
    best = min(orders, key=lambda n: orders[n].bits(corpus.dev))
    xz_after, xz_alone = xz_bits(corpus)
    figures = {
        "this model": bits_per_byte(folder, corpus.test),
        "interpolated 5-gram": orders[5].bits(corpus.test),
        f"interpolated {best}-gram (the order that is best on the dev chapters)": orders[best].bits(corpus.test),
        "xz -9e, after the texts that are learned": xz_after,
        "xz -9e, the test chapters alone": xz_alone,
    }
    result: Result = {
        "parameters": parameters(read_config(folder))["total"],
        "bytes": {part: len("".join(getattr(corpus, part)).encode()) for part in ("train", "also", "dev", "test")},
        "chapters": {"dev": list(DEV), "test": list(TEST)},
        "stride": STRIDE,
        "test bits per byte": {name: round(bits, 4) for name, bits in figures.items()},
        "dev bits per byte": {
            "this model": round(bits_per_byte(folder, corpus.dev), 4),
            "interpolated 5-gram": round(orders[5].bits(corpus.dev), 4),
        },
    }
    columns = [Column("predictor", "name"), Column("bits per byte, held-out text", "bits", ".3f")]
    rows = [{"name": name, "bits": bits} for name, bits in result["test bits per byte"].items()]
    finish(table(columns, rows), result, folder / "evaluation.json")
