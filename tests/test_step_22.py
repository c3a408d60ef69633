"""Step 22, small weights: what is claimed.

The bytes of blocks are compared with those of llama.cpp's package ``gguf``, and the numbers that they stand for, too.
Hugging Face's logits were recorded with weights that ``gguf`` had rounded. MAX's interpreter multiplies by the rounded
weights exactly; the compiled product rounds the inputs, too, which ``ROUGHLY`` allows for.
"""

from functools import cache

import gguf
import numpy as np
import pytest
from max.experimental import functional as F
from max.experimental.nn import Embedding, Linear

from checker.claims import about, equal, is_value, require
from checker.claims.modules import compiled, run, shapes_of
from checker.max_adapter.runtime import tensor
from checker.numeric.references import seeded_weights
from checker.numeric.tolerance import TOLERANCE
from solutions.solution_01 import GPT2Config
from solutions.solution_11 import MaxGPT2LMHeadModel

LLAMA_CPP, ROUNDED = "llama.cpp's", "with the numbers that the blocks stand for"
ROUGHLY = 0.03  # of the largest number: rounded inputs make 0.005, a missing bias 0.06
FORMATS = ("Q8_0", "Q4_0")
BYTES = ("row", "byte")
DRAWN = np.random.RandomState(22)
INPUT, NARROW, BIAS = (DRAWN.standard_normal(shape).astype(np.float32) for shape in ((2, 3, 256), (4, 3, 96), (7,)))
Q8_0, Q4_0 = (gguf.GGMLQuantizationType[format] for format in FORMATS)
DATA = gguf.quantize(DRAWN.standard_normal((7, 96)).astype(np.float32), Q4_0)
HEAD = "lm_head.weight"


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


def bytes_of(blocks, kind):
    """The bytes of some blocks, by llama.cpp's package."""
    return gguf.quantize(blocks.reshape(-1, 32), kind).reshape(*blocks.shape[:-1], -1)


def become(blocks, quantize, kind, what="the blocks"):
    """Refuse unless blocks become llama.cpp's bytes; the scales are compared first, then the steps."""
    result, right = quantize(blocks), bytes_of(blocks, kind)
    axes = ("row", "block", "byte")[-blocks.ndim :]
    equal(result, right, axes, what=f"{what}, quantized,", tolerance=1, whose=LLAMA_CPP)  # the shape and the type
    scales, expected = (part[..., :2].copy().view(np.float16) for part in (result, right))
    equal(scales, expected, axes, what=f"the scale of {what}", whose=LLAMA_CPP)
    signed = np.int8 if kind == Q8_0 else np.uint8
    steps, expected = (part[..., 2:].copy().view(signed) for part in (result, right))
    equal(steps, expected, axes, what=f"the steps of {what}", whose=LLAMA_CPP)
    equal(result, right, axes, what=f"{what}, quantized,", whose=LLAMA_CPP)


def halfway(largest):
    """Two blocks of numbers halfway between two steps, -7.5 to 7.5, and the number that is ``largest`` steps."""
    steps = np.resize(np.arange(-7.5, 8), 32)
    steps[0] = largest
    return np.float32([steps * 2**-9, steps * -(2**-11)])


def saved_weights(name):
    """Blocks of a trained model's size as a file in float16 or bfloat16 has them, 4,000 of each."""
    weights = np.random.RandomState(7).standard_normal((4000, 32)).astype(np.float32) / 50
    if name == "float16":
        return weights.astype(np.float16).astype(np.float32)
    return (weights.view(np.uint32) & 0xFFFF0000).view(np.float32)


def zeros_are_no_error(quantize, kind):
    """Refuse unless a block of zeros, and one whose scale is too small for float16, are rounded without a warning."""
    blocks = np.zeros((1, 3, 32), np.float32)
    blocks[0, 1], blocks[0, 2] = NARROW[0, 0, :32], NARROW[0, 0, :32] * 1e-9
    with np.errstate(divide="raise", invalid="raise"):
        try:
            become(blocks, quantize, kind, "zeros, others, and tiny ones")
        except FloatingPointError as error:
            require(False, f"A block of zeros is divided by its scale, 0: {error}.", f"{error}")


