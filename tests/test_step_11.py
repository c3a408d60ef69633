"""Step 11, the language-model head: what is claimed."""

from dataclasses import replace

import numpy as np
import pytest
from max.dtype import DType
from max.experimental.tensor import Tensor

from checker.claims import about, equal, keeps_nothing, require
from checker.claims.modules import build, compiled, has_only, load, run, shapes_of
from solutions.solution_01 import GPT2Config

CASES = ("", "single_", "full_")


@pytest.fixture
def model(subject, config, reference):
    """The model with Hugging Face's weights."""
    return build(subject.MaxGPT2LMHeadModel, config, weights=reference.weights)


@about("__init__")
def test_parts(model, config, reference):
    """transformer and lm_head are there, under a checkpoint's names, and the head has no bias."""
    require(getattr(model, "config", None) is config, "self.config, which was given, is gone.")
    bias = getattr(model.lm_head, "bias", None)
    require(not isinstance(bias, Tensor), "lm_head has a bias; a checkpoint has none for it: bias=False.")
    has_only(model, reference.weights)


@about("forward")
def test_forward(model, reference):
    """The logits match Hugging Face's: [batch, seq] -> [batch, seq, vocab]."""
    equal(run(model, reference["input"]), reference["output"], ("batch", "token", "logit"), what="forward(input_ids)")


@about("forward")
def test_one_token_and_a_full_context(model, reference):
    """A single token works, and so does a full context of n_positions tokens."""
    for case in CASES[1:]:
        logits, right = run(model, reference[f"{case}input"]), reference[f"{case}output"]
        equal(logits, right, ("batch", "token", "logit"), what=f"forward of {case[:-1]} input")


@about("forward")
def test_the_most_likely_token(model, reference):
    """The most likely next token is Hugging Face's at every position."""
    best = np.from_dlpack(run(model, reference["full_input"])).argmax(axis=-1)
    wanted = reference["full_output"].argmax(axis=-1)
    require(
        best.shape == wanted.shape and bool((best == wanted).all()),
        "Another token comes out as the most likely one.",
        best,
    )


@about("forward")
def test_a_head_of_its_own(subject, config, reference):
    """The logits come from lm_head, which may have its own weights: reversing its rows reverses the logits."""
    shallow = replace(config, n_layer=1)
    weights = {name: array for name, array in reference.weights.items() if ".h." not in name or ".h.0." in name}
    model = build(subject.MaxGPT2LMHeadModel, shallow, weights=weights)
    before = np.from_dlpack(keeps_nothing(lambda ids: run(model, ids), reference["input"]))
    load(model, "lm_head.weight", weights["lm_head.weight"][::-1].copy())
    after, what = run(model, reference["input"]), "the logits of such a head"
    equal(after, before[..., ::-1], ("batch", "token", "logit"), what=what, whose="the right logit")


@pytest.mark.drawn
@about("forward")
def test_other_numbers(subject, solution, draw):
    """A new random configuration, weights and token ids work as well."""
    config = GPT2Config(**draw.settings())
    x = draw.ids(config.vocab_size, draw.whole("batch", 1, 4), draw.whole("seq", 2, 8))
    weights = draw.weights(shapes_of(build(solution.MaxGPT2LMHeadModel, config, weights={})))
    result, right = (
        run(build(module.MaxGPT2LMHeadModel, config, weights=weights), x) for module in (subject, solution)
    )
    equal(result, right, ("batch", "token", "logit"), what="forward(input_ids)", whose="the solution's")


@pytest.mark.compiled
@about("compiled")
def test_compiled(model, reference, device):
    """One graph with symbolic batch and length returns the same logits."""
    graph = compiled(model, ["batch", "seq"], device=device, dtype=DType.int64)
    for case in CASES:
        equal(graph(reference[f"{case}input"]), reference[f"{case}output"], what=f"the compiled model on {device}")
