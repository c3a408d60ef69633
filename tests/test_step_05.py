"""Step 05, token embeddings: what is claimed."""

import numpy as np
import pytest
from max.dtype import DType

from checker.claims import about, equal, require
from checker.claims.modules import build, compiled, run
from solutions.solution_01 import GPT2Config


@pytest.fixture
def embeddings(step, config, reference):
    """The module with Hugging Face's weights."""
    return build(step.GPT2Embeddings, config, weights=reference.weights)


@about("__init__")
def test_table(embeddings, config):
    """wte has vocab_size rows of n_embd numbers."""
    shape = [int(size) for size in embeddings.wte.weight.shape]
    require(shape == [config.vocab_size, config.n_embd], f"wte.weight has the shape {shape}.")


@about("forward")
def test_forward(embeddings, reference):
    """Every token gets its row of the table: [batch, seq] -> [batch, seq, embd]."""
    equal(run(embeddings, reference["input"]), reference["output"], what="forward(input_ids)")


@about("forward")
def test_first_and_last_row(embeddings, config, reference):
    """The first and the last token of the vocabulary get theirs too."""
    ids = np.array([[0, config.vocab_size - 1]])
    equal(run(embeddings, ids), reference.weights["wte.weight"][ids], what="forward of the first and last id")


@pytest.mark.drawn
@about("forward")
def test_other_numbers(step, answer, draw):
    """A new random configuration, table and token ids are right as well."""
    config = GPT2Config(**draw.settings())
    weights = draw.weights({"wte.weight": (config.vocab_size, config.n_embd)})
    ids = draw.ids(config.vocab_size, draw.whole("batch", 1, 4), draw.whole("seq", 1, 9))
    result, right = (run(build(module.GPT2Embeddings, config, weights=weights), ids) for module in (step, answer))
    equal(result, right, what="forward(input_ids)", whose="the solution's")


@pytest.mark.compiled
@about("compiled")
def test_compiled(embeddings, reference, device):
    """One graph with symbolic batch and length returns the same rows."""
    graph = compiled(embeddings, ["batch", "seq"], device=device, dtype=DType.int64)
    equal(graph(reference["input"]), reference["output"], what=f"the compiled module on {device}")
