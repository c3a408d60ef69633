"""The kernels as a library that Python calls, without MAX's graphs, against NumPy in double precision.

Mojo compiles them in seconds, for any processor: for this one, by night as for one with AVX2 alone, and for ARM.
"""

import platform

import numpy as np
import pytest
from mojo.run import subprocess_run_mojo

from checker.files import ROOT
from checker.mojo.library import Library
from play.kernels.operations import pairs_of
from play.processor import instruction_sets

pytestmark = pytest.mark.slow

KERNELS = ROOT / "play" / "kernels"
AVX2 = ("--target-cpu", "x86-64-v3")
AVX512 = ("--target-cpu", "x86-64-v4")  # without its instruction for bfloat16
ARM = ("--target-triple", "aarch64-unknown-linux-gnu", "--target-cpu", "neoverse-n1")
SHAPES = {
    (12, 12, 64): "GPT-2's heads",
    (9, 3, 64): "SmolLM2's, three to a head of keys",
    (3, 3, 5): "heads that no register divides",
    (4, 2, 24): "whole registers and a rest, in pairs",
}
DEPTHS = {depth for _, _, depth in SHAPES}

CALLS = """
from heads import Heads, attend, store
from linear import few_rows
from vectors import Floats

def floats(address: Int) -> Floats:
    return Floats(unsafe_from_address=address)

def run[depth: Int](joined: Int, keys: Int, values: Int, starts: Int, output: Int, sizes: Int):
    var size = Pointer[Int64, MutUntrackedOrigin](unsafe_from_address=sizes)
    var batch, heads, kv_heads, seq, past, slots = (
        Int(size.unsafe_load(0)), Int(size.unsafe_load(1)), Int(size.unsafe_load(2)), Int(size.unsafe_load(3)),
        Int(size.unsafe_load(4)), Int(size.unsafe_load(5)),
    )
    var width = heads * depth
    var all = (heads + 2 * kv_heads) * depth

    def heads_from(head: Int) {imm} -> Heads:
        return Heads(floats(joined + 4 * head * depth), seq * all, depth, all)

    def cache(address: Int) {imm} -> Heads:
        return Heads(floats(address), slots * kv_heads * depth, slots * depth, depth)

    var first = Pointer[Int32, MutUntrackedOrigin](unsafe_from_address=starts)
    store[depth](heads_from(heads), cache(keys), batch, kv_heads, seq, past)
    store[depth](heads_from(heads + kv_heads), cache(values), batch, kv_heads, seq, past)
    var result = Heads(floats(output), seq * width, depth, width)
    attend[depth](heads_from(0), cache(keys), cache(values), first, result, batch, heads, kv_heads, seq, past + seq, 2)

@export("linear")
def linear(x: Int, weight: Int, rows: Int, size: Int, count: Int, output: Int) abi("C"):
    few_rows(floats(x), floats(weight), rows, size, count, floats(output), 2)

""" + "".join(
    f"""
@export("attend_{depth}")
def c_attend_{depth}(joined: Int, keys: Int, values: Int, starts: Int, output: Int, sizes: Int) abi("C"):
    run[{depth}](joined, keys, values, starts, output, sizes)
"""
    for depth in DEPTHS
)

IN_BFLOAT16 = """
from bfloat16 import Pairs, rounded_product

@export("rounded")
def rounded(x: Int, weight: Int, rows: Int, size: Int, count: Int, output: Int) abi("C"):
    rounded_product(floats(x), Pairs(unsafe_from_address=weight), rows, size, count, floats(output), 2)
"""


def build(folder, *options):
    """Compile the kernels as files that lie beside each other, where they are a package in ``play/kernels``."""
    for path in KERNELS.glob("*.mojo"):
        if path.stem != "__init__":
            (folder / path.name).write_text(path.read_text().replace("from .", "from "))
    (folder / "calls.mojo").write_text(
        CALLS + IN_BFLOAT16 * ("AVX-512" in instruction_sets() and not {*AVX2[1:], *ARM[1:]} & {*options})
    )
    built = folder / "built"
    command = ["build", "--disable-warnings", *options, "-o", str(built), str(folder / "calls.mojo")]
    done = subprocess_run_mojo(command, capture_output=True, text=True, cwd=folder)
    assert done.returncode == 0, done.stderr
    return built


def compiled_for(options, name):
    lacking = pytest.mark.skipif(name not in instruction_sets(), reason=f"this processor has no {name}")
    return pytest.param(options, id=name, marks=[lacking, pytest.mark.nightly])


@pytest.fixture(
    scope="module",
    params=[pytest.param((), id="here"), compiled_for(AVX2, "AVX2"), compiled_for(AVX512, "AVX-512")],
)
def kernels(request, tmp_path_factory):
    return Library(build(tmp_path_factory.mktemp("kernels"), "--emit", "shared-lib", *request.param))


SIZES = ((768, 2304), (5, 3), (17, 50), (33, 1), (64, 7), (16, 16), (24, 49))
SIZES += tuple((size, 70) for size in (767, 769, 1536, 1600, 3072))  # more than the cache takes


def rounded(numbers):
    """Round to bfloat16, the upper half of float32."""
    bits = numbers.view(np.uint32)
    return (bits + (bits >> 16 & 1) + 0x7FFF & 0xFFFF0000).view(np.float32)


