"""Step 26, published weights: what is claimed.

Blocks are compared with the numbers of llama.cpp's package ``gguf``. The weights of a small file, as llama.cpp's
converter writes them, are compared with what Hugging Face's transformers reads in it, and so are the logits.
"""

import gguf
import numpy as np
import pytest
from max.driver import CPU
from max.experimental import functional as F

from checker.claims import about, equal, for_each, is_value, keeps_nothing, require
from checker.claims.modules import build
from solutions.caching import run_on_arrays
from solutions.checkpoint import HEAD
from solutions.llama import LlamaForCausalLM
from solutions.llama_config import LlamaConfig
from solutions.solution_14 import CachedModel
from solutions.solution_22 import Q8_0
from solutions.solution_26 import EMBEDDINGS

LLAMA_CPP = "llama.cpp's"
HEADS = {"q": "num_attention_heads", "k": "num_key_value_heads"}
ROWS = ("row", "column")


def numbers_in(blocks):  # [..., in / 32] of Q4_1 -> [..., in]
    """The numbers that some rows of blocks stand for, by llama.cpp's package."""
    return gguf.dequantize(blocks.view(np.uint8), gguf.GGMLQuantizationType.Q4_1)


def any_blocks(subject, random, *shape):
    """Blocks of any bytes, such as a file may have, with scales around 1 and minima on both sides of 0."""
    blocks = random.integers(0, 256, (*shape, subject.Q4_1.itemsize)).astype(np.uint8).view(subject.Q4_1)[..., 0]
    blocks["scale"] = random.uniform(0.5, 2, (*shape, 1))
    blocks["minimum"] = random.uniform(-20, 5, (*shape, 1))
    return blocks


@pytest.fixture(scope="module")
def config(reference):
    return LlamaConfig(**reference.config)


@pytest.fixture(scope="module")
def file(subject, reference):
    """The weights of the file as it has them, by llama.cpp's names; earlier skeletons name a field otherwise."""
    weights = {}
    for name, array in reference.items():
        if name.startswith("gguf/"):
            dtype = {"float32": np.float32, "uint8": Q8_0 if "embd" in name else subject.Q4_1}[array.dtype.name]
            weights[name.removeprefix("gguf/")] = array.view(dtype)
    return weights


@about("dequantize_q4_1")
def test_any_blocks(subject):
    """Each half of a byte is multiplied by the scale of its block, plus its minimum: low halves first, in float32."""
    blocks = any_blocks(subject, np.random.default_rng(8), 5, 3)
    right = numbers_in(blocks).reshape(5, 3, 32)
    result = keeps_nothing(subject.dequantize_q4_1, blocks.copy(), right=lambda _: right)
    equal(result, right, ("row", "block", "number"), what="the numbers of 5 x 3 blocks", whose=LLAMA_CPP)


@about("dequantize_q4_1")
def test_a_single_block(subject):
    """A single block, without rows around it, stands for 32 numbers."""
    block = any_blocks(subject, np.random.default_rng(9), 1)
    right = numbers_in(block)
    equal(subject.dequantize_q4_1(block[0]), right, ("number",), what="the numbers of a single block", whose=LLAMA_CPP)


@about("dequantize_q4_1")
def test_float32(subject):
    """The numbers are computed in float32: float16, which scale and minimum have, would round them."""
    blocks = any_blocks(subject, np.random.default_rng(10), 4)
    blocks["scale"] = blocks["scale"] / 7
    equal(subject.dequantize_q4_1(blocks), numbers_in(blocks).reshape(4, 32), ("block", "number"), whose=LLAMA_CPP)


@about("unpermute")
def test_rows(subject, file, reference):
    """Rows i and i + head_dim / 2 of each head, side by side in the file, go where Hugging Face has them."""

    def is_hugging_faces(layer):
        weight, heads = file[f"blk.1.attn_{layer}.weight"], int(reference.config[HEADS[layer]])
        right = reference.weights[f"model.layers.1.self_attn.{layer}_proj.weight"]
        result = subject.unpermute(numbers_in(weight), heads)
        equal(result, right, ROWS, what=f"{layer}_proj of {heads} heads")

    for_each(HEADS, is_hugging_faces)


@about("unpermute")
def test_a_row_is_moved_as_it_is(subject):
    """Rows move as a whole, with any number of columns, and the weight passed in is left unchanged."""
    for columns in (1, 3):
        weight = np.arange(12 * columns, dtype=np.float32).reshape(12, columns)
        given = weight.copy()
        equal(
            subject.unpermute(given, 2), in_order(weight, 2), ROWS, what="12 rows of 2 heads", whose="the right number"
        )
        require(np.array_equal(given, weight), "unpermute changes the weight that it is given: make a new array.")