@about("quantize_q8_0")
def test_blocks_of_8_bits(step, reference):
    """Each block becomes llama.cpp's 34 bytes: two of the scale, its largest magnitude / 127, then the steps."""
    become(reference["matrix"].reshape(5, 3, 32), step.quantize_q8_0, Q8_0)


@about("quantize_q8_0")
def test_halves_of_8_bits(step):
    """A number halfway between two steps, as some float16 weights are, goes away from 0: -2.5 to -3, 2.5 to 3."""
    become(halfway(127), step.quantize_q8_0, Q8_0, "numbers halfway between two steps")


@about("quantize_q8_0")
def test_zeros_in_8_bits(step):
    """A block of zeros has the scale 0, and all its steps are 0: there is no 0 / 0."""
    zeros_are_no_error(step.quantize_q8_0, Q8_0)


@about("quantize_q8_0")
def test_saved_weights_in_8_bits(step):
    """Weights from files in float16 and in bfloat16 become llama.cpp's bytes, all of 8,000 blocks."""
    for name in ("float16", "bfloat16"):
        become(saved_weights(name), step.quantize_q8_0, Q8_0, f"weights in {name}")


@about("dequantize_q8_0")
def test_numbers_of_8_bits(step):
    """Each step from -128 to 127, with its sign, is multiplied by the scale of its block, in float32."""
    stand_for(step.dequantize_q8_0, Q8_0)


@about("quantize_q4_0")
def test_blocks_of_4_bits(step, reference):
    """Each block becomes llama.cpp's 18 bytes: the scale, its first number of largest magnitude / -8, then 16 pairs."""
    become(reference["matrix"].reshape(5, 3, 32), step.quantize_q4_0, Q4_0)


@about("quantize_q4_0")
def test_halves_of_4_bits(step):
    """A number halfway between two steps, as some float16 weights are, goes up: -2.5 to -2, 2.5 to 3, 7.5 to 7."""
    become(halfway(-8), step.quantize_q4_0, Q4_0, "numbers halfway between two steps")


@about("quantize_q4_0")
def test_zeros_in_4_bits(step):
    """A block of zeros has the scale 0, and all its steps are 0, kept as 8: there is no 0 / 0."""
    zeros_are_no_error(step.quantize_q4_0, Q4_0)


@about("quantize_q4_0")
def test_saved_weights_in_4_bits(step):
    """Weights from files in float16 and in bfloat16 become llama.cpp's bytes, all of 8,000 blocks."""
    for name in ("float16", "bfloat16"):
        become(saved_weights(name), step.quantize_q4_0, Q4_0, f"weights in {name}")


@about("dequantize_q4_0")
def test_numbers_of_4_bits(step):
    """Each half of a byte, less 8, is multiplied by the scale of its block, the low halves first, in float32."""
    stand_for(step.dequantize_q4_0, Q4_0)


def any_blocks(random, kind, *shape):
    """Blocks of any bytes, such as a file may have, with scales around 1 of either sign."""
    size = 34 if kind == Q8_0 else 18
    data = random.integers(0, 256, (*shape, size)).astype(np.uint8)
    scales = random.uniform(0.5, 2, (*shape, 1)) * random.choice([-1, 1], (*shape, 1))
    data[..., :2] = scales.astype(np.float16).view(np.uint8)
    return data