@pytest.mark.parametrize("name", ["linear", "rounded"])
@pytest.mark.parametrize(("size", "outputs"), SIZES)
def test_a_linear_layer_of_every_small_number_of_rows_and_in_bfloat16_of_more(kernels, size, outputs, name):
    """The numbers around the output must stay as they are."""
    if not hasattr(kernels._library, name):
        pytest.skip("no kernel in bfloat16 for this processor")
    for rows in (*range(1, 9), *((9, 33, 100) if name == "rounded" else ())):
        generator = np.random.default_rng(rows)
        shapes = (rows, size), (outputs, size)
        x, weight = (generator.standard_normal(shape).astype(np.float32) for shape in shapes)
        around = np.full(rows * outputs + 128, np.nan, np.float32)
        packed = weight
        if name == "rounded":
            packed, x, weight = pairs_of(weight), rounded(x), rounded(weight)
        getattr(kernels, name)(x, packed, rows, size, outputs, around[64:])
        expected = x.astype(np.float64) @ weight.astype(np.float64).T
        output = around[64:-64].reshape(rows, outputs)
        np.testing.assert_allclose(output, expected, rtol=0, atol=1e-6 * size, err_msg=f"{rows} rows")
        assert np.isnan([*around[:64], *around[-64:]]).all()


def merged(heads):  # [batch, head, seq, depth] -> [batch, seq, head * depth]
    return heads.transpose(0, 2, 1, 3).reshape(len(heads), heads.shape[2], -1)


def expected_attention(query, key, value, starts):
    """Compute attention as the formula says; a query with no key to look at gets zeros."""
    key, value = (array.repeat(query.shape[1] // array.shape[1], axis=1) for array in (key, value))
    query, key, value = (array.astype(np.float64) for array in (query, key, value))
    seq = query.shape[2]
    visible = np.tril(np.ones((seq, seq), bool)) & (np.arange(seq) >= np.array(starts)[:, None, None, None])
    scores = np.where(visible, query @ key.swapaxes(-1, -2) / np.sqrt(query.shape[-1]), -np.inf)
    weights = np.exp(scores - np.where(visible.any(-1, keepdims=True), scores.max(-1, keepdims=True), 0))
    sums = weights.sum(-1, keepdims=True)
    return merged(np.divide(weights, sums, out=np.zeros_like(weights), where=sums > 0) @ value)


def attend(kernels, arrays, starts, past=0, cache=None):
    """Let tokens attend, whose queries, keys and values lie side by side as ``c_attn`` returns them."""
    (batch, heads, seq, depth), kv_heads = arrays[0].shape, arrays[1].shape[1]
    cache = cache or [np.full((batch, kv_heads, seq, depth), np.nan, np.float32) for _ in range(2)]
    joined = np.concatenate([merged(array) for array in arrays], axis=-1)
    output = np.full((batch, seq, heads * depth), np.nan, np.float32)
    sizes = np.array([batch, heads, kv_heads, seq, past, cache[0].shape[2]], np.int64)
    getattr(kernels, f"attend_{depth}")(joined, *cache, np.array(starts, np.int32), output, sizes)
    return output


def drawn(batch, shape, seq):
    """Queries [batch, head, seq, depth], keys and values, twice [batch, kv_head, seq, depth]."""
    generator, (head, kv_head, depth) = np.random.default_rng(seq), shape
    shapes = [(batch, each, seq, depth) for each in (head, kv_head, kv_head)]
    return [generator.standard_normal(each).astype(np.float32) for each in shapes]


def check(kernels, arrays, starts, atol=2e-6):
    output = attend(kernels, arrays, starts)
    np.testing.assert_allclose(output, expected_attention(*arrays, starts), rtol=0, atol=atol)
    return output


def test_attention_of_every_length_and_large_scores_are_no_trouble(kernels):
    for length in (1, 2, 7, 8, 9, 15, 16, 17, 31, 33, 47, 48, 49, 64, 65, 97, 128, 200, 333, 513, 1024):
        query, key, value = drawn(1, (12, 12, 64), length)
        check(kernels, (query, key, value), [0])
        check(kernels, (30 * query, 30 * key, value), [0], atol=5e-3)  # scores of thousands: 4 digits left


@pytest.mark.parametrize("shape", SHAPES, ids=SHAPES.get)
@pytest.mark.parametrize("seq", [1, 3, 8, 9, 40, 130])
def test_a_batch_with_padding_in_which_a_query_that_may_look_at_no_key_gets_zeros(kernels, shape, seq):
    output = check(kernels, drawn(4, shape, seq), [0, seq // 2, seq - 1, seq])
    assert not output[3].any()


@pytest.mark.parametrize("shape", SHAPES, ids=SHAPES.get)
@pytest.mark.parametrize("starts", [(7,), (0, 5, 60)], ids=["cores that share a head", "a core per head"])
def test_a_text_in_pieces_is_the_text_at_once(kernels, shape, starts):
    pieces, past, outputs = (9, 1, 1, 40, 130, 8, 11), 0, []
    (_, kv_head, depth), length = shape, sum(pieces)
    arrays = drawn(len(starts), shape, length)
    cache = [np.full((len(starts), kv_head, length + 20, depth), np.nan, np.float32) for _ in range(2)]
    for seq in pieces:
        outputs.append(attend(kernels, [array[:, :, past : past + seq] for array in arrays], starts, past, cache))
        past += seq
    expected = expected_attention(*arrays, starts)
    np.testing.assert_allclose(np.concatenate(outputs, axis=1), expected, rtol=0, atol=2e-6)
    for buffer, array in zip(cache, arrays[1:], strict=True):
        np.testing.assert_array_equal(buffer[:, :, :length], array)
        assert np.isnan(buffer[:, :, length:]).all(), "slots behind are never written, nor read"


@pytest.mark.nightly
@pytest.mark.skipif(platform.machine() in ("aarch64", "arm64"), reason="the other tests run them here")
def test_they_compile_for_arm(tmp_path):
    assert "fmla" in build(tmp_path, "--emit", "asm", *ARM).read_text()  # multiply-adds of its vectors
