"""Step 06, position embeddings: what is claimed."""

import numpy as np
import pytest
from max.driver import CPU
from max.dtype import DType
from max.experimental.nn import Module
from max.experimental.tensor import TensorType, default_dtype
from max.graph import SymbolicDim

from checker.claims import about, equal, error_of, require
from checker.claims.modules import build, compiled, run
from checker.max_adapter.runtime import open_device, tensor
from solutions.solution_01 import GPT2Config


@pytest.fixture
def embeddings(step, config, reference):
    """The module with Hugging Face's weights."""
    return build(step.GPT2PositionEmbeddings, config, weights=reference.weights)


@about("check_length")
def test_too_long_is_refused(step, config):
    """More than n_positions tokens raise ValueError naming both numbers."""
    for length in (100, 37, 14):
        message = error_of(f"check_length({length})", lambda: step.check_length(length, config))  # noqa: B023
        for number in (length, config.n_positions):
            require(
                str(number) in message, f"The message of check_length({length}) is {message!r}, and must name {number}."
            )


@about("check_length")
def test_what_fits_is_accepted(step, config):
    """Up to n_positions tokens are accepted, and so is a length that is not known yet."""
    for length in (1, 13, SymbolicDim("seq"), SymbolicDim("past") + SymbolicDim("seq")):
        try:
            step.check_length(length, config)
        except (ValueError, TypeError) as error:
            require(False, f"check_length({length}) raises {type(error).__name__}: {error}")


@about("position_ids")
def test_positions(step):
    """A sequence is numbered from 0, or from the number of earlier tokens: int64, one axis."""
    for length, earlier in ((7, 0), (4, 3), (1, 12)):
        positions = run(lambda: step.position_ids(length, earlier, device=CPU()))  # noqa: B023
        equal(positions, np.arange(earlier, earlier + length), ("place",), what=f"position_ids({length}, {earlier})")


@about("position_ids")
def test_whole_numbers(step):
    """Positions are counted as whole numbers, also where MAX's default is bfloat16, as on a GPU: it has no 257."""

    class Counted(Module):
        def forward(self, tokens):
            return step.position_ids(tokens.shape[0], device=CPU())

    with default_dtype(DType.bfloat16):
        graph = str(Counted().trace(TensorType(DType.int64, ["seq"], device=CPU())))
    sentence = (
        "The positions are counted in MAX's default float type, which is bfloat16 on a GPU and has no 257; "
        "count with dtype=DType.int64."
    )
    require("bf16" not in graph, sentence)


@about("position_ids")
def test_device(step):
    """The positions are made on the device that is asked for."""
    try:
        step.position_ids(3, device=object())
    except NotImplementedError:
        raise
    except Exception:  # where there is one device, another can only be seen to be refused
        return
    require(False, "position_ids takes no notice of device; give it to Tensor.arange.")


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


@pytest.mark.drawn
@about("forward")
def test_other_numbers(step, answer, draw):
    """A new random configuration, table and positions are right as well."""
    config = GPT2Config(**draw.settings())
    length, earlier = draw.whole("seq", 1, min(9, config.n_positions)), draw.whole("num_tokens", 0, 9)
    step.check_length(config.n_positions, config)
    error_of(f"check_length({config.n_positions + 1})", lambda: step.check_length(config.n_positions + 1, config))
    positions, right = (
        run(lambda: module.position_ids(length, earlier, device=CPU()))  # noqa: B023
        for module in (step, answer)
    )
    equal(positions, right, ("place",), what=f"position_ids({length}, {earlier})", whose="the solution's")
    weights = draw.weights({"wpe.weight": (config.n_positions, config.n_embd)})
    places = draw.ids(config.n_positions, length)
    result, right = (
        run(build(module.GPT2PositionEmbeddings, config, weights=weights), places) for module in (step, answer)
    )
    equal(result, right, ("token", "channel"), what="forward(positions)", whose="the solution's")


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