def stand_for(dequantize, kind):
    """Refuse unless any bytes stand for the numbers that they do for llama.cpp, in matrices and in a single block."""
    data = any_blocks(np.random.default_rng(8), kind, 5, 3)
    for some in (data, data[0, 0]):
        right = gguf.dequantize(some.reshape(-1, data.shape[-1]), kind).reshape(*some.shape[:-1], 32)
        axes = ("row", "block", "number")[-some.ndim :]
        equal(dequantize(some.copy()), right, axes, what=f"the numbers of {list(some.shape)} bytes", whose=LLAMA_CPP)


def linear(step, data, format, bias):
    """The learner's layer."""
    return step.QuantizedLinear(step.Stored(data.copy(), format), bias)


@about("forward")
def test_product(step):
    """It is x times the transposed numbers, plus the bias, for inputs of any rank; added rows are left out."""
    layer = linear(step, DATA, "Q4_0", tensor(BIAS))
    for x in (NARROW, NARROW[:1, 0], NARROW[:, None, :1]):
        multiplied(run(layer, x), x, gguf.dequantize(DATA, Q4_0), BIAS, f"the output for {list(x.shape)}")


def multiplied(actual, x, weight, bias, what, tolerance=TOLERANCE):
    """Refuse unless a product is that with plain numbers."""
    right = (x.astype(np.float64) @ weight.T.astype(np.float64) + bias).astype(np.float32)
    equal(actual, right, what=what, tolerance=tolerance, whose=ROUNDED)


@about("forward")
def test_other_formats(step, reference):
    """The format is that of the weights: Q4_K and Q6_K, too, whose blocks have 256 numbers."""
    for format in ("Q4_K", "Q6_K"):
        layer = linear(step, reference[format], format, tensor(BIAS))
        multiplied(run(layer, INPUT), INPUT, reference[f"{format}_numbers"], BIAS, f"the output for {format}")


@about("forward")
def test_without_a_bias(step, reference):
    """Without a bias, as in the head, nothing is added."""
    layer = linear(step, reference["Q6_K"], "Q6_K", 0)
    multiplied(run(layer, INPUT), INPUT, reference["Q6_K_numbers"], np.float32(0), "the output without a bias")


@pytest.fixture(scope="module")
def stored(weights):
    """The weights as they are stored in a format, by llama.cpp's package, as the learner's Stored."""

    @cache
    def in_format(format):
        kind = gguf.GGMLQuantizationType[format]
        small = {name for name, array in weights.items() if array.ndim == 2 and "wpe" not in name}
        return {
            name: (gguf.quantize(array, kind), format) if name in small else (array, "F32")
            for name, array in weights.items()
            if name != HEAD
        }

    return lambda step, format: {
        name: step.Stored(data.copy(), format) for name, (data, format) in in_format(format).items()
    }


def kind_of(step, module):
    """What a module is, by a name that does not depend on where its class is from."""
    return {Linear: "Linear", Embedding: "Embedding", step.QuantizedLinear: "QuantizedLinear"}.get(type(module), "none")


def has_bias(module, which):
    """Refuse unless the bias of a module is ``BIAS``."""
    there = hasattr(module.bias, "shape")
    require(there, f"{which} has no bias: {module.bias!r} is in its place.", "no bias")
    equal(module.bias, BIAS, what="the bias", whose="it must be")


@about("with_weight")
def test_layers(step):
    """A linear layer whose format MAX multiplies becomes a QuantizedLinear with these bytes and the layer's bias."""
    with F.lazy():
        layer = Linear(96, 7)
    layer.bias = tensor(BIAS)
    result = step.with_weight(layer, "weight", step.Stored(DATA.copy(), "Q4_0"))
    is_value("a linear layer with a weight in Q4_0", kind_of(step, result), "QuantizedLinear")
    data = np.from_dlpack(result.weight)[: len(DATA)]
    equal(data, DATA, BYTES, what="its weight", whose="it must be")
    has_bias(result, "The new layer")


