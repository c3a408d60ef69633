"""Step 03, layer normalization: what is claimed.

One token of the recorded input hardly varies, so that epsilon, 1e-3 here, decides its numbers.
"""

import numpy as np
import pytest

from checker.claims import about, equal
from checker.claims.modules import build, compiled, run

WIDTH, EPSILON = 15, 1e-3


@pytest.fixture
def norm(step, reference):
    """The norm with Hugging Face's weights."""
    return build(lambda: step.LayerNorm(WIDTH, eps=EPSILON), weights=reference.weights)


@about("__init__")
def test_parameters(step, reference):
    """It has a weight and a bias of one number per channel, at first ones and zeros."""
    norm = build(lambda: step.LayerNorm(WIDTH, eps=EPSILON))
    build(lambda: norm, weights=dict.fromkeys(reference.weights, np.full(WIDTH, 0.5, np.float32)))
    fresh = build(lambda: step.LayerNorm(WIDTH, eps=EPSILON))
    equal(fresh.weight, np.ones(WIDTH, np.float32), what="the weight of a new LayerNorm", whose="the right number")
    equal(fresh.bias, np.zeros(WIDTH, np.float32), what="the bias of a new LayerNorm", whose="the right number")


@about("forward")
def test_forward(norm, reference):
    """It returns what Hugging Face returns."""
    equal(run(norm, reference["input"]), reference["output"], what="forward(x)")


@about("forward")
def test_one_token_alone(norm, reference):
    """A token is normalized by its own channels: alone it gives the same row."""
    equal(run(norm, reference["input"][1:, 4:5]), reference["output"][1:, 4:5], what="forward of one token")


@pytest.mark.drawn
@about("forward")
def test_other_numbers(step, answer, draw):
    """A width, an epsilon, weights and an input drawn anew are right as well."""
    width, eps = draw.whole("dim", 2, 30), draw.number("eps", 1e-6, 1e-1)
    x = draw.array(draw.whole("batch", 1, 4), draw.whole("seq", 1, 9), width)
    weights = draw.weights({"weight": (width,), "bias": (width,)})
    result, right = (
        run(build(lambda: module.LayerNorm(width, eps=eps), weights=weights), x)  # noqa: B023
        for module in (step, answer)
    )
    equal(result, right, what="forward(x)", whose="the solution's")


@pytest.mark.compiled
@about("compiled")
def test_compiled(norm, reference, device):
    """One graph with symbolic batch and length returns the same numbers."""
    graph = compiled(norm, ["batch", "seq", WIDTH], device=device)
    equal(graph(reference["input"]), reference["output"], what=f"the compiled module on {device}")
