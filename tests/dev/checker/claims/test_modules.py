"""The learner's modules: weights with and without a place."""

from contextlib import nullcontext

import numpy as np
import pytest
from max.experimental.nn import Linear, Module, Sequential
from max.experimental.tensor import Tensor

from checker.claims import Refusal, modules
from checker.claims.modules import build
from solutions.solution_01 import GPT2Config
from solutions.solution_10 import GPT2Model


def test_a_part_under_another_name_is_to_be_renamed():
    class Renamed(GPT2Model):
        def __init__(self, config):
            super().__init__(config)
            self.blocks = self.h
            del self.h

    config = GPT2Config(vocab_size=5, n_positions=4, n_embd=4, n_layer=2, n_head=2)
    with pytest.raises(Refusal, match=r"It has blocks\.0\.ln_1\.weight: rename blocks to h\.$"):
        build(Renamed, config, weights={"h.0.ln_1.weight": np.ones(4, np.float32)})


def test_a_part_of_another_shape_is_not_to_be_renamed():
    class OneOfThree(Module):
        def __init__(self):
            self.q = Linear(4, 4)

    with pytest.raises(Refusal, match=r"has no c_attn\.weight, .* It has q\.weight, q\.bias\.$"):
        build(OneOfThree, weights={"c_attn.weight": np.ones((12, 4), np.float32)})


def test_weights_without_a_place_are_refused():
    weights = {"weight": np.ones((2, 3), np.float32), "bias": np.ones(2, np.float32)}
    build(Linear, 3, 2, weights=weights)
    with pytest.raises(Refusal, match=r"has no bias, .* Was it made with bias=False\?"):
        build(lambda: Linear(3, 2, bias=False), weights=weights)
    with pytest.raises(Refusal, match=r"weight has the shape \[3, 2\], and must have \[2, 3\]"):
        build(Linear, 2, 3, weights=weights)
    named_otherwise = {f"h.0.{name}": array for name, array in weights.items()}
    with pytest.raises(Refusal, match=r"Sequential has no h\.0\.weight, .* It has 0\.weight, 0\.bias\."):
        build(lambda: Sequential(Linear(3, 2)), weights=named_otherwise)


def test_a_parameter_of_another_name_is_to_be_renamed_bias_too():
    class Norm(Module):
        def __init__(self):
            self.weight, self.beta = Tensor.ones([3]), Tensor.zeros([3])

    with pytest.raises(Refusal, match=r"has no bias, .* It has beta: rename beta to bias\.$"):
        build(Norm, weights={"weight": np.ones(3, np.float32), "bias": np.ones(3, np.float32)})


def test_a_class_in_place_of_an_object_is_to_be_called():
    class Block(Module):
        def __init__(self):
            self.c_fc = Linear

    with pytest.raises(Refusal, match=r"^c_fc is a class; it must be .*: Linear\(in_dim, out_dim\)\.$"):
        build(Block, weights={"c_fc.weight": np.ones((3, 3), np.float32)})


class Keeping(Module):
    """A layer, and what is kept beside it."""

    def __init__(self, make) -> None:
        self.layer = Linear(3, 2)
        self.kept = make(self.layer)

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda layer: [layer], "has kept.0.weight, which is layer.weight under a second name"),
        (lambda layer: Tensor.zeros([3]), "has kept, which is a tensor on self, so MAX takes it for a weight"),
        (lambda layer: Linear(3, 2), "has kept.weight, which no checkpoint has"),
        (lambda layer: np.zeros(3), ""),
    ],
)
def test_what_self_keeps_beside_the_weights_is_refused(make, words):
    module = build(Keeping, make, weights={"layer.bias": np.ones(2, np.float32)})
    with pytest.raises(Refusal, match=words) if words else nullcontext():
        modules.has_only(module, ["layer.weight", "layer.bias"])
