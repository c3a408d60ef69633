"""Step 23, RMS norm and a gate: what is claimed.

Hugging Face's ``LlamaRMSNorm`` and ``LlamaMLP`` were recorded. The channels of the norm's input lie around 1, and one
token is tiny, so that its mean and epsilon, 1e-3 here, decide the numbers.
"""

from dataclasses import replace

import numpy as np
import pytest

from checker.claims import about, equal, keeps_nothing, require
from checker.claims.modules import build, compiled, has_only, run
from solutions.llama_config import LlamaConfig

WIDTH, EPSILON = 36, 1e-3
RIGHT = "the right number"


@pytest.fixture(scope="module")
def config(reference):
    return LlamaConfig(**reference.config)


@pytest.fixture
def normalize(subject, reference):
    """``rms_norm`` of an array, with Hugging Face's weight."""
    return lambda x, eps=EPSILON: run(lambda x, weight: subject.rms_norm(x, weight, eps), x, reference["norm_weight"])


@pytest.fixture
def mlp(subject, config, reference):
    """The module with Hugging Face's weights."""
    return build(subject.LlamaMLP, config, weights=reference.weights)


@about("rms_norm")
def test_rms_norm(normalize, reference):
    """The output matches Hugging Face's LlamaRMSNorm."""
    equal(normalize(reference["norm_input"]), reference["norm_output"], what="rms_norm(x, weight, eps)")


@about("rms_norm")
def test_one_token_alone(normalize, reference):
    """Each token is normalized over its own channels: on its own, it gives the same row."""
    alone = normalize(reference["norm_input"][1:, 4:5])
    equal(alone, reference["norm_output"][1:, 4:5], what="rms_norm of one token")


@about("rms_norm")
def test_any_rank(normalize, reference):
    """The channels are the last axis, whether there is no batch axis, as in a server, or one of heads as well."""
    x, right = reference["norm_input"], reference["norm_output"]
    equal(normalize(x[0]), right[0], ("token", "channel"), what="rms_norm of [7, 36]")
    equal(normalize(x[:, None]), right[:, None], what="rms_norm of [2, 1, 7, 36]")


@about("rms_norm")
def test_small_epsilon(normalize, reference):
    """A tiny eps works, too: x / 128 with eps / 128² gives the same output as x with eps."""
    equal(
        normalize(reference["norm_input"] / 128, EPSILON / 128**2), reference["norm_output"], what="rms_norm(x / 128)"
    )


@about("__init__")
def test_layers(mlp, reference):
    """gate_proj and up_proj map to intermediate_size, down_proj maps back, all without a bias."""
    require(mlp.gate_proj is not mlp.up_proj, "gate_proj and up_proj are the same layer; they are two.")
    has_only(mlp, reference.weights)


@about("forward")
def test_forward(mlp, reference):
    """The output matches Hugging Face's LlamaMLP."""
    equal(run(mlp, reference["input"]), reference["output"], what="forward(x)")
    keeps_nothing(lambda x: run(mlp, x), reference["input"], right=lambda x: reference["output"])


@about("forward")
def test_without_a_batch(mlp, reference):
    """A single sequence, [seq, hidden_size], without a batch axis, works, too."""
    equal(run(mlp, reference["input"][0]), reference["output"][0], ("token", "channel"), what="forward of one sequence")


def gated(x, weights):
    """What the module computes, in double precision."""
    gate, up, down = (weights[f"{name}_proj.weight"].astype(np.float64).T for name in ("gate", "up", "down"))
    return (x @ gate / (1 + np.exp(-(x @ gate))) * (x @ up) @ down).astype(np.float32)


@about("forward")
def test_large_activations(mlp, reference):
    """Activations of hundreds, which the outlier channels of a trained model reach, pass the gate unharmed."""
    x = 50 * reference["input"]
    # exp(100) is infinite in float32: x * exp(x) / (1 + exp(x)) is infinity over infinity, which is NaN.
    equal(run(mlp, x), gated(x.astype(np.float64), reference.weights), what="forward(50 * x)", whose=RIGHT)


@pytest.mark.drawn
@about("rms_norm")
def test_other_norms(subject, solution, draw):
    """A new random width, epsilon, weight and input work as well."""
    width, eps = draw.whole("dim", 2, 30), draw.number("eps", 1e-6, 1e-1)
    x = draw.array(draw.whole("batch", 1, 4), draw.whole("seq", 1, 9), width)
    weight = draw.weights({"weight": (width,)})["weight"]
    result, right = (
        run(lambda x, weight: module.rms_norm(x, weight, eps), x, weight)  # noqa: B023
        for module in (subject, solution)
    )
    equal(result, right, what="rms_norm(x, weight, eps)", whose="the solution's")


@pytest.mark.drawn
@about("forward")
def test_other_numbers(subject, solution, draw):
    """A new random configuration, weights and input work as well."""
    width, inner = draw.whole("hidden_size", 2, 40), draw.whole("intermediate_size", 2, 40)
    config = replace(LlamaConfig(), hidden_size=width, intermediate_size=inner)
    shapes = {"gate_proj.weight": (inner, width), "up_proj.weight": (inner, width), "down_proj.weight": (width, inner)}
    weights = draw.weights(shapes)
    x = draw.array(draw.whole("batch", 1, 4), draw.whole("seq", 1, 9), width)
    result, right = (run(build(module.LlamaMLP, config, weights=weights), x) for module in (subject, solution))
    equal(result, right, what="forward(x)", whose="the solution's")


@pytest.mark.compiled
@about("compiled")
def test_compiled_norm(subject, reference, device):
    """LlamaRMSNorm in one graph with symbolic batch and length returns the same numbers."""
    weights = {"weight": reference["norm_weight"]}
    norm = build(lambda: subject.LlamaRMSNorm(WIDTH, eps=EPSILON), weights=weights)
    graph = compiled(norm, ["batch", "seq", WIDTH], device=device)
    equal(graph(reference["norm_input"]), reference["norm_output"], what=f"the compiled norm on {device}")


@pytest.mark.compiled
@about("compiled")
def test_compiled(mlp, reference, device):
    """LlamaMLP in one graph with symbolic batch and length returns the same numbers."""
    graph = compiled(mlp, ["batch", "seq", WIDTH], device=device)
    equal(graph(reference["input"]), reference["output"], what=f"the compiled module on {device}")
