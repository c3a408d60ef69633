"""Step 05, token embeddings: what is claimed, and the mistakes that can be named."""

import numpy as np
import pytest
from max.dtype import DType

from checker.claims import Refusal, about, equal, error_of, require
from checker.claims.modules import build, compiled, run


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


@about("check_token_ids")
def test_ids_outside_are_refused(step, config):
    """An id that is negative or not below vocab_size is a ValueError that names the first such and vocab_size."""
    said, problems = {}, []
    for ids, wrong in (([[3, 37]], 37), ([[0], [-1]], -1), ([99, 5, 40], 99)):
        call = f"check_token_ids({ids}) with vocab_size = 37"
        try:
            said[call] = error_of(call, lambda: step.check_token_ids(np.array(ids), config))  # noqa: B023 - called at once
            missing = [number for number in (wrong, config.vocab_size) if str(number) not in said[call]]
            problems += [f"The message of {call} is {said[call]!r}, and must name {number}." for number in missing]
        except Refusal as refusal:
            said[call] = refusal.sentence
            problems.append(refusal.sentence)
    require(not problems, " ".join(problems[:1]), observed=said)


@about("check_token_ids")
def test_ids_inside_are_accepted(step, config):
    """Every id of the vocabulary is accepted, and so is no id at all."""
    for ids in (np.arange(37).reshape(1, 37), np.array([[0, 36]]), np.zeros((2, 0), np.int64)):
        try:
            step.check_token_ids(ids, config)
        except ValueError as error:
            require(False, f"check_token_ids refuses {ids.tolist()}: {error}")


@pytest.mark.compiled
@about("compiled")
def test_compiled(embeddings, reference, device):
    """One graph with symbolic batch and length returns the same rows."""
    graph = compiled(embeddings, ["batch", "seq"], device=device, dtype=DType.int64)
    equal(graph(reference["input"]), reference["output"], what=f"the compiled module on {device}")


OUTSIDE = "token_ids[(token_ids < 0) | (token_ids >= config.vocab_size)]"
TABLE = "Embedding(config.vocab_size, dim=config.n_embd)"
LOOK_UP = "return self.wte(input_ids)"

MISTAKES = {
    "vocab_size itself is let through; the last id is vocab_size - 1.": {">= config.vocab_size": "> config.vocab_size"},
    "Negative ids are let through; they would count from the end of the table.": {"(token_ids < 0) | ": ""},
    "Ids above the vocabulary are let through.": {" | (token_ids >= config.vocab_size)": ""},
    "Nothing is refused: raise a ValueError when there is an id outside.": {"if outside.size:": "if False:"},
    "The last id of the vocabulary is refused.": {">= config.vocab_size": ">= config.vocab_size - 1"},
    "Id 0 is refused, which is a token like any other.": {"(token_ids < 0)": "(token_ids <= 0)"},
    "The message does not say which id it was.": {"token id {outside[0]} is": "a token id is"},
    "The message names the last id outside; name the first.": {"{outside[0]}": "{outside[-1]}"},
    "The ids are compared with n_positions; it is vocab_size.": {
        ">= config.vocab_size": ">= config.n_positions",
    },
    "The table has its sides swapped: vocab_size rows of n_embd numbers.": {
        TABLE: "Embedding(config.n_embd, dim=config.vocab_size)"
    },
    "The table has n_positions rows; tokens need vocab_size.": {
        TABLE: "Embedding(config.n_positions, dim=config.n_embd)"
    },
    "The rows are scaled by the square root of n_embd, as in the first transformer; GPT-2 does not.": {
        LOOK_UP: "return self.wte(input_ids) * 15**0.5"
    },
    "The whole table is returned; look up the rows of input_ids.": {LOOK_UP: "return self.wte.weight"},
    "The row after each token's is looked up: ids count from 0.": {LOOK_UP: "return self.wte((input_ids + 1) % 37)"},
}

ALTERNATIVES = {
    "F.gather": {
        LOOK_UP: "from max.experimental import functional as F\n\n        return F.gather(self.wte.weight, input_ids, axis=0)"
    },
    "dims": {TABLE: "Embedding(config.vocab_size, dims=[config.n_embd])"},
    "asked with any": {
        f"    outside = {OUTSIDE}\n": "",
        "if outside.size:": "for token_id in token_ids.reshape(-1)[(token_ids.reshape(-1) < 0) + (token_ids.reshape(-1) >= config.vocab_size)]:",
        "{outside[0]}": "{token_id}",
    },
    "np.logical_or": {OUTSIDE: "token_ids[np.logical_or(token_ids < 0, token_ids > config.vocab_size - 1)]"},
}
