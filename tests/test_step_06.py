"""Step 06, position embeddings: what is claimed, and the mistakes that can be named."""

import numpy as np
import pytest
from max.driver import CPU
from max.experimental.nn import Module
from max.graph import SymbolicDim

from checker.claims import about, equal, error_of, require
from checker.claims.modules import build, compiled, run
from checker.max_adapter.runtime import open_device, tensor


@pytest.fixture
def embeddings(step, config, reference):
    """The module with Hugging Face's weights."""
    return build(step.GPT2PositionEmbeddings, config, weights=reference.weights)


@about("check_length")
def test_too_long_is_refused(step, config):
    """More tokens than n_positions are a ValueError that names both numbers."""
    for length in (100, 37, 14):
        message = error_of(f"check_length({length})", lambda: step.check_length(length, config))  # noqa: B023
        for number in (length, config.n_positions):
            require(
                str(number) in message, f"The message of check_length({length}) is {message!r}, and must name {number}."
            )


@about("check_length")
def test_what_fits_is_accepted(step, config):
    """Up to n_positions tokens are accepted, and so is a length that is not known yet."""
    for length in (1, 13, SymbolicDim("seq")):
        try:
            step.check_length(length, config)
        except (ValueError, TypeError) as error:
            require(False, f"check_length({length}) raises {type(error).__name__}: {error}")


@about("position_ids")
def test_positions(step):
    """A sequence is numbered from 0, or from the number of earlier tokens: int64, one axis."""
    for length, earlier in ((7, 0), (4, 3), (1, 12)):
        positions = run(lambda: step.position_ids(length, earlier, device=CPU()))  # noqa: B023 - called at once
        equal(positions, np.arange(earlier, earlier + length), ("place",), what=f"position_ids({length}, {earlier})")


@about("__init__")
def test_table(embeddings, config):
    """wpe has n_positions rows of n_embd numbers."""
    shape = [int(size) for size in embeddings.wpe.weight.shape]
    require(shape == [config.n_positions, config.n_embd], f"wpe.weight has the shape {shape}.")


@about("forward")
def test_forward(embeddings, reference):
    """Every position gets its row: [seq] -> [seq, embd]."""
    equal(run(embeddings, np.arange(13)), reference["output"], ("token", "channel"), what="forward(positions)")
    equal(run(embeddings, np.array([5, 2])), reference["output"][[5, 2]], ("token", "channel"), what="forward([5, 2])")


@about("forward")
def test_forward_refuses_what_is_too_long(embeddings):
    """A sequence longer than the table is refused before the lookup."""
    error_of("forward of 14 positions", lambda: embeddings(tensor(np.zeros(14, np.int64))))


@pytest.mark.compiled
@about("compiled")
def test_compiled(step, embeddings, reference, device):
    """One graph counts and looks up for every length."""

    class Counted(Module):
        def __init__(self):
            self.embeddings = embeddings

        def forward(self, x):
            return self.embeddings(step.position_ids(x.shape[0], device=open_device(device))) + x

    graph = compiled(Counted(), ["seq", 15], device=device)
    for length in (13, 4):
        equal(
            graph(np.zeros((length, 15), np.float32)),
            reference["output"][:length],
            what=f"the compiled module on {device}",
        )


IS_TOO_LONG = "isinstance(length, StaticDim) and int(length) > config.n_positions"
FIRST = "first, end = num_tokens, Dim(sequence_length) + num_tokens"
COUNT = "return Tensor.arange(first, end, out_dim=sequence_length, dtype=DType.int64, device=device)"
TABLE = "Embedding(config.n_positions, dim=config.n_embd)"

MISTAKES = {
    "Nothing is refused: raise a ValueError when the length is above n_positions.": {IS_TOO_LONG: "False"},
    "A full context is refused; n_positions tokens still fit.": {"int(length) > config": "int(length) >= config"},
    "One token too many is let through.": {"int(length) > config.n_positions": "int(length) > config.n_positions + 1"},
    "The length is compared with vocab_size; it is n_positions.": {
        "int(length) > config.n_positions": "int(length) > config.vocab_size"
    },
    "A length that is not known yet is turned into a number: ask for a StaticDim first.": {
        "isinstance(length, StaticDim) and ": ""
    },
    "The message does not say how long the sequence was.": {"a sequence of {length} tokens": "the sequence"},
    "Positions count from 1; they count from 0.": {
        FIRST: FIRST.replace(
            "num_tokens, Dim(sequence_length) + num_tokens", "num_tokens + 1, Dim(sequence_length) + num_tokens + 1"
        )
    },
    "The earlier tokens are forgotten: positions start at num_tokens.": {FIRST: "first, end = 0, Dim(sequence_length)"},
    "Positions are counted backwards.": {
        COUNT: "return (num_tokens + sequence_length - 1) - Tensor.arange(0, Dim(sequence_length), out_dim=sequence_length, dtype=DType.int64, device=device)"
    },
    "Positions are int32; token ids and positions are int64 here.": {"dtype=DType.int64": "dtype=DType.int32"},
    "Every position is the same: count with arange.": {
        COUNT: "return Tensor.full([sequence_length], num_tokens, dtype=DType.int64, device=device)"
    },
    "The table has vocab_size rows; positions need n_positions.": {
        TABLE: "Embedding(config.vocab_size, dim=config.n_embd)"
    },
    "The table has its sides swapped: n_positions rows of n_embd numbers.": {
        TABLE: "Embedding(config.n_embd, dim=config.n_positions)"
    },
    "The first rows of the table are returned whatever the positions are; look them up.": {
        "return self.wpe(positions)": "return self.wpe.weight[: positions.shape[0]]"
    },
    "forward does not check the length before it looks up.": {
        "        check_length(positions.shape[-1], self.config)\n": ""
    },
}

ALTERNATIVES = {
    "from 0, then shifted": {
        COUNT: "return Tensor.arange(0, Dim(sequence_length), out_dim=sequence_length, dtype=DType.int64, device=device) + num_tokens"
    },
    "try int": {
        f"    if {IS_TOO_LONG}:\n": "    try:\n        number = int(length)\n    except TypeError:\n        return\n    if number > config.n_positions:\n"
    },
    "F.arange": {
        COUNT: "from max.experimental import functional as F\n\n    return F.arange(first, end, 1, sequence_length, dtype=DType.int64, device=device)"
    },
    "F.gather": {
        "return self.wpe(positions)": "from max.experimental import functional as F\n\n        return F.gather(self.wpe.weight, positions, axis=0)"
    },
}