@about("with_weight")
def test_other_modules(step):
    """Any other format or module gets the numbers, as float32: MAX has no product for Q8_0, and none for a table."""
    eight = gguf.quantize(NARROW[0], Q8_0)
    half = NARROW[0].astype(np.float16)
    cases = (Linear, "Q8_0", eight), (Embedding, "Q4_0", DATA), (Linear, "F32", NARROW[0]), (Linear, "F16", half)
    for made, format, data in cases:
        with F.lazy():
            module = made(96, len(data)) if made is Linear else made(len(data), dim=96)
        result = step.with_weight(module, "weight", step.Stored(data.copy(), format))
        what = f"a module {made.__name__} with a weight in {format}"
        require(result is not None, f"What comes back for {what} is None: is there a `return`?")
        is_value(what, kind_of(step, result), made.__name__)
        numbers = gguf.dequantize(data, gguf.GGMLQuantizationType[format])
        equal(result.weight, numbers, what=f"the weight of {what}", whose="it must be")


@about("with_weight")
def test_bias(step):
    """A bias is set where it belongs, whether the layer is quantized already or not."""
    with F.lazy():
        layer = Linear(96, 7)
    for module in (linear(step, DATA, "Q4_0", 0), layer):
        before = kind_of(step, module)
        result = step.with_weight(module, "bias", step.Stored(BIAS.copy(), "F32"))
        is_value("what a module becomes when it gets its bias", kind_of(step, result), before)
        has_bias(result, f"A {before} that got one")


@about("with_weight")
def test_logits(step, config, stored, reference):
    """In a model, the logits are Hugging Face's with the weights rounded, whichever weight of a layer comes first."""
    for format, reverse in (("Q8_0", False), ("Q4_0", False), ("Q4_0", True)):
        in_blocks = stored(step, format)
        if reverse:
            in_blocks = dict(reversed(in_blocks.items()))
        model = step.model_of(config, in_blocks)
        for table in (model.transformer.wte, model.transformer.wpe):
            is_value(f"with {format}, the dtype of a table", table.weight.dtype.name, "float32")
        logits = run(model, reference["input"])
        right = reference[f"{format}_logits"]
        order = "biases first" if reverse else "weights first"
        equal(logits, right, ("batch", "token", "vocab"), what=f"{format}, {order}: the logits")


@pytest.mark.drawn
@about("quantize_q8_0")
def test_other_blocks_of_8_bits(step, draw):
    """Random blocks, however many, become llama.cpp's bytes."""
    become(draw.array(draw.whole("rows", 2, 6), draw.whole("blocks", 1, 4), 32), step.quantize_q8_0, Q8_0)


@pytest.mark.drawn
@about("quantize_q4_0")
def test_other_blocks_of_4_bits(step, draw):
    """Random blocks, however many, become llama.cpp's bytes."""
    become(draw.array(draw.whole("rows", 2, 6), draw.whole("blocks", 1, 4), 32), step.quantize_q4_0, Q4_0)


@pytest.mark.drawn
@about("forward")
def test_other_products(step, draw):
    """A product of random sizes and numbers is right as well."""
    data = gguf.quantize(draw.array(draw.whole("channels", 2, 40), 32 * draw.whole("blocks", 1, 4)), Q4_0)
    weight, bias = gguf.dequantize(data, Q4_0), draw.array(len(data))
    x = draw.array(draw.whole("batch", 1, 3), draw.whole("tokens", 1, 9), weight.shape[1])
    multiplied(run(linear(step, data, "Q4_0", tensor(bias)), x), x, weight, bias, "the output")


@pytest.mark.compiled
@about("forward")
def test_compiled(step):
    """MAX compiles the product for any sequences and tokens, on the CPU; it also rounds the inputs, to 8 bits."""
    graph = compiled(linear(step, DATA, "Q4_0", tensor(BIAS)), ["batch", "seq", 96], device="cpu")  # no GPU has it
    multiplied(graph(NARROW), NARROW, gguf.dequantize(DATA, Q4_0), BIAS, "the output", ROUGHLY)
