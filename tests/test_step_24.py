"""Step 24, rotary positions: what is claimed.

Hugging Face's ``LlamaRotaryEmbedding`` and ``apply_rotary_pos_emb`` were recorded, with heads of 10 channels, a
``rope_theta`` of 50, and two texts, of which one begins at position 5.
"""

from dataclasses import replace

import numpy as np
import pytest
from max.dtype import DType
from max.experimental.nn import Module

from checker.claims import about, equal, for_each, require
from checker.claims.modules import compiled, run
from checker.numeric.comparison import close
from solutions.llama_config import LlamaConfig

ANGLE_AXES = ("batch", "token", "pair")
RIGHT = "the correct angle"
PAIRS = ("query", "key")
DRAWN = np.random.RandomState(24)


@pytest.fixture(scope="module")
def config(reference):
    return LlamaConfig(**reference.config)


def angles_of(positions, config):
    """The angles, from double precision."""
    frequencies = config.rope_theta ** (-2 * np.arange(config.head_dim // 2) / config.head_dim)
    return (positions[..., None] * frequencies).astype(np.float32)


def turned(subject, config, x, positions):
    """``x`` turned by the learner's ``rotate``, by the right angles."""
    return run(subject.rotate, x, angles_of(positions, config))


@about("rotary_angles")
def test_angles(subject, config, reference):
    """Each position is multiplied by the frequency of each pair: [batch, seq] -> [batch, seq, head_dim / 2]."""
    angles = run(lambda positions: subject.rotary_angles(positions, config), reference["positions"])
    equal(angles, angles_of(reference["positions"], config), ANGLE_AXES, what="rotary_angles(…)", whose=RIGHT)


@about("rotary_angles")
def test_angles_of_another_model(subject):
    """It works for SmolLM2's heads of width 64 and base of 100,000, up to the last of its 8,192 positions."""
    positions, config = np.array([[0, 1, 2049, 8191]]), LlamaConfig()
    angles = run(lambda positions: subject.rotary_angles(positions, config), positions)
    equal(angles, angles_of(positions, config), ANGLE_AXES, what="rotary_angles of SmolLM2", whose=RIGHT)


@about("rotate")
def test_rotate(subject, config, reference):
    """Queries and keys are rotated as Hugging Face rotates them, each row by its own positions."""

    def right(name):
        rotated = turned(subject, config, reference[name], reference["positions"])
        equal(rotated, reference[f"rotated_{name}"], what=f"rotate({name}, angles)")

    for_each(PAIRS, right)


@about("rotate")
def test_one_head_of_one_token(subject, config, reference):
    """A single head, token or text is rotated as it is in a batch."""
    x, positions = reference["query"][1:, 2:3, 4:5], reference["positions"][1:, 4:5]
    equal(turned(subject, config, x, positions), reference["rotated_query"][1:, 2:3, 4:5], what="rotate of one token")


@about("rotate")
def test_position_0_changes_nothing(subject, config, reference):
    """Angles of 0 rotate nothing."""
    x = reference["query"]
    stays = turned(subject, config, x, 0 * reference["positions"])
    equal(stays, x, what="rotate(x, 0)", whose="what it was before")


def scores(query, key):
    """The scores of two texts that are both turned, in double precision."""
    return np.from_dlpack(query).astype(np.float64) @ np.from_dlpack(key).astype(np.float64).swapaxes(-2, -1)


@about("rotate")
def test_distance_alone(subject, config):
    """The score of a query and a key depends only on their distance: 300 positions later, it is the same."""
    query, key = (DRAWN.standard_normal((1, 3, 5, config.head_dim)).astype(np.float32) for _ in PAIRS)
    near = np.array([[0, 1, 3, 4, 8]])
    here, there = (scores(*(turned(subject, config, x, places) for x in (query, key))) for places in (near, near + 300))
    # In float32, an angle of 300 is off by up to 1.5e-5, so right scores by 1e-4 of 10.
    what = "The score of a rotated query and key changes when both move on by the same number of positions."
    require(close(there.astype(np.float32), here.astype(np.float32), 1e-3), what)
    apart = scores(turned(subject, config, query, near), turned(subject, config, key, near + 1))
    require(not close(apart, here, 1e-2), "The score does not depend on how far apart query and key are.")


def rotated(module, config):
    """Both functions together."""
    return lambda x, positions: module.rotate(x, module.rotary_angles(positions, config))


@pytest.mark.drawn
@about("rotate")
def test_other_numbers(subject, solution, draw):
    """Heads of a new random width, base, positions and numbers work as well."""
    head_dim = 2 * draw.whole("head_dim / 2", 1, 20, times=2)
    config = replace(LlamaConfig(), head_dim=head_dim, rope_theta=draw.number("rope_theta", 10, 1e6))
    batch, seq = draw.whole("batch", 1, 4), draw.whole("seq", 1, 9)
    x, positions = draw.array(batch, draw.whole("heads", 1, 6), seq, head_dim), draw.ids(20, batch, seq)
    result, right = (run(rotated(module, config), x, positions) for module in (subject, solution))
    equal(result, right, what="rotate(x, rotary_angles(positions, config))", whose="the solution's")


@pytest.mark.compiled
@about("compiled")
def test_compiled(subject, config, reference, device):
    """One graph with symbolic batch and length rotates a query by its positions as Hugging Face does."""

    class Rotated(Module):
        def forward(self, x, positions):
            return rotated(subject, config)(x, positions)

    shapes = ["batch", 12, "seq", config.head_dim], ["batch", "seq"]
    graph = compiled(Rotated(), *shapes, device=device, dtype=(DType.float32, DType.int64))
    result = graph(reference["query"], reference["positions"])
    equal(result, reference["rotated_query"], what=f"the compiled functions on {device}")
