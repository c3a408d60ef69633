"""Step 03, layer normalization: what is claimed.

One token of the recorded input hardly varies, so that epsilon, 1e-3 here, decides its numbers.
"""

import numpy as np
import pytest

from checker.claims import about, equal, keeps_nothing, require
from checker.claims.modules import build, compiled, has_only, run
from checker.claims.vocabulary import as_array
from checker.numeric.comparison import close

WIDTH, EPSILON = 15, 1e-3


@pytest.fixture
def norm(subject, reference):
    """The norm with Hugging Face's weights."""
    return build(lambda: subject.LayerNorm(WIDTH, eps=EPSILON), weights=reference.weights)


@about("__init__")
def test_parameters(subject, reference):
    """It has a weight and a bias with one number per channel, initially ones and zeros."""
    norm = build(lambda: subject.LayerNorm(WIDTH, eps=EPSILON))
    build(lambda: norm, weights=dict.fromkeys(reference.weights, np.full(WIDTH, 0.5, np.float32)))
    fresh = build(lambda: subject.LayerNorm(WIDTH, eps=EPSILON))
    has_only(fresh, reference.weights)
    equal(fresh.weight, np.ones(WIDTH, np.float32), what="the weight of a new LayerNorm", whose="the right number")
    equal(fresh.bias, np.zeros(WIDTH, np.float32), what="the bias of a new LayerNorm", whose="the right number")


@about("forward")
def test_forward(norm, reference):
    """The output matches Hugging Face's."""
    equal(run(norm, reference["input"]), reference["output"], what="forward(x)")
    keeps_nothing(lambda x: run(norm, x), reference["input"], right=lambda x: reference["output"])


@about("forward")
def test_one_token_alone(norm, reference):
    """Each token is normalized over its own channels: on its own, it gives the same row."""
    equal(run(norm, reference["input"][1:, 4:5]), reference["output"][1:, 4:5], what="forward of one token")


@about("forward")
def test_without_a_batch(norm, reference):
    """A single sequence, [seq, dim], without a batch axis, works, too."""
    equal(run(norm, reference["input"][0]), reference["output"][0], ("token", "channel"), what="forward of [7, 15]")


@about("forward")
def test_small_epsilon(subject, reference):
    """A tiny eps works, too: x / 128 with eps / 128² gives the same output as x with eps."""
    norm = build(lambda: subject.LayerNorm(WIDTH, eps=EPSILON / 128**2), weights=reference.weights)
    equal(run(norm, reference["input"] / 128), reference["output"], what="forward(x / 128)")


@about("forward")
def test_default_epsilon(subject, reference):
    """eps defaults to 1e-5, as in GPT-2: for a token that hardly varies, it decides the output."""
    default = build(lambda: subject.LayerNorm(WIDTH), weights=reference.weights)
    explicit = build(lambda: subject.LayerNorm(WIDTH, eps=1e-5), weights=reference.weights)
    scaled = reference["input"] * np.float32((1e-5 / EPSILON) ** 0.5)
    result, expected = (as_array(run(norm, scaled))[0] for norm in (default, explicit))
    same = result is None or expected is None or close(result, expected)  # whatever forward computes
    require(same, "Without eps, LayerNorm does not use 1e-5, GPT-2's epsilon.", result)


@about("forward")
def test_large_mean(norm, reference):
    """A token whose channels all lie near 1,000 is still normalized."""
    x = np.random.RandomState(3).normal(1000, 1, (2, 7, WIDTH)).astype(np.float32)
    centered = x - x.mean(axis=-1, keepdims=True, dtype=np.float64)
    scale = reference.weights["weight"] / np.sqrt((centered**2).mean(axis=-1, keepdims=True) + EPSILON)
    right = (centered * scale + reference.weights["bias"]).astype(np.float32)
    # In float32, the right answers are off by at most 6e-4 (1,000 draws), and the mean square less the squared mean
    # by at least 0.15.
    equal(run(norm, x), right, what="forward of channels near 1000", tolerance=5e-3, whose="the right number")


@pytest.mark.drawn
@about("forward")
def test_other_numbers(subject, solution, draw):
    """A new random width, epsilon, weights and input work as well."""
    width, eps = draw.whole("dim", 2, 30), draw.number("eps", 1e-6, 1e-1)
    x = draw.array(draw.whole("batch", 1, 4), draw.whole("seq", 1, 9), width)
    weights = draw.weights({"weight": (width,), "bias": (width,)})
    result, right = (
        run(build(lambda: module.LayerNorm(width, eps=eps), weights=weights), x)  # noqa: B023
        for module in (subject, solution)
    )
    equal(result, right, what="forward(x)", whose="the solution's")


@pytest.mark.compiled
@about("compiled")
def test_compiled(norm, reference, device):
    """One graph with symbolic batch and length returns the same numbers."""
    graph = compiled(norm, ["batch", "seq", WIDTH], device=device)
    equal(graph(reference["input"]), reference["output"], what=f"the compiled module on {device}")
