"""Step 22, small weights: what is claimed.

The bytes of blocks are compared with those of llama.cpp's package ``gguf``, and the numbers that they stand for, too.
Hugging Face's logits were recorded with weights that ``gguf`` had rounded. MAX's interpreter multiplies by the rounded
weights exactly; the compiled product rounds the inputs, too, which ``ROUGHLY`` allows for.
"""

import gguf
import numpy as np
import pytest
from max.experimental import functional as F

from checker.claims import about, equal, keeps_nothing, require
from checker.claims.modules import compiled, run, shapes_of
from checker.max_adapter.runtime import tensor
from checker.numeric.references import seeded_weights
from checker.numeric.tolerance import TOLERANCE
from solutions import quantized
from solutions.solution_01 import GPT2Config
from solutions.solution_11 import MaxGPT2LMHeadModel

LLAMA_CPP, ROUNDED = "llama.cpp's", "with the numbers that the blocks stand for"
ROUGHLY = 0.03  # of the largest number: rounded inputs make 0.005, a missing bias 0.06
DRAWN = np.random.RandomState(22)
NARROW, WEIGHT, BIAS = (DRAWN.standard_normal(shape).astype(np.float32) for shape in ((4, 3, 96), (7, 96), (7,)))
HEAD = "lm_head.weight"


def in_blocks(subject, numbers, format):  # [..., in] -> [..., in / 32]
    """The blocks that llama.cpp's package makes of some rows, with the fields that the file gives them."""
    return gguf.quantize(numbers, gguf.GGMLQuantizationType[format]).view(getattr(subject, format))


def function_of(subject, prefix, format):
    """The learner's function for a format: quantize_q8_0, and so on."""
    return getattr(subject, f"{prefix}_{format.lower()}")


def numbers_in(blocks, format):  # [..., in / 32] -> [..., in]
    """The numbers that some rows of blocks stand for, by llama.cpp's package."""
    return gguf.dequantize(blocks.view(np.uint8), gguf.GGMLQuantizationType[format])


@pytest.fixture(scope="module")
def config(reference):
    return GPT2Config(**reference.config)


@pytest.fixture(scope="module")
def weights(config):
    """Seeded weights of a model, by name; the head is tied."""
    with F.lazy():
        made = seeded_weights(shapes_of(MaxGPT2LMHeadModel(config)))
    made[HEAD] = made["transformer.wte.weight"]
    for array in made.values():
        array.setflags(write=False)
    return made


def become(numbers, subject, format, what="the blocks"):
    """Refuse unless numbers become llama.cpp's blocks; the scales are compared first, then the quants."""
    numbers = numbers.copy()
    numbers.setflags(write=False)  # a function that changes what it is given is told so
    result, right = function_of(subject, "quantize", format)(numbers), in_blocks(subject, numbers, format)[..., 0]
    kind = getattr(result, "dtype", type(result).__name__)
    require(kind == right.dtype, f"It returns {kind}, not an array of {format}: fill `blocks`, and return it.", kind)
    axes = ("row", "block", "number" if format == "Q8_0" else "byte")[-numbers.ndim :]
    for part in right.dtype.names:
        named = {"packed": "packed quants"}.get(part, part)
        equal(result[part], right[part], axes, what=f"the {named} of {what}", whose=LLAMA_CPP)
    signs = np.signbit(result["scale"])
    require(
        bool((signs == np.signbit(right["scale"])).all()),
        "The scale of a block of zeros has the other sign: divide its 0 as every other block's number. "
        f"By {'127 that is 0.0' if format == 'Q8_0' else '-8 that is -0.0'}, as in llama.cpp, and their bytes differ.",
        signs,
    )
    mine, theirs = (np.frombuffer(blocks.tobytes(), np.uint8) for blocks in (result, right))
    equal(mine, theirs, ("byte",), what=f"the bytes of {what}", whose=LLAMA_CPP)


def halfway(largest):
    """Two blocks of numbers halfway between two quants, -7.5 to 7.5, and the number that is ``largest`` quants."""
    quants = np.resize(np.arange(-7.5, 8), 32)
    quants[0] = largest
    return np.float32([quants * 2**-9, quants * -(2**-11)])


def saved_weights(name):
    """Blocks of a trained model's size as a file in float16 or bfloat16 has them, 4,000 of each."""
    weights = np.random.RandomState(7).standard_normal((4000, 32)).astype(np.float32) / 50
    if name == "float16":
        return weights.astype(np.float16).astype(np.float32)
    return (weights.view(np.uint32) & 0xFFFF0000).view(np.float32)


def some_blocks(subject, format, reference):
    """Refuse unless blocks of a matrix, and one alone, become llama.cpp's, whatever was quantized before."""
    numbers = reference["matrix"].reshape(5, 3, 32)
    become(numbers, subject, format)
    become(numbers[0, 0], subject, format, "a single block")
    keeps_nothing(lambda numbers: function_of(subject, "quantize", format)(numbers).view(np.uint8), numbers)


