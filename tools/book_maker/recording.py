"""Record what the interactive figures show without a server: real runs of the small model.

Each file is a script, ``book/src/widgets/NAME.data.js``: a page that is opened as a file may load nothing else.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from checker.course.steps import WIDGETS
from checker.max_adapter.hooks import install_hooks
from play.attention.pictures import attention_on
from play.attention.weights import Attention, attention_of
from play.browser.packing import packed
from play.training.curve import as_points
from play.whale import read as read_whale
from play.widgets.figure_model import FigureModel
from play.widgets.timing import BATCHES, PROMPTS
from solutions.warmup_01 import softmax
from tools.benchmarks import harness
from tools.book_maker.figures import step_21
from tools.book_maker.values import training as values
from tools.book_maker.values.arithmetic import cache_bytes, decode_bytes
from tools.book_maker.values.book_values import config

TEXTS = ("The whale and the ship and the sea.", "There she blows! there she", "And the whale was a white whale")
PROMPT = "The whale struck the ship, and it"  # of step 12
ROUNDS = 5  # of a measurement


def attention() -> dict[str, Any]:
    """Return the heads of the small model on the texts, and which to show first: the most decided one on the first."""
    figure_model = FigureModel()
    layer, head = most_decided(figure_model)
    texts = [{"text": text, **figure_model.attention({"text": text})} for text in TEXTS]
    return {"texts": texts, "layer": layer, "head": head, "steps": of_the_steps()}


def of_the_steps() -> dict[str, Any]:
    """Return our sentence as warm-ups 01 to 03 and step 07 see it, each with what is shown first.

    Without weights, every token's normalized vector meets every other; then there is one head, then its mask, then all.
    """
    whale = read_whale()
    layers, row = int(config.n_layer), whale["tokens"].index(" it")
    every, weights = (
        np.stack([whale[f"h.{layer}.attn.{name}"] for layer in range(layers)]) for name in ("scores", "weights")
    )
    x, one = whale["h.0.ln_1"], (slice(0, 1), slice(3, 4))  # layer 0, head 3
    masked = attention_on(Attention(whale["tokens"], weights[one], every[one]))
    heads = attention_on(Attention(whale["tokens"], weights, every))
    return {
        "w01": {**masked, **without_mask(x @ x.T), "first": first(row, "scores")},
        "w02": {**masked, **without_mask(every[0, 3]), "first": first(row, "weights")},
        "w03": {**masked, "first": first(row, "masked")},
        "07": {**heads, "first": first(row, "weights") | {"head": 3}},
    }


def first(row: int, stage: str) -> dict[str, Any]:
    """Return what is shown first: of layer 0 and its first head, a token's row, and a stage."""
    return {"layer": 0, "head": 0, "row": row, "stage": stage}


def without_mask(scores: np.ndarray) -> dict[str, Any]:  # [seq, seq]
    """Return scores and all their weights."""
    return {"isWhole": True, "scores": packed(scores), "weights": packed(softmax(scores), 0, 1)}


def most_decided(figure_model: FigureModel) -> tuple[int, int]:
    """Return the layer and head whose highest weight of each token but the first is the largest on average."""
    weights, _ = attention_of(figure_model.model, figure_model.ids_of({"text": TEXTS[0]}))  # [layer, head, seq, seq]
    decided = weights.max(axis=-1)[..., 1:].mean(axis=-1)
    layer, head = np.unravel_index(int(decided.argmax()), decided.shape)
    return int(layer), int(head)


def sampling() -> dict[str, Any]:
    """Return what the small model expects after each token of the texts."""
    figure_model = FigureModel()
    return {
        "texts": [{"text": text, **figure_model.sampling({"text": text})} for text in (PROMPT, *TEXTS[1:])],
        "vocabulary": figure_model.vocabulary(),
    }


def cache() -> dict[str, Any]:
    """Return what a generation costs call by call, as measured on this machine."""
    figure_model = FigureModel()
    sizes = figure_model.model.config
    return {
        "machine": harness.machine(),
        "rounds": ROUNDS,
        "weights": decode_bytes(sizes, 0),
        "cached": cache_bytes(sizes),
        "runs": [figure_model.timer.measure(prompt, batch, ROUNDS) for prompt in PROMPTS for batch in BATCHES],
    }


def training() -> dict[str, Any]:
    """Return the losses of the training that the page on training shows."""
    return as_points(values.RECORDED)


def tiles() -> dict[str, Any]:
    """Return what the pictures of step 21 begin with: its five scores by hand, and the tiles of its figure."""
    sizes = {"length": step_21.LENGTH, "queries": step_21.QUERIES, "keys": step_21.KEYS}
    return {"scores": (1.0, 3.0, 2.0, 5.0, 4.0), "block": 2, **sizes}


RECORDED: dict[str, Callable[[], dict[str, Any]]] = {
    function.__name__: function for function in (attention, sampling, cache, tiles, training)
}


def file_of(name: str) -> Path:
    """Return the file of what was recorded for a picture."""
    return WIDGETS / f"{name}.data.js"


def read(name: str) -> dict[str, Any]:
    """Return what was recorded for a picture."""
    return json.loads(file_of(name).read_text(encoding="utf-8").partition(", ")[2].removesuffix(");\n"))


def record_widgets(names: list[str]) -> None:
    """Run the model for some pictures, and write what they show."""
    install_hooks()
    for name in names:
        data = json.dumps(RECORDED[name](), ensure_ascii=False, separators=(",", ":"))
        file_of(name).write_text(f"widgets.record({json.dumps(name)}, {data});\n", encoding="utf-8")
