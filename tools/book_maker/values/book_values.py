"""The names that ``{{= … }}`` in a chapter can use: where every number of the book comes from.

A function here takes and returns plain values. Add one if an expression would be longer than a line.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from typing import Any

import numpy as np

from checker.course.attempts import load_attempts
from checker.course.blanks import blanks_of
from checker.course.installed import needed_version
from checker.course.paths import ROOT
from checker.course.steps import find_step
from checker.numeric.tolerance import TOLERANCE
from cli import finished
from cli.doctor import NEEDED_GB
from play.serving.environment import WAITING_MB
from play.serving.front.admission import BODY_SECONDS, LARGEST_BODY
from solutions.solution_01 import GPT2Config
from tools.benchmarks.bench import MOST_TOKENS
from tools.book_maker.values.arithmetic import (
    attention_flops,
    cache_bytes,
    decode_bytes,
    head_share,
    matrix_weights,
    parameters,
    share,
    token_flops,
)

__all__ = [
    "ablations",
    "alternatives",
    "attention_flops",
    "blanks",
    "body_seconds",
    "cache_bytes",
    "config",
    "decode_bytes",
    "environment_gb",
    "evaluation",
    "followed",
    "head_share",
    "kernel_tables",
    "kernels",
    "largest_body",
    "loop",
    "loop_table",
    "math",
    "matrix_weights",
    "measured_otherwise",
    "mistakes",
    "modern",
    "modern_speed",
    "most_tokens",
    "naive",
    "needed_gb",
    "needed_version",
    "np",
    "parameters",
    "peer_tables",
    "peers",
    "position_costs",
    "projections",
    "recorded",
    "serve_defaults",
    "serving",
    "serving_table",
    "share",
    "sizes",
    "small_weights",
    "small_weights_table",
    "speed",
    "step_speed",
    "step_tables",
    "steps",
    "token_flops",
    "tolerance",
    "training",
    "waiting_mb",
]


def _json(path: str) -> dict[str, Any]:
    read = json.loads((ROOT / path).read_text())
    assert isinstance(read, dict)
    return read


#: The four published sizes by name.
sizes = {name: GPT2Config.published(name) for name in ("gpt2", "gpt2-medium", "gpt2-large", "gpt2-xl")}

#: The largest difference from Hugging Face's numbers that a check accepts, for numbers of size one.
tolerance = TOLERANCE

#: Seconds of the learner's loop, and of each step's check (``./run bench-loop``).
loop = _json("tools/benchmarks/figures/loop.json")
steps = _json("tools/benchmarks/figures/steps.json")

#: What is no longer measured: one fused projection, this course's model beside Hugging Face's, a block of GPT-2 small
#: beside those of newer models, the first steps of the model in the box once more in PyTorch, and a check made the
#: obvious way.
projections = _json("tools/benchmarks/figures/projections.json")
speed = _json("tools/benchmarks/figures/speed.json")
modern_speed = _json("tools/benchmarks/figures/modern.json")
followed = _json("tools/benchmarks/figures/follow.json")
naive = _json("tools/benchmarks/figures/naive.json")

#: This course's model beside what a user would pick instead, by processor (``./run bench``).
peers = _json("tools/benchmarks/figures/peers.json")

#: The most tokens whose forward pass is timed there, in all sequences together.
most_tokens = MOST_TOKENS

#: What weights of 8 and 4 bits cost (``./run evaluate-small``).
small_weights = json.loads((ROOT / "models/moby-dick/quantized.json").read_text())
#: The kernels in Mojo, and what the machine can do, by processor (``./run bench-kernels``).
kernels = _json("tools/benchmarks/figures/kernels.json")

#: A step of training beside PyTorch's, by processor (``./run bench-train``).
step_speed = _json("tools/benchmarks/figures/train.json")

#: Tokens per second of the server with 1, 8 and 32 clients, beside Hugging Face's (``./run bench-serve``).
serving = _json("tools/benchmarks/figures/serve.json")

#: The options of ``./run serve`` as they are if nothing is said, and what it takes of a request's body.
serve_defaults = {option.name: option.default for option in finished.serve.params}
largest_body, body_seconds = LARGEST_BODY, BODY_SECONDS
waiting_mb = WAITING_MB

#: How well the small model of this course reads (``tools/small_model/evaluate.py``).
evaluation = _json("models/moby-dick/evaluation.json")

#: The small model's configuration.
config = GPT2Config(
    **{
        name: value
        for name, value in _json("models/moby-dick/config.json").items()
        if name in {field.name for field in fields(GPT2Config)}
    }
)


def blanks(step: str) -> int:
    """Return how many blanks a step has."""
    return len(blanks_of(find_step(step)))


def position_costs() -> Mapping[str, float]:
    """Return what wrong positions cost the small model; MAX is imported for it."""
    from tools.book_maker.values import position_costs as costs

    return costs.position_costs()


@cache
def mistakes(step: str) -> int:
    """Return how many mistakes the check of a step names."""
    return len(load_attempts(find_step(step)).mistakes)


@cache
def alternatives(step: str) -> int:
    """Return how many other right solutions the check of a step is tried on."""
    return len(load_attempts(find_step(step)).alternatives)


def ablations() -> Any:
    """Return what parts of the small model are worth."""
    from tools.book_maker.values import ablations

    return ablations


def heads() -> Any:
    """Return what is measured of the small model's heads; that needs MAX, so it is imported when a chapter asks."""
    from tools.book_maker.values import head_measurements as heads

    return heads


def modern() -> Any:
    """Return what newer models change in the sizes of GPT-2 small; that needs MAX, as ``heads`` does."""
    from tools.book_maker.values import modern

    return modern


def training() -> Any:
    """Return the recorded training."""
    from tools.book_maker.values import training

    return training


def small_weights_table() -> str:
    """Return the table of ``./run evaluate-small``."""
    from tools.small_model.quantized import as_markdown

    return as_markdown(small_weights)


def loop_table() -> str:
    """Return the table of ``./run bench-loop``."""
    from tools.benchmarks.loop import as_markdown

    return as_markdown(loop)


def recorded() -> Any:
    """Return what makes the tables of figures that are no longer measured."""
    from tools.benchmarks import recorded

    return recorded


def peer_tables() -> Any:
    """Return what makes the tables of ``./run bench``."""
    from tools.benchmarks.peers import tables

    return tables


def measured_otherwise(results: dict[str, Any]) -> str:
    """Return which processors' figures were measured otherwise than a benchmark does now."""
    from tools.benchmarks.harness import notes

    return notes(results)


def kernel_tables() -> Any:
    """Return what makes the tables of ``./run bench-kernels``."""
    from tools.benchmarks.kernels import measuring

    return measuring


def step_tables() -> Any:
    """Return what makes the tables of ``./run bench-train``."""
    from tools.benchmarks.training import measuring

    return measuring


def serving_table(model: str) -> str:
    """Return the table of ``./run bench-serve`` for a model."""
    from tools.benchmarks.serving import tables

    return tables(serving)[model]


def environment_gb() -> float:
    """Return how large ``.venv`` becomes, as ``./run`` announces it."""
    announced = re.search(r"([\d.]+) GB", (ROOT / "run").read_text())
    assert announced
    return float(announced[1])


def needed_gb(what: str) -> float:
    """Return how much free ``memory`` or ``disk`` the doctor asks for."""
    return NEEDED_GB[what]
