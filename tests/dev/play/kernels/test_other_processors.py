"""The kernels for processors that this one is not: with AVX2 alone they also run here, for ARM they are compiled."""

import platform

import numpy as np
import pytest

from checker.processor import instruction_sets
from tests.dev.play.kernels.libraries import TEXTS, build, call, check_linear, library
from tools.benchmarks.kernels import ladder

AVX2 = ("--target-cpu", "x86-64-v3")
ARM = ("--target-triple", "aarch64-unknown-linux-gnu", "--target-cpu", "neoverse-n1")

pytestmark = pytest.mark.nightly
runs_here = pytest.mark.skipif("AVX2" not in instruction_sets(), reason="this processor has no AVX2")


@pytest.fixture(scope="module")
def attention(tmp_path_factory):
    return library("attention", tmp_path_factory.mktemp("avx2"), *AVX2)


@runs_here
@pytest.mark.parametrize("past", [0, 5, 130])
@pytest.mark.parametrize("seq", [1, 8, 9, 15, 16, 17, 33, 100, 257])
def test_attention_with_avx2_alone(attention, seq, past):
    sizes = ladder.Sizes(seq, past + seq)
    arrays, found = sizes.arrays(), np.full((1, seq, ladder.HEADS * ladder.DEPTH), np.nan, np.float32)
    starts = np.zeros(1, np.int32)
    call(attention.attend, *arrays, starts, found, ladder.HEADS, seq, past + seq)
    np.testing.assert_allclose(found, ladder.expected(*arrays), rtol=0, atol=2e-6)


@pytest.fixture(scope="module")
def linear(tmp_path_factory):
    return library("linear", tmp_path_factory.mktemp("avx2"), *AVX2)


@runs_here
def test_the_tile_fits_sixteen_registers_of_eight_numbers(linear):
    width, rows, vectors = (call(linear.tile) // unit % 100 for unit in (10000, 100, 1))
    assert width == 8
    assert rows * vectors + vectors + 1 <= 16


@runs_here
@pytest.mark.parametrize("rows", [*range(1, 10), 16, 17, 31, 50, 100])
@pytest.mark.parametrize(("size", "outputs"), [(768, 96), (5, 3), (33, 50), (800, 25)])
def test_the_linear_layer_with_avx2_alone(linear, rows, size, outputs):
    check_linear(linear, rows, size, outputs)


@pytest.mark.parametrize("kernel", TEXTS)
def test_they_compile_for_arm(kernel, tmp_path):
    if platform.machine() in ("aarch64", "arm64"):
        pytest.skip("the other tests run them here")
    made = build(TEXTS[kernel], tmp_path, "--emit", "asm", *ARM)
    assert "fmla" in made.read_text()  # multiply-adds of its vectors
