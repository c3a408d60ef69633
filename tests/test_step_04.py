"""Step 04, the feed-forward network: what is claimed.

Recorded at two widths: 60, which is the usual 4 * 15, and 22, which is no multiple of 15.
"""

import inspect
from dataclasses import replace

import numpy as np
import pytest

from checker.claims import about, equal, keeps_nothing, require
from checker.claims.modules import build, compiled, has_only, run
from solutions.solution_01 import GPT2Config

WIDTH = 15


def build_mlp(module, config, weights):
    """The network of a configuration. The source tutorial's takes the width inside first, too."""
    takes_width = len(inspect.signature(module.GPT2MLP).parameters) > 1
    return build(module.GPT2MLP, *[config.inner_dim] * takes_width, config, weights=weights)


@pytest.fixture
def mlp(subject, config, reference):
    """The module with Hugging Face's weights."""
    return build_mlp(subject, config, reference.weights)


@about("__init__")
def test_layers(mlp, reference):
    """c_fc maps n_embd to inner_dim, c_proj maps back, both with biases."""
    require(mlp.c_fc is not mlp.c_proj, "c_fc and c_proj are the same layer; they are two.")
    has_only(mlp, reference.weights)


@about("forward")
def test_forward(mlp, reference):
    """The output matches Hugging Face's, with the tanh GELU."""
    equal(run(mlp, reference["input"]), reference["output"], what="forward(x)")
    keeps_nothing(lambda x: run(mlp, x), reference["input"], right=lambda x: reference["output"])


@about("forward")
def test_without_a_batch(mlp, reference):
    """A single sequence, [seq, embd], without a batch axis, works, too."""
    equal(run(mlp, reference["input"][0]), reference["output"][0], ("token", "channel"), what="forward of one sequence")


@about("forward")
def test_another_width(subject, config, reference):
    """The default inner width, 4 * n_embd, used if n_inner is None, works, too."""
    weights = {name: reference[f"wide_weights/{name}"] for name in reference.weights}
    mlp = build_mlp(subject, replace(config, n_inner=None), weights)
    equal(run(mlp, reference["wide_input"]), reference["wide_output"], what="forward(x), 60 wide inside")


@about("forward")
def test_large_activations(mlp, reference):
    """Activations as large as 50 go through the GELU unharmed."""
    x, weights = 10 * reference["input"], {name: array.astype(np.float64) for name, array in reference.weights.items()}
    wide = x @ weights["c_fc.weight"].T + weights["c_fc.bias"]
    wide *= 0.5 + 0.5 * np.tanh(np.sqrt(2 / np.pi) * (wide + 0.044715 * wide**3))
    right = (wide @ weights["c_proj.weight"].T + weights["c_proj.bias"]).astype(np.float32)
    # The right answers are off by at most 1e-6 of the largest number (1,000 draws); exp(2u) is infinite, so NaN.
    equal(run(mlp, x), right, what="forward(10 * x)", whose="the right number")


@pytest.mark.drawn
@about("forward")
def test_other_numbers(subject, solution, draw):
    """A new random configuration, weights and input work as well."""
    config = GPT2Config(**draw.settings())
    width, inner = config.n_embd, config.inner_dim
    weights = draw.weights(
        {"c_fc.weight": (inner, width), "c_fc.bias": (inner,), "c_proj.weight": (width, inner), "c_proj.bias": (width,)}
    )
    x = draw.array(draw.whole("batch", 1, 4), draw.whole("seq", 1, 9), width)
    result, right = (run(build_mlp(module, config, weights), x) for module in (subject, solution))
    equal(result, right, what="forward(x)", whose="the solution's")


@pytest.mark.compiled
@about("compiled")
def test_compiled(mlp, reference, device):
    """One graph with symbolic batch and length returns the same numbers."""
    graph = compiled(mlp, ["batch", "seq", WIDTH], device=device)
    equal(graph(reference["input"]), reference["output"], what=f"the compiled module on {device}")
