"""Measure what small weights cost: how well a model with rounded matrices predicts the held-out chapters of Moby Dick.

Beside bits per byte, as on the model's card, it compares every prediction with that of the float32 model. A format may
be measured in two ways: with its numbers in a product of float32, and as MAX multiplies it, which rounds inputs too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from max.driver import CPU
from max.dtype import DType
from max.experimental.tensor import TensorType

from checker.compiling import compiling
from checker.course.steps import SMALL_MODEL
from checker.max_adapter.hooks import install_hooks
from checker.max_adapter.runtime import tensor
from checker.session.printer import telling_of_compiling
from play.ablation.measuring import NOT_COUNTED, STRIDE, Text, read
from play.tokens import load_tokenizer
from play.training.texts import moby_dick_corpus
from solutions.checkpoint import Weights, read_checkpoint, read_config
from solutions.solution_01 import GPT2Config
from solutions.solution_13 import HEAD, convert_checkpoint
from solutions.solution_22 import dequantize, model_of, quantize_weights
from tools.benchmarks.bench import log_probabilities
from tools.benchmarks.harness import Column, Row, finish, table

Logits = Callable[[np.ndarray], np.ndarray]  # [batch, seq] -> [batch, seq, vocab]

COLUMNS = (
    Column("weights", "format"),
    Column("product", "product"),
    Column("megabytes", "megabytes", ".2f", "--:"),
    Column("bits per byte", "bits_per_byte", ".4f", "--:"),
    Column("divergence, bits per token", "divergence", ".5f", "--:"),
    Column("same likeliest token", "same", ".1%", "--:"),
)


def ways(weights: Weights) -> Iterator[tuple[str, str, Weights, Weights]]:
    """Yield a format and a product, with the weights as stored and as multiplied; the first is the model as it is."""
    yield "F32", "float32", weights, weights
    for format in ("Q8_0", "Q4_0"):
        stored = quantize_weights(weights, format)
        yield format, "float32", stored, {name: dequantize(weight) for name, weight in stored.items()}
    yield "Q4_0", "MAX's", stored, stored


def logits_of(config: GPT2Config, weights: Weights) -> Logits:
    """Return a compiled model as a function of arrays."""
    graph = model_of(config, weights).compile(TensorType(DType.int64, ["batch", "seq"], device=CPU()))
    return lambda ids: np.from_dlpack(graph(tensor(ids)))


def measured(text: Text, right: Logits, other: Logits) -> tuple[float, float, float]:
    """Return bits per byte of a text under a model, and how its predictions differ from another's.

    The second figure is the mean Kullback-Leibler divergence from the other model in bits per token, the third the
    share of tokens where both find the same token likeliest.
    """
    nats = divergence = same = 0.0
    for ids, targets in text.windows:
        counted = targets != NOT_COUNTED
        both = (logits(ids)[counted].astype(np.float64) for logits in (right, other))
        expected, actual = map(log_probabilities, both)  # [tokens, vocab]
        nats -= float(np.take_along_axis(actual, targets[counted][:, None], axis=-1).sum())
        divergence += float((np.exp(expected) * (expected - actual)).sum())
        same += float((expected.argmax(axis=-1) == actual.argmax(axis=-1)).sum())
    bit = float(np.log(2))
    return nats / bit / text.bytes, divergence / bit / text.tokens, same / text.tokens


def bits_per_byte(folder: Path, texts: list[str]) -> float:
    """Return the bits per byte of some texts under the model of a folder."""
    install_hooks()
    config, weights = read_config(folder), convert_checkpoint(read_checkpoint(folder))
    logits = logits_of(config, weights)
    return measured(read(texts, load_tokenizer(folder), config, STRIDE), logits, logits)[0]


def evaluate(folder: Path = SMALL_MODEL, texts: list[str] | None = None) -> Iterator[Row]:
    """Measure every format on the held-out chapters, or on other texts; megabytes leave out the tied head."""
    config, weights = read_config(folder), convert_checkpoint(read_checkpoint(folder))
    text, right = read(texts or moby_dick_corpus().test, load_tokenizer(folder), config, STRIDE), None
    for format, product, stored, multiplied in ways(weights):
        with compiling(f"the model with weights in {format}"):
            logits = logits_of(config, multiplied)
        right = right or logits
        bits, divergence, same = measured(text, right, logits)
        megabytes = sum(weight.nbytes for name, weight in stored.items() if name != HEAD) / 1e6
        figures = {"megabytes": megabytes, "bits_per_byte": bits, "divergence": divergence, "same": same}
        yield {"format": format, "product": product} | figures


def as_markdown(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the table of the book."""
    return table(COLUMNS, rows)


def record_quality(out: Path | None) -> None:
    """Measure, print the table, and write the figures."""
    install_hooks()
    with telling_of_compiling():
        rows = list(evaluate())
    finish(as_markdown(rows), rows, out)
