"""Step 09, the transformer block: what is claimed."""

import pytest

from checker.claims import about, equal, require
from checker.claims.modules import build, compiled, has_only, past_stays, run, shapes_of
from solutions.solution_01 import GPT2Config

WIDTH = 15


@pytest.fixture
def block(subject, config, reference):
    """The module with Hugging Face's weights."""
    return build(subject.GPT2Block, config, weights=reference.weights)


@about("__init__")
def test_parts(block, reference):
    """ln_1, attn, ln_2 and mlp are there, four different modules with the configuration's sizes."""
    parts = [block.ln_1, block.attn, block.ln_2, block.mlp]
    require(len({id(part) for part in parts}) == 4, "Two of ln_1, attn, ln_2 and mlp are the same module.")
    has_only(block, reference.weights)


@about("forward")
def test_forward(block, reference):
    """The block's output matches Hugging Face's."""
    equal(run(block, reference["input"]), reference["output"], what="forward(x)")


@about("forward")
def test_another_batch_and_length(block, reference):
    """Another batch size and length work, and so does a single token."""
    equal(run(block, reference["input"][:, :1]), reference["output"][:, :1], what="forward of one token")
    equal(run(block, reference["long_input"]), reference["long_output"], what="forward(x) of shape [3, 11, 15]")


@about("forward")
def test_the_future_cannot_change_the_past(block, reference):
    """Changing the last token leaves every earlier row unchanged."""
    changed = reference["input"].copy()
    changed[:, -1] *= -1  # adding to all channels would leave the normalized token as it was
    past_stays(block, reference["input"], changed, reference["output"])


@pytest.mark.drawn
@about("forward")
def test_other_numbers(subject, solution, draw):
    """A new random configuration, weights and input work as well."""
    config = GPT2Config(**draw.settings())
    x = draw.array(draw.whole("batch", 1, 4), draw.whole("seq", 2, 8), config.n_embd)
    weights = draw.weights(shapes_of(build(solution.GPT2Block, config, weights={})))
    result, right = (run(build(module.GPT2Block, config, weights=weights), x) for module in (subject, solution))
    equal(result, right, what="forward(x)", whose="the solution's")


@pytest.mark.compiled
@about("compiled")
def test_compiled(block, reference, device):
    """One graph with symbolic batch and length returns the same numbers."""
    graph = compiled(block, ["batch", "seq", WIDTH], device=device)
    for case in ("", "long_"):
        equal(graph(reference[f"{case}input"]), reference[f"{case}output"], what=f"the compiled block on {device}")
