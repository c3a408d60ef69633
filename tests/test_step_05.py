"""Step 05, token embeddings: what is claimed."""

import re

import numpy as np
import pytest
from max.dtype import DType

from checker.claims import Refusal, about, equal, error_of, first_of, keeps_nothing, require
from checker.claims.modules import build, compiled, has_only, run, shapes_of
from solutions.solution_01 import GPT2Config


def with_table(module, config, table):
    """The embeddings with a table. The source tutorial's is the weight of an Embedding, which it calls wte."""
    is_inside = "wte.weight" in shapes_of(build(module.GPT2Embeddings, config, weights={}))
    return build(module.GPT2Embeddings, config, weights={"wte.weight" if is_inside else "weight": table})


@pytest.fixture
def table(reference):
    """Hugging Face's table."""
    return reference.weights["wte.weight"]


@pytest.fixture
def embeddings(subject, config, table):
    """The module with Hugging Face's table."""
    return with_table(subject, config, table)


@about("__init__")
def test_table(embeddings):
    """weight has vocab_size rows of n_embd numbers."""
    has_only(embeddings, ["weight", "wte.weight"])


@about("forward")
def test_forward(embeddings, reference):
    """Every token gets its row of the table: [batch, seq] -> [batch, seq, embd]."""
    equal(run(embeddings, reference["input"]), reference["output"], what="forward(input_ids)")
    keeps_nothing(lambda ids: run(embeddings, ids), reference["input"], right=lambda ids: reference["output"])


@about("forward")
def test_first_and_last_row(embeddings, config, table):
    """The first and last tokens of the vocabulary get their rows, too."""
    ids = np.array([[0, config.vocab_size - 1]])
    equal(run(embeddings, ids), table[ids], what="forward of the first and last id")


@about("forward")
def test_gpt2_vocabulary(subject):
    """In a table of GPT-2's size, 50,257 rows, token 32768 and the last one get their rows."""
    config = GPT2Config(n_embd=15, n_head=3)
    table = np.arange(config.vocab_size * 15, dtype=np.float32).reshape(-1, 15)
    ids = np.array([[32768, config.vocab_size - 1]])
    equal(
        run(with_table(subject, config, table), ids), table[ids], what=f"forward of {ids.tolist()}", whose="the table's"
    )


@about("check_token_ids")
def test_ids_outside_are_refused(subject, config):
    """A negative id, or one not below vocab_size, raises a ValueError naming a bad id and vocab_size."""
    messages, refused = {}, []
    for ids, bad in (([[3, 37]], [37]), ([[0], [-1]], [-1]), ([99, 5, 40], [99, 40]), ([2**32 + 3], [2**32 + 3])):
        call = f"check_token_ids({ids}) with vocab_size = 37"
        try:
            messages[call] = error_of(call, lambda: subject.check_token_ids(np.array(ids), config))  # noqa: B023
            numbers = re.findall(r"-?\d+", messages[call])
            missing = [wanted for wanted in (bad, [config.vocab_size]) if not set(map(str, wanted)) & set(numbers)]
            sentence = f"The message of {call} is {messages[call]!r}, and must name"
            refused += [Refusal(f"{sentence} {' or '.join(map(str, wanted))}.") for wanted in missing]
        except Refusal as refusal:
            messages[call] = refusal.sentence
            refused.append(refusal)
    first_of(refused, observed=messages)


@about("check_token_ids")
def test_ids_inside_are_accepted(subject, config):
    """Every valid id is accepted, and so is an empty array, the ids of an empty text."""
    for ids in (np.arange(37).reshape(1, 37), np.array([[0, 36]]), np.zeros((2, 0), np.int64)):
        try:
            subject.check_token_ids(ids, config)
        except ValueError as error:
            require(False, f"check_token_ids refuses {ids.tolist()}: {error}")


@pytest.mark.drawn
@about("forward")
def test_other_numbers(subject, solution, draw):
    """A new random configuration, table and token ids work as well."""
    config = GPT2Config(**draw.settings())
    table = draw.array(config.vocab_size, config.n_embd)
    ids = draw.ids(config.vocab_size, draw.whole("batch", 1, 4), draw.whole("seq", 1, 9))
    result, right = (run(with_table(module, config, table), ids) for module in (subject, solution))
    equal(result, right, what="forward(input_ids)", whose="the solution's")


@pytest.mark.compiled
@about("compiled")
def test_compiled(embeddings, reference, device):
    """One graph with symbolic batch and length returns the same rows."""
    graph = compiled(embeddings, ["batch", "seq"], device=device, dtype=DType.int64)
    equal(graph(reference["input"]), reference["output"], what=f"the compiled module on {device}")
