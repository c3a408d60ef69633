"""Step 10, the stacked model: what is claimed."""

from dataclasses import replace

import numpy as np
import pytest
from max.dtype import DType

from checker.claims import about, equal, error_of, require
from checker.claims.modules import build, compiled, has_only, past_stays, run, shapes_of
from checker.max_adapter.runtime import tensor
from checker.numeric.references import seeded_weights
from solutions.solution_01 import GPT2Config

CASES = ("", "single_", "full_")
LONG = 300  # tokens: int8 ends at 127, uint8 at 255


@pytest.fixture
def model(subject, config, reference):
    """The model with Hugging Face's weights."""
    return build(subject.GPT2Model, config, weights=reference.weights)


@about("__init__")
def test_parts(model, config, reference):
    """wte, wpe, n_layer blocks in h, and ln_f are there, under a checkpoint's names."""
    blocks = [id(weight) for name, weight in model.parameters if name.endswith(".attn.c_proj.weight")]
    require(len({*blocks}) == len(blocks), "h holds one block several times; make n_layer of them.")
    require(len(blocks) == config.n_layer, f"h holds {len(blocks)} blocks; it must hold n_layer, {config.n_layer}.")
    has_only(model, reference.weights)


@about("forward")
def test_forward(model, reference):
    """The output matches Hugging Face's: [batch, seq] -> [batch, seq, embd]."""
    equal(run(model, reference["input"]), reference["output"], what="forward(input_ids)")


@about("forward")
def test_one_token_and_a_full_context(model, reference):
    """A single token works, and so does a full context of n_positions tokens."""
    for case in CASES[1:]:
        equal(run(model, reference[f"{case}input"]), reference[f"{case}output"], what=f"forward of {case[:-1]} input")


@about("forward")
def test_the_future_cannot_change_the_past(model, reference):
    """Changing the last token leaves every earlier row unchanged."""
    changed = reference["input"].copy()
    changed[:, -1] = (changed[:, -1] + 1) % 37
    past_stays(model, reference["input"], changed, reference["output"])


def normalized(x, weights, epsilon):
    """``x`` after ``ln_f``."""
    centered = x - x.mean(axis=-1, keepdims=True, dtype=np.float64)
    scale = weights["ln_f.weight"] / np.sqrt((centered**2).mean(axis=-1, keepdims=True) + epsilon)
    return (centered * scale + weights["ln_f.bias"]).astype(np.float32)


@about("forward")
def test_order_matters(subject, config, reference):
    """The same token at two positions gives two different rows: positions count."""
    idle = {name: np.zeros_like(array) for name, array in reference.weights.items() if ".c_proj." in name}
    weights = reference.weights | idle | seeded_weights({"wpe.weight": (LONG, config.n_embd)})
    model = build(subject.GPT2Model, replace(config, n_positions=LONG), weights=weights)
    rows = np.from_dlpack(run(model, np.full((1, LONG), 3)))
    require(
        bool(np.abs(rows[0, 1:] - rows[0, :1]).max() > 1e-3),
        "The same token gives the same row wherever it stands: where are the positions?",
        rows,
    )
    right = normalized(weights["wte.weight"][3] + weights["wpe.weight"], weights, config.layer_norm_epsilon)
    what = f"forward of one token {LONG} times, with blocks that add 0,"
    equal(rows, right[None], what=what, whose="the right number")


@about("forward")
def test_too_long_is_refused(model):
    """n_positions + 1 tokens raise a ValueError naming both numbers, before MAX looks anything up."""
    message = error_of(
        "a sequence of 14 tokens with n_positions = 13", lambda: model(tensor(np.zeros((1, 14), np.int64)))
    )
    named = "13" in message and "14" in message
    require(named, "check_length is not called: the error comes from the lookup, or names other numbers.")


@pytest.mark.drawn
@about("forward")
def test_other_numbers(subject, solution, draw):
    """A new random configuration, weights and token ids work as well."""
    config = GPT2Config(**draw.settings())
    x = draw.ids(config.vocab_size, draw.whole("batch", 1, 4), draw.whole("seq", 2, 8))
    weights = draw.weights(shapes_of(build(solution.GPT2Model, config, weights={})))
    result, right = (run(build(module.GPT2Model, config, weights=weights), x) for module in (subject, solution))
    equal(result, right, what="forward(input_ids)", whose="the solution's")


@pytest.mark.compiled
@about("compiled")
def test_compiled(model, reference, device):
    """One graph with symbolic batch and length returns the same numbers."""
    graph = compiled(model, ["batch", "seq"], device=device, dtype=DType.int64)
    for case in CASES:
        equal(graph(reference[f"{case}input"]), reference[f"{case}output"], what=f"the compiled model on {device}")