def zeros_are_no_error(subject, format):
    """Refuse unless a block of zeros, and one whose scale is too small for float16, are rounded without a warning."""
    blocks = np.zeros((1, 3, 32), np.float32)
    blocks[0, 1], blocks[0, 2] = NARROW[0, 0, :32], NARROW[0, 0, :32] * 1e-9
    with np.errstate(divide="raise", invalid="raise"):
        try:
            become(blocks, subject, format, "a row with zeros and tiny numbers")
        except FloatingPointError as error:
            require(False, f"A block of zeros is divided by its scale, 0: {error}.", f"{error}")


@about("quantize_q8_0")
def test_blocks_of_8_bits(subject, reference):
    """Each block becomes llama.cpp's 34 bytes: two of the scale, its largest magnitude / 127, then the quants."""
    some_blocks(subject, "Q8_0", reference)


@about("quantize_q8_0")
def test_halves_of_8_bits(subject):
    """A number halfway between two quants, as some float16 weights are, rounds away from 0: -2.5 to -3, 2.5 to 3."""
    become(halfway(127), subject, "Q8_0", "numbers halfway between two quants")


@about("quantize_q8_0")
def test_zeros_in_8_bits(subject):
    """A block of zeros has the scale 0, and all its quants are 0: there is no 0 / 0."""
    zeros_are_no_error(subject, "Q8_0")


def scales_are_kept(subject, format):
    """Refuse unless scales below the smallest normal float16, 6.1e-5, are rounded as llama.cpp's are."""
    most = 127 if format == "Q8_0" else 8
    scales = np.float32([6e-5, 3.9e-5, 1e-5, 1e-6, 2e-7, 6e-8, 4e-8, 2e-8])[:, None]
    blocks = NARROW[0, 0, :32] / np.abs(NARROW[0, 0, :32]).max() * most * scales
    become(blocks, subject, format, "numbers with tiny scales")


@about("quantize_q8_0")
def test_tiny_scales_of_8_bits(subject):
    """A scale below 6.1e-5, the smallest normal float16, is kept: float16 has numbers down to 6e-8."""
    scales_are_kept(subject, "Q8_0")


@about("quantize_q8_0")
def test_saved_weights_in_8_bits(subject):
    """Weights from files in float16 and in bfloat16 become llama.cpp's bytes, all of 8,000 blocks."""
    for name in ("float16", "bfloat16"):
        become(saved_weights(name), subject, "Q8_0", f"weights in {name}")


@about("dequantize_q8_0")
def test_numbers_of_8_bits(subject):
    """Each quant from -128 to 127, with its sign, is multiplied by the scale of its block, in float32."""
    stand_for(subject, "Q8_0")


@about("quantize_q4_0")
def test_blocks_of_4_bits(subject, reference):
    """Each block becomes llama.cpp's 18 bytes: the scale, its first number of largest magnitude / -8, then 16 pairs."""
    some_blocks(subject, "Q4_0", reference)


@about("quantize_q4_0")
def test_halves_of_4_bits(subject):
    """A number halfway between two quants, as some float16 weights are, rounds up: -2.5 to -2, 2.5 to 3, 7.5 to 7."""
    become(halfway(-8), subject, "Q4_0", "numbers halfway between two quants")


@about("quantize_q4_0")
def test_zeros_in_4_bits(subject):
    """A block of zeros has the scale 0, and all its quants are 0, kept as 8: there is no 0 / 0."""
    zeros_are_no_error(subject, "Q4_0")


@about("quantize_q4_0")
def test_tiny_scales_of_4_bits(subject):
    """A scale below 6.1e-5, the smallest normal float16, is kept: float16 has numbers down to 6e-8."""
    scales_are_kept(subject, "Q4_0")


@about("quantize_q4_0")
def test_saved_weights_in_4_bits(subject):
    """Weights from files in float16 and in bfloat16 become llama.cpp's bytes, all of 8,000 blocks."""
    for name in ("float16", "bfloat16"):
        become(saved_weights(name), subject, "Q4_0", f"weights in {name}")


@about("dequantize_q4_0")
def test_numbers_of_4_bits(subject):
    """Each half of a byte, minus 8, is multiplied by the scale of its block, the low halves first, in float32."""
    stand_for(subject, "Q4_0")


def any_blocks(random, dtype, *shape):
    """Blocks of any bytes, such as a file may have, with scales around 1 of either sign."""
    blocks = random.integers(0, 256, (*shape, dtype.itemsize)).astype(np.uint8).view(dtype)[..., 0]
    blocks["scale"] = random.uniform(0.5, 2, (*shape, 1)) * random.choice([-1, 1], (*shape, 1))
    return blocks


