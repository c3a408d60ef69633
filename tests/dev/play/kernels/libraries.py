"""The kernels as libraries that Python calls, without MAX's graphs: they compile in seconds, for any processor."""

import ctypes

import numpy as np
from mojo.run import subprocess_run_mojo

from checker.course.paths import ROOT

KERNELS = ROOT / "play" / "kernels"
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
from linear import linear
from vectors import Floats, ROWS, VECTORS, WIDTH

@export("linear")
def c_linear(x: Int, weight: Int, bias: Int, rows: Int, size: Int, count: Int, output: Int) abi("C"):
    linear(
        Floats(unsafe_from_address=x), Floats(unsafe_from_address=weight), Floats(unsafe_from_address=bias),
        rows, size, count, Floats(unsafe_from_address=output), 2,
    )

@export("tile")
def c_tile() abi("C") -> Int:
    return 10000 * WIDTH + 100 * ROWS + VECTORS
"""


def texts_of(calls, *names):
    """Return files that lie beside each other, where they are a package in ``play/kernels``."""
    return {name: (KERNELS / name).read_text().replace("from .", "from ") for name in names} | {"calls.mojo": calls}


TEXTS = {
    "attention": texts_of(ATTENTION, "heads.mojo", "attention.mojo", "vectors.mojo"),
    "linear": texts_of(LINEAR, "linear.mojo", "products.mojo", "vectors.mojo"),
}


def build(texts, folder, *options):
    for name, text in texts.items():
        (folder / name).write_text(text)
    made = folder / "made"
    command = ["build", "--disable-warnings", *options, "-o", str(made), str(folder / "calls.mojo")]
    done = subprocess_run_mojo(command, capture_output=True, text=True, cwd=folder)
    assert done.returncode == 0, done.stderr
    return made


def library(kernel, folder, *options):
    return ctypes.CDLL(str(build(TEXTS[kernel], folder, "--emit", "shared-lib", *options)))


def call(function, *arguments):
    return function(*(ctypes.c_int64(one.ctypes.data if isinstance(one, np.ndarray) else one) for one in arguments))


def check_linear(library, rows, size, outputs):
    """Compare a linear layer with NumPy's in double precision; the numbers around the output must stay as they are."""
    generator = np.random.default_rng(size)
    shapes = (rows, size), (outputs, size), (outputs,)
    x, weight, bias = (generator.standard_normal(shape).astype(np.float32) for shape in shapes)
    around = np.full(rows * outputs + 128, np.nan, np.float32)
    found = around[64:-64].reshape(rows, outputs)
    call(library.linear, x, weight, bias, rows, size, outputs, found)
    wanted = x.astype(np.float64) @ weight.astype(np.float64).T + bias
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-6 * size)
    assert np.isnan(around[:64]).all()
    assert np.isnan(around[-64:]).all()