def in_order(weight, heads):
    """The rows of each head: those at even places first, then those at odd ones."""
    each = np.split(weight, heads)
    return np.concatenate([head[first::2] for head in each for first in (0, 1)])


@about("hugging_face_name")
def test_names(subject, file, reference):
    """Every weight of the file gets its name in Hugging Face's model."""
    right = dict(zip(by_llama_cpp(reference.weights), reference.weights, strict=True))
    for_each(file, lambda name: is_value(f"the name of {name}", subject.hugging_face_name(name), right[name]))


def by_llama_cpp(names):
    """Names of Hugging Face's as llama.cpp has them, by its package."""
    table = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, 99)
    return [table.get_name(name, (".weight", ".bias")) for name in names]


@about("hugging_face_name")
def test_other_names(subject):
    """So does a weight of a later block, a bias, and a head of its own."""
    names = ["model.layers.12.mlp.up_proj.weight", "model.layers.70.self_attn.q_proj.bias", HEAD]

    def is_right(name):
        theirs = by_llama_cpp([name])[0]
        is_value(f"the name of {theirs}", subject.hugging_face_name(theirs), name)

    for_each(names, is_right)


def converted(subject, weights, config):
    """What becomes of some weights, which must stay as they are."""
    given = {name: weight.copy() for name, weight in weights.items()}
    result = subject.convert_llama(given, config)
    kept = given.keys() == weights.keys() and all(np.array_equal(given[name], weights[name]) for name in weights)
    require(kept, "convert_llama changes the weights that it is given: make new ones.")
    require(isinstance(result, dict), f"It returns {type(result).__name__}, not a dict of weights.")
    blocks = [name for name, weight in result.items() if np.asarray(weight).dtype.names]
    require(not blocks, f"{''.join(blocks[:1])} has blocks, and must have numbers: call dequantize.", blocks)
    return result


@about("convert_llama")
def test_a_whole_file(subject, file, config, reference):
    """Every weight of a file, in blocks or not, gets Hugging Face's name and numbers, in float32."""
    result = converted(subject, file, config)
    right = dict(reference.weights)
    missing = sorted(right.keys() - result.keys())
    require(not missing, f"{len(missing)} weights are missing, the first {missing[:1]}.", missing)
    unknown = sorted(result.keys() - right.keys() - {HEAD})
    require(not unknown, f"{len(unknown)} weights are unknown, the first {unknown[:1]}.", unknown)
    for_each(right, lambda name: equal(result[name], right[name], what=name))


@about("convert_llama")
def test_the_tied_head(subject, file, config, reference):
    """A model without a head of its own uses its embeddings as its head."""
    result = converted(subject, file, config)
    require(HEAD in result, f"{HEAD} is missing: it is the embeddings.", sorted(result))
    equal(result[HEAD], reference.weights[EMBEDDINGS], ("token", "channel"), what=HEAD)


@about("convert_llama")
def test_a_head_of_its_own(subject, file, config):
    """A head in the file is kept."""
    head = np.random.default_rng(11).standard_normal((33, 64)).astype(np.float32)
    result = converted(subject, {"output.weight": head, **file}, config)
    require(HEAD in result, f"{HEAD} is missing, which the file has as output.weight.", sorted(result))
    equal(result[HEAD], head, ("token", "channel"), what=HEAD, whose="the file's")


@about("convert_llama")
def test_logits(subject, file, config, reference):
    """In a model, the logits of the next token match Hugging Face's with the same file."""
    model = build(LlamaForCausalLM, config, weights=converted(subject, file, config))

    def interpreted(*inputs):
        with F.lazy():
            return model(*inputs)

    logits = CachedModel(run_on_arrays(interpreted, CPU()), config.cache_config, CPU())(reference["input"])
    equal(logits, reference["logits"][:, -1:], ("batch", "token", "logit"), what="the logits")


@pytest.mark.drawn
@about("dequantize_q4_1")
def test_other_blocks(subject, draw):
    """Random blocks, however many, stand for llama.cpp's numbers."""
    shape = draw.whole("rows", 2, 6), draw.whole("blocks", 1, 4)
    blocks = any_blocks(subject, np.random.default_rng(draw.whole("seed", 100, 10_000)), *shape)
    right = numbers_in(blocks).reshape(*shape, 32)
    equal(subject.dequantize_q4_1(blocks), right, ("row", "block", "number"), whose=LLAMA_CPP)


@pytest.mark.drawn
@about("unpermute")
def test_other_rows(subject, draw):
    """Rows of random heads are put in order, too."""
    heads, half = draw.whole("heads", 1, 6), draw.whole("head_dim / 2", 3, 9)
    weight = draw.array(heads * 2 * half, draw.whole("columns", 1, 9))
    equal(subject.unpermute(weight, heads), in_order(weight, heads), ROWS, whose="the right number")