def stand_for(subject, format):
    """Refuse unless any bytes stand for the numbers that they do for llama.cpp, in matrices and in a single block."""
    dequantize = function_of(subject, "dequantize", format)
    blocks = any_blocks(np.random.default_rng(8), getattr(subject, format), 5, 3)
    right = numbers_in(blocks, format).reshape(5, 3, 32)
    axes = ("row", "block", "number")
    equal(dequantize(blocks.copy()), right, axes, what="the output for 5 x 3 blocks", whose=LLAMA_CPP)
    alone = dequantize(blocks[0, 0].copy())
    equal(alone, right[0, 0], ("number",), what="the output for a single block", whose=LLAMA_CPP)


@about("forward")
def test_product(subject):
    """It is x times the transposed weights, plus the bias, for inputs of any rank; the padding is left out."""
    blocks = in_blocks(subject, WEIGHT, "Q4_0")
    layer = subject.QuantizedLinear(blocks, tensor(BIAS))
    weight = numbers_in(blocks, "Q4_0")
    for x in (NARROW, NARROW[:1, 0], NARROW[:, None, :1]):
        result = keeps_nothing(lambda x: run(layer, x), x, right=lambda x: (x @ weight.T + BIAS).astype(np.float32))
        multiplied(result, x, blocks, BIAS, f"the output for {list(x.shape)}")


def multiplied(actual, x, blocks, bias, what, tolerance=TOLERANCE):
    """Refuse unless a product is that with plain numbers."""
    weight = numbers_in(blocks, "Q4_0").astype(np.float64)
    equal(actual, (x @ weight.T + bias).astype(np.float32), what=what, tolerance=tolerance, whose=ROUNDED)


@about("forward")
def test_without_a_bias(subject):
    """Without a bias, as in the head, nothing is added."""
    blocks = in_blocks(subject, WEIGHT, "Q4_0")
    multiplied(run(subject.QuantizedLinear(blocks, 0), NARROW), NARROW, blocks, 0, "the output without a bias")


def logits_match(subject, config, weights, reference, format):
    """Refuse unless the logits of a model in blocks are Hugging Face's."""
    small = {name: array.ndim == 2 and "wpe" not in name for name, array in weights.items()}
    stored = {
        name: in_blocks(subject, array, format) if small[name] else array.copy() for name, array in weights.items()
    }
    with pytest.MonkeyPatch.context() as patch:
        for name in ("Q8_0", "Q4_0", "dequantize_q8_0", "dequantize_q4_0", "QuantizedLinear"):
            patch.setattr(quantized, name, getattr(subject, name))
        logits = run(quantized.quantized_model(config, stored), reference["input"])
    equal(logits, reference[f"{format}_logits"], ("batch", "token", "logit"), what=f"with {format}, the logits")


@about("dequantize_q8_0")
def test_logits_of_8_bits(subject, config, weights, reference):
    """In a model, the logits match Hugging Face's with the weights rounded to 8 bits."""
    logits_match(subject, config, weights, reference, "Q8_0")


@about("forward")
def test_logits_of_4_bits(subject, config, weights, reference):
    """In a model, the logits match Hugging Face's with the weights rounded to 4 bits."""
    logits_match(subject, config, weights, reference, "Q4_0")


@pytest.mark.drawn
@about("quantize_q8_0")
def test_other_blocks_of_8_bits(subject, draw):
    """Random blocks, however many, become llama.cpp's bytes."""
    become(draw.array(draw.whole("rows", 2, 6), draw.whole("blocks", 1, 4), 32), subject, "Q8_0")


@pytest.mark.drawn
@about("quantize_q4_0")
def test_other_blocks_of_4_bits(subject, draw):
    """Random blocks, however many, become llama.cpp's bytes."""
    become(draw.array(draw.whole("rows", 2, 6), draw.whole("blocks", 1, 4), 32), subject, "Q4_0")


@pytest.mark.drawn
@about("forward")
def test_other_products(subject, draw):
    """A product of random sizes and numbers is right as well."""
    blocks = in_blocks(subject, draw.array(draw.whole("channels", 2, 40), 32 * draw.whole("blocks", 1, 4)), "Q4_0")
    channels, count = blocks.shape
    bias, x = draw.array(channels), draw.array(draw.whole("batch", 1, 3), draw.whole("tokens", 1, 9), 32 * count)
    multiplied(run(subject.QuantizedLinear(blocks, tensor(bias)), x), x, blocks, bias, "the output")


@pytest.mark.compiled
@about("forward")
def test_compiled(subject):
    """On the CPU, MAX compiles the product for any batch and length; it also rounds the inputs, to 8 bits."""
    blocks = in_blocks(subject, WEIGHT, "Q4_0")
    graph = compiled(subject.QuantizedLinear(blocks, tensor(BIAS)), ["batch", "seq", 96], device="cpu")  # no GPU has it
    multiplied(graph(NARROW), NARROW, blocks, BIAS, "the output", ROUGHLY)
