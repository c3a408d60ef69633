"""The kernels for processors that this one is not: with AVX2 alone they also run here, for ARM they are compiled."""

import ctypes
import platform

import numpy as np
import pytest
from mojo.run import subprocess_run_mojo

from checker.course.paths import ROOT
from tools.benchmarks.harness import instruction_sets
from tools.benchmarks.kernels import ladder

KERNELS = ROOT / "play" / "kernels"
AVX2 = ("--target-cpu", "x86-64-v3")
ARM = ("--target-triple", "aarch64-unknown-linux-gnu", "--target-cpu", "neoverse-n1")
ATTENTION = """
from heads import Heads, attend
from vectors import Floats

@export("attend")
def c_attend(
    query: Int, key: Int, value: Int, starts: Int, output: Int, heads: Int, seq: Int, total: Int
) abi("C"):
    attend[64](
        Heads(Floats(unsafe_from_address=query), heads * seq * 64, seq * 64, 64),
        Heads(Floats(unsafe_from_address=key), heads * total * 64, total * 64, 64),
        Heads(Floats(unsafe_from_address=value), heads * total * 64, total * 64, 64),
        Pointer[Int32, MutUntrackedOrigin](unsafe_from_address=starts),
        Heads(Floats(unsafe_from_address=output), seq * heads * 64, 64, heads * 64),
        1, heads, seq, total, 2,
    )
"""
LINEAR = """
from linear import few_rows
from vectors import Floats, ROWS, VECTORS, WIDTH

@export("linear")
def c_linear(x: Int, weight: Int, bias: Int, rows: Int, size: Int, count: Int, output: Int) abi("C"):
    comptime for some in range(1, 9):
        if rows == some:
            few_rows[some](
                Floats(unsafe_from_address=x), Floats(unsafe_from_address=weight), Floats(unsafe_from_address=bias),
                size, count, Floats(unsafe_from_address=output), 2,
            )

@export("tile")
def c_tile() abi("C") -> Int:
    return 10000 * WIDTH + 100 * ROWS + VECTORS
"""


def build(texts, folder, *options):
    for name, text in texts.items():
        (folder / name).write_text(text)
    made = folder / "made"
    command = ["build", "--disable-warnings", *options, "-o", str(made), str(folder / "calls.mojo")]
    done = subprocess_run_mojo(command, capture_output=True, text=True, cwd=folder)
    assert done.returncode == 0, done.stderr
    return made


def texts_of(calls, *names):
    """Return files that lie beside each other, where they are a package in ``play/kernels``."""
    return {name: (KERNELS / name).read_text().replace("from .", "from ") for name in names} | {"calls.mojo": calls}


TEXTS = {
    "attention": texts_of(ATTENTION, "heads.mojo", "attention.mojo", "vectors.mojo"),
    "linear": texts_of(LINEAR, "linear.mojo", "vectors.mojo"),
}


def call(function, *arguments):
    return function(*(ctypes.c_int64(one.ctypes.data if isinstance(one, np.ndarray) else one) for one in arguments))


runs_here = pytest.mark.skipif("AVX2" not in instruction_sets(), reason="this processor has no AVX2")


@pytest.fixture(scope="module")
def attention(tmp_path_factory):
    return ctypes.CDLL(str(build(TEXTS["attention"], tmp_path_factory.mktemp("avx2"), "--emit", "shared-lib", *AVX2)))


@pytest.mark.nightly
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
    return ctypes.CDLL(str(build(TEXTS["linear"], tmp_path_factory.mktemp("avx2"), "--emit", "shared-lib", *AVX2)))


@pytest.mark.nightly
@runs_here
def test_the_tile_fits_sixteen_registers_of_eight_numbers(linear):
    linear.tile.restype = ctypes.c_int64
    width, rows, vectors = (linear.tile() // unit % 100 for unit in (10000, 100, 1))
    assert width == 8
    assert rows * vectors + vectors + 1 <= 16


@pytest.mark.nightly
@runs_here
@pytest.mark.parametrize("rows", range(1, 9))
@pytest.mark.parametrize(("size", "outputs"), [(768, 96), (5, 3), (33, 50)])
def test_the_linear_layer_with_avx2_alone(linear, rows, size, outputs):
    generator = np.random.default_rng(size)
    shapes = (rows, size), (outputs, size), (outputs,)
    x, weight, bias = (generator.standard_normal(shape).astype(np.float32) for shape in shapes)
    found = np.full((rows, outputs), np.nan, np.float32)
    call(linear.linear, x, weight, bias, rows, size, outputs, found)
    wanted = x.astype(np.float64) @ weight.astype(np.float64).T + bias
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-6 * size)


@pytest.mark.nightly
@pytest.mark.parametrize("kernel", TEXTS)
def test_they_compile_for_arm(kernel, tmp_path):
    if platform.machine() in ("aarch64", "arm64"):
        pytest.skip("the other tests run them here")
    made = build(TEXTS[kernel], tmp_path, "--emit", "asm", *ARM)
    assert "fmla" in made.read_text()  # multiply-adds of its vectors
