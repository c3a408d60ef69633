"""Measure what small weights cost: how well a model with rounded matrices predicts the held-out chapters of Moby Dick.

Beside bits per byte, as on the model's card, it compares every prediction with that of the float32 model. A format may
be measured in two ways: with its numbers in a product of float32, and as MAX multiplies it, which rounds inputs too.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from max.driver import CPU
from max.dtype import DType
from max.experimental.tensor import TensorType

from checker.course.paths import SMALL_MODEL
from checker.max_adapter.runtime import compiling, listeners, prepare, tensor
from checker.session.waiting import telling_of_compiling
from play.ablation.held_out import chapters
from play.ablation.measuring import NOT_COUNTED, STRIDE, Text, read
from play.tokens import load_tokenizer
from solutions.solution_01 import GPT2Config
from solutions.solution_13 import Weights, convert_checkpoint, read_checkpoint, read_config
from solutions.solution_22 import BYTES, MULTIPLIED, Stored, model_of, numbers_of, quantize_weights
from tools.benchmarks.harness import Column, table

Logits = Callable[[np.ndarray], np.ndarray]  # [batch, seq] -> [batch, seq, vocab]

COLUMNS = (
    Column("weights", "format"),
    Column("product", "product"),
    Column("megabytes", "megabytes", ".2f", "--:"),
    Column("bits per byte", "bits_per_byte", ".4f", "--:"),
    Column("divergence, bits per token", "divergence", ".5f", "--:"),
    Column("same likeliest token", "same", ".1%", "--:"),
)


@dataclass(frozen=True)
class Quality:
    """How well a model predicts, and how its predictions differ from those of the float32 model.

    Args:
        format: what the matrices are kept in.
        product: how they are multiplied.
        megabytes: of all weights, as they are stored.
        bits_per_byte: of the text.
        divergence: the mean Kullback-Leibler divergence of its predictions from the float32 model's, in bits per token.
        same: the share of tokens where both find the same token likeliest.
    """

    format: str
    product: str
    megabytes: float
    bits_per_byte: float
    divergence: float
    same: float


def in_float32(stored: Mapping[str, Stored]) -> dict[str, Stored]:
    """Return the numbers of stored weights, which any product can take."""
    return {name: Stored(numbers_of(one), "F32") for name, one in stored.items()}


def ways(weights: Weights) -> Iterator[tuple[str, str, dict[str, Stored], dict[str, Stored]]]:
    """Yield a format and a product, with the weights as stored and as multiplied; the first is the model as it is."""
    plain = {name: Stored(weights[name], "F32") for name in quantize_weights(weights, "Q8_0")}
    yield "F32", "float32", plain, plain
    for format in BYTES:
        stored = quantize_weights(weights, format)
        yield format, "float32", stored, in_float32(stored)
        if format in MULTIPLIED:
            yield format, "MAX's", stored, stored


def logits_of(config: GPT2Config, stored: Mapping[str, Stored]) -> Logits:
    """Return a compiled model as a function of arrays."""
    graph = model_of(config, stored).compile(TensorType(DType.int64, ["batch", "seq"], device=CPU()))
    return lambda ids: np.from_dlpack(graph(tensor(ids)))


def log_probabilities(logits: np.ndarray) -> np.ndarray:  # [..., vocab] -> [..., vocab]
    """Return natural logarithms."""
    shifted = logits.astype(np.float64) - logits.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))


def measured(text: Text, right: Logits, other: Logits) -> tuple[float, float, float]:
    """Return bits per byte of a text, and divergence and share of equal likeliest tokens, of one model from another."""
    nats = divergence = same = 0.0
    for ids, targets in text.windows:
        counted = targets != NOT_COUNTED
        expected, found = (log_probabilities(logits(ids)[counted]) for logits in (right, other))  # [tokens, vocab]
        nats -= float(np.take_along_axis(found, targets[counted][:, None], axis=-1).sum())
        divergence += float((np.exp(expected) * (expected - found)).sum())
        same += float((expected.argmax(axis=-1) == found.argmax(axis=-1)).sum())
    bit = float(np.log(2))
    return nats / bit / text.bytes, divergence / bit / text.tokens, same / text.tokens


def evaluate(folder: Path = SMALL_MODEL, texts: list[str] | None = None) -> list[Quality]:
    """Measure every format on the held-out chapters, or on other texts."""
    config, weights = read_config(folder), convert_checkpoint(read_checkpoint(folder))
    text = read(texts or list(chapters().values()), load_tokenizer(folder), config, STRIDE)
    found, right = [], None
    for format, product, stored, multiplied in ways(weights):
        with compiling(f"the model with weights in {format}"):
            logits = logits_of(config, multiplied)
        right = right or logits
        size = sum(one.data.nbytes for one in stored.values()) / 1e6
        found.append(Quality(format, product, size, *measured(text, right, logits)))
    return found


def as_markdown(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the table of the book."""
    return table(COLUMNS, rows)


def record_quality(out: Path | None) -> None:
    """Measure, print the table, and write the figures."""
    prepare()
    with telling_of_compiling(listeners):
        rows = [asdict(one) for one in evaluate()]
    print(as_markdown(rows))
    if out:
        out.write_text(json.dumps(rows, indent=1) + "\n")
