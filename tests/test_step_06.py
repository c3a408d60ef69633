"""Step 06, position embeddings: what is claimed."""

import numpy as np
import pytest
from max.driver import CPU
from max.dtype import DType
from max.experimental.nn import Module
from max.experimental.tensor import TensorType, default_dtype

from checker.claims import about, equal, error_of, keeps_nothing, require
from checker.claims.modules import build, compiled, has_only, run, shapes_of
from checker.max_adapter.runtime import open_device
from solutions.solution_01 import GPT2Config


def with_table(module, config, table):
    """The embeddings with a table. The source tutorial's is the weight of an Embedding, which it calls wpe."""
    is_inside = "wpe.weight" in shapes_of(build(module.GPT2PositionEmbeddings, config, weights={}))
    return build(module.GPT2PositionEmbeddings, config, weights={"wpe.weight" if is_inside else "weight": table})


@pytest.fixture
def embeddings(subject, config, reference):
    """The module with Hugging Face's table."""
    return with_table(subject, config, reference.weights["wpe.weight"])


@about("position_ids")
def test_positions(subject):
    """Positions count from 0: int64, one axis."""
    for length in (7, 4, 1, 1500):  # int8 ends at 127, GPT-2 at 1023, and another model later
        positions = run(lambda: subject.position_ids(length, device=CPU()))  # noqa: B023
        equal(positions, np.arange(length), ("place",), what=f"position_ids({length})")


@about("position_ids")
def test_whole_numbers(subject):
    """Positions are integers: bfloat16, the default type on a GPU, cannot represent 257."""

    class Counted(Module):
        def forward(self, tokens):
            return subject.position_ids(tokens.shape[0], device=CPU())

    with default_dtype(DType.bfloat16):
        graph = str(Counted().trace(TensorType(DType.int64, ["seq"], device=CPU())))
    sentence = (
        "The positions are counted in MAX's default float type, which is bfloat16 on a GPU and has no 257; "
        "count with dtype=DType.int64."
    )
    require("bf16" not in graph, sentence)


@about("position_ids")
def test_device(subject):
    """The positions are created on the requested device."""
    try:
        subject.position_ids(3, device=object())
    except NotImplementedError:
        raise
    except Exception:  # where there is one device, another can only be seen to be refused
        return
    require(False, "position_ids ignores device; pass it to Tensor.arange.")


@about("__init__")
def test_table(embeddings):
    """weight has n_positions rows of n_embd numbers."""
    has_only(embeddings, ["weight", "wpe.weight"])


@about("forward")
def test_forward(subject, embeddings, reference):
    """Every position gets its row: [seq] -> [seq, embd]."""
    equal(run(embeddings, np.arange(13)), reference["output"], ("token", "channel"), what="forward(positions)")
    places = np.array([5, 2])
    equal(run(embeddings, places), reference["output"][places], ("token", "channel"), what="forward([5, 2])")
    keeps_nothing(lambda places: run(embeddings, places), places, right=lambda places: reference["output"][places])
    config, places = GPT2Config(n_embd=15, n_head=3), np.array([128, 1023])
    table = np.arange(config.n_positions * 15, dtype=np.float32).reshape(-1, 15)
    large = with_table(subject, config, table)
    equal(run(large, places), table[places], ("token", "channel"), what="forward([128, 1023])", whose="the table's")


@about("forward")
def test_full_context(subject, config):
    """A text of n_positions tokens passes check_length, which is given; one token more raises ValueError."""
    if not hasattr(subject, "check_length"):  # the source tutorial has none
        return
    subject.check_length(config.n_positions, config)
    error_of("check_length(n_positions + 1)", lambda: subject.check_length(config.n_positions + 1, config))


@pytest.mark.drawn
@about("forward")
def test_other_numbers(subject, solution, draw):
    """A new random configuration, table and positions work as well."""
    config = GPT2Config(**draw.settings())
    length = draw.whole("seq", 1, min(9, config.n_positions))
    positions = run(lambda: subject.position_ids(length, device=CPU()))
    equal(positions, np.arange(length), ("place",), what=f"position_ids({length})")
    table, places = draw.array(config.n_positions, config.n_embd), draw.ids(config.n_positions, length)
    result, right = (run(with_table(module, config, table), places) for module in (subject, solution))
    equal(result, right, ("token", "channel"), what="forward(positions)", whose="the solution's")


@pytest.mark.compiled
@about("compiled")
def test_compiled(subject, embeddings, reference, device):
    """One graph counts positions and looks them up, for every length."""

    class Counted(Module):
        def __init__(self):
            self.embeddings = embeddings

        def forward(self, x):
            return self.embeddings(subject.position_ids(x.shape[0], device=open_device(device))) + x

    graph = compiled(Counted(), ["seq", 15], device=device)
    for length in (13, 4):
        equal(
            graph(np.zeros((length, 15), np.float32)),
            reference["output"][:length],
            what=f"the compiled module on {device}",
        )
