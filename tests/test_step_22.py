"""Step 22, small weights: what is claimed.

A matrix in blocks was recorded from llama.cpp's package ``gguf``, which also reads what is written here. Hugging Face's
logits were recorded with weights that ``gguf`` had rounded. MAX's interpreter multiplies by the rounded weights
exactly; the compiled product rounds the inputs, too, which ``ROUGHLY`` allows for.
"""

from functools import cache
from pathlib import Path

import gguf
import numpy as np
import pytest
from max.experimental import functional as F
from max.experimental.nn import Embedding, Linear

from checker.claims import about, equal, error_of, is_value, require
from checker.claims.modules import compiled, run, shapes_of
from checker.claims.vocabulary import article
from checker.max_adapter.runtime import tensor
from checker.numeric.references import seeded_weights
from solutions.solution_01 import GPT2Config
from solutions.solution_11 import MaxGPT2LMHeadModel

LLAMA_CPP, ROUNDED = "llama.cpp's", "with the numbers that the blocks stand for"
ROUGHLY = 0.03  # of the largest number
FORMATS = ("Q8_0", "Q4_0")
IN_BLOCKS = ("row", "block", "number")
BYTES = ("row", "byte")
DRAWN = np.random.RandomState(22)
HALVES = DRAWN.randint(0, 16, (2, 3, 32)).astype(np.uint8)
INPUT, NARROW, BIAS = (DRAWN.standard_normal(shape).astype(np.float32) for shape in ((2, 3, 256), (4, 3, 96), (7,)))
Q4_0 = gguf.GGMLQuantizationType.Q4_0
DATA = gguf.quantize(DRAWN.standard_normal((7, 96)).astype(np.float32), Q4_0)
HEAD, WTE = "lm_head.weight", "transformer.wte.weight"


@pytest.fixture(scope="module")
def config(reference):
    return GPT2Config(**reference.config)


@pytest.fixture(scope="module")
def weights(config):
    """Seeded weights of a model, by name; the head is tied."""
    with F.lazy():
        made = seeded_weights(shapes_of(MaxGPT2LMHeadModel(config)))
    made[HEAD] = made[WTE]
    for array in made.values():
        array.setflags(write=False)
    return made


@pytest.fixture(scope="module")
def blocks(reference):
    """The recorded matrix, cut into blocks, the last of which has only zeros."""
    cut = reference["matrix"].reshape(5, 3, 32).copy()
    cut[-1, -1] = 0
    return cut


def largest(blocks):
    """The number of the largest size in each block, with its sign."""
    flat = blocks.reshape(-1, 32)
    return np.array([max(block, key=abs) for block in flat], np.float32).reshape(*blocks.shape[:-1], 1)


def spaced(blocks, format):
    """Scales as they must be."""
    return np.abs(largest(blocks)) / 127 if format == "Q8_0" else largest(blocks) / -8


@about("to_blocks")
def test_blocks(step, reference):
    """Each row is cut into blocks of 32 neighbors, in their order: [5, 96] becomes [5, 3, 32]."""
    matrix = reference["matrix"]
    equal(step.to_blocks(matrix), matrix.reshape(5, 3, 32), IN_BLOCKS, what="the matrix in blocks", whose="it must be")
    one = matrix[:4, :32]
    equal(step.to_blocks(one), one[:, None], IN_BLOCKS, what="a matrix of 32 columns", whose="it must be")


@about("to_blocks")
def test_blocks_do_not_fit(step):
    """Rows that 32 does not divide are a ValueError with their width and 32, however many rows there are."""
    for shape in ((3, 48), (32, 33), (64, 31)):
        what = f"a matrix {list(shape)}"
        message = error_of(what, lambda shape=shape: step.to_blocks(np.ones(shape, np.float32)))
        named = f"{shape[1]}" in message and "32" in message
        require(named, f"The message about {what} is {message!r}; name {shape[1]} and 32.", message)


@about("scales_of")
def test_scales_of_8_bits(step, blocks):
    """Q8_0: the largest size in a block over 127, whichever its sign."""
    equal(step.scales_of(blocks, "Q8_0"), spaced(blocks, "Q8_0"), IN_BLOCKS, what="the scales", whose="it must be")


@about("scales_of")
def test_scales_of_4_bits(step, blocks):
    """Q4_0: the number of the largest size, with its sign, over -8."""
    equal(step.scales_of(blocks, "Q4_0"), spaced(blocks, "Q4_0"), IN_BLOCKS, what="the scales", whose="it must be")


@about("steps_of")
def test_nearest_step(step, blocks):
    """Each number is divided by the scale of its block, and rounded to the nearest whole number, as int8."""
    for format in FORMATS:
        scales = spaced(blocks, format)
        quotients = np.divide(blocks, scales, out=np.zeros_like(blocks), where=scales != 0)
        right = np.minimum(np.rint(quotients), 127 if format == "Q8_0" else 7).astype(np.int8)
        equal(step.steps_of(blocks, scales, format), right, IN_BLOCKS, what=f"{format}: the steps", whose=LLAMA_CPP)


@about("steps_of")
def test_ends(step):
    """No step is beyond -127 and 127 or -8 and 7: a number that would be is kept at the end."""
    for format, inside, lowest, highest in (("Q8_0", 126, -127, 127), ("Q4_0", 6, -8, 7)):
        numbers = np.zeros((1, 1, 32), np.float32)
        numbers[..., :6] = [highest + 1.3, lowest - 1.3, highest + 0.6, lowest - 0.6, inside, -inside]
        right = np.zeros((1, 1, 32), np.int8)
        right[..., :6] = [highest, lowest, highest, lowest, inside, -inside]
        for scale in (0.25, -0.5):
            scales = np.full((1, 1, 1), scale, np.float32)
            result = step.steps_of(numbers * np.float32(scale), scales, format)
            equal(result, right, IN_BLOCKS, what=f"{format}: the steps", whose="it must be")


@about("steps_of")
def test_zeros(step):
    """A block of zeros has the scale 0, and all its steps are 0: there is no 0 / 0."""
    zeros, scales = np.zeros((2, 1, 32), np.float32), np.zeros((2, 1, 1), np.float32)
    zeros[1], scales[1] = 3.0, 1.5
    for format in FORMATS:
        with np.errstate(divide="raise", invalid="raise"):
            try:
                steps = step.steps_of(zeros, scales, format)
            except FloatingPointError as error:
                require(False, f"A block of zeros is divided by its scale, 0: {error}.", f"{error}")
        right = np.zeros((2, 1, 32), np.int8)
        right[1] = 2
        equal(steps, right, IN_BLOCKS, what=f"{format}: the steps", whose="it must be")


@about("pack")
def test_pack(step):
    """A byte has two numbers: one of the first half of a block in its low four bits, one of the second half above."""
    right = HALVES[..., :16] + 16 * HALVES[..., 16:]
    equal(step.pack(HALVES), right, ("row", "block", "byte"), what="the bytes", whose="it must be")


@about("unpack")
def test_unpack(step):
    """The low four bits of all 16 bytes come first, then the high ones: the numbers as they were, as uint8."""
    packed = HALVES[..., :16] + 16 * HALVES[..., 16:]
    equal(step.unpack(packed), HALVES, IN_BLOCKS, what="the numbers", whose="it must be")


@about("quantize")
def test_bytes_of_8_bits(step, reference):
    """Q8_0: the bytes are llama.cpp's, 34 for each block: two of the scale, then the steps."""
    equal(step.quantize(reference["matrix"], "Q8_0"), reference["Q8_0"], BYTES, what="Q8_0", whose=LLAMA_CPP)


@about("quantize")
def test_bytes_of_4_bits(step, reference):
    """Q4_0: the bytes are llama.cpp's, 18 for each block: two of the scale, then 16 with two steps each."""
    equal(step.quantize(reference["matrix"], "Q4_0"), reference["Q4_0"], BYTES, what="Q4_0", whose=LLAMA_CPP)


@about("dequantize")
def test_numbers_of_8_bits(step, reference):
    """Q8_0: the numbers are llama.cpp's: each step, with its sign, times the scale of its block, as float32."""
    numbers(step, reference, "Q8_0")


@about("dequantize")
def test_numbers_of_4_bits(step, reference):
    """Q4_0: the numbers are llama.cpp's: what a half byte says, less 8, times the scale of its block."""
    numbers(step, reference, "Q4_0")


def numbers(step, reference, format):
    """Refuse unless recorded bytes stand for the recorded numbers, each to within a thousandth of its row's largest."""
    for row in range(5):
        right = reference[f"{format}_numbers"][[row]]
        close = 1e-4 * float(np.abs(right).max())
        result = step.dequantize(reference[format][[row]], format)
        equal(result, right, what=f"{format}: row {row}", tolerance=min(close, 1e-4), whose=LLAMA_CPP)
    result = step.dequantize(reference[format], format)
    equal(result, reference[f"{format}_numbers"], what=format, whose=LLAMA_CPP)


def linear(step, data, format, bias):
    """The learner's layer."""
    return step.QuantizedLinear(step.Stored(data.copy(), format), bias)


@about("forward")
def test_product(step):
    """It is x times the transposed numbers, plus the bias, for inputs of any rank; added rows are left out."""
    layer = linear(step, DATA, "Q4_0", tensor(BIAS))
    for x in (NARROW, NARROW[:1, 0], NARROW[:, None, :1]):
        multiplied(run(layer, x), x, gguf.dequantize(DATA, Q4_0), BIAS, f"the output for {list(x.shape)}")


def multiplied(actual, x, weight, bias, what):
    """Refuse unless a product is that with plain numbers."""
    right = (x.astype(np.float64) @ weight.T.astype(np.float64) + bias).astype(np.float32)
    equal(actual, right, what=what, tolerance=ROUGHLY * max(1.0, float(np.abs(right).max())), whose=ROUNDED)


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


@about("format_of")
def test_what_becomes_small(step, weights):
    """Matrices and wte get the format; wpe, biases, and gains stay F32."""
    for format in FORMATS:
        right = {name: format if array.ndim == 2 else "F32" for name, array in weights.items()}
        right["transformer.wpe.weight"] = "F32"
        found = {name: step.format_of(name, array, format) for name, array in weights.items()}
        wrong = [name for name in right if found[name] != right[name]]
        sentence = "" if not wrong else f"{wrong[0]} gets {found[wrong[0]]!r}, and must get {right[wrong[0]]!r}."
        require(not wrong, sentence, {name: str(one) for name, one in found.items()})


@about("format_of")
def test_what_does_not_fit(step):
    """A matrix whose width 32 does not divide stays F32, however many rows it has."""
    right = {(64, 48): "F32", (48, 64): "Q4_0", (32, 15): "F32", (7, 32): "Q4_0", (3, 48): "F32"}
    name = "transformer.h.0.mlp.c_fc.weight"
    found = {shape: step.format_of(name, np.ones(shape, np.float32), "Q4_0") for shape in right}
    wrong = [shape for shape in right if found[shape] != right[shape]]
    sentence = "" if not wrong else f"{list(wrong[0])} gets {found[wrong[0]]!r}, and must get {right[wrong[0]]!r}."
    require(not wrong, f"A matrix {sentence}", f"{found}")


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
        name: step.Stored(data.copy(), kept) for name, (data, kept) in in_format(format).items()
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
    kept = np.from_dlpack(result.weight)[: len(DATA)]
    equal(kept, DATA, BYTES, what="its weight", whose="it must be")
    has_bias(result, "The new layer")


@about("with_weight")
def test_other_modules(step):
    """Any other format or module gets the numbers as its weight: MAX has no product for Q8_0, and none for a table."""
    eight = gguf.quantize(NARROW[0], gguf.GGMLQuantizationType.Q8_0)
    numbers = {"Q8_0": gguf.dequantize(eight, gguf.GGMLQuantizationType.Q8_0), "Q4_0": gguf.dequantize(DATA, Q4_0)}
    for made, format, data in ((Linear, "Q8_0", eight), (Embedding, "Q4_0", DATA), (Linear, "F32", NARROW[0])):
        with F.lazy():
            module = made(96, len(data)) if made is Linear else made(len(data), dim=96)
        result = step.with_weight(module, "weight", step.Stored(data.copy(), format))
        what = f"a module {made.__name__} with a weight in {format}"
        require(result is not None, f"What comes back for {what} is None: is there a `return`?")
        is_value(what, kind_of(step, result), made.__name__)
        equal(result.weight, numbers.get(format, data), what=f"the weight of {what}", whose="it must be")


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
        kept = stored(step, format)
        if reverse:
            kept = dict(reversed(kept.items()))
        model = step.model_of(config, kept)
        for table in (model.transformer.wte, model.transformer.wpe):
            is_value(f"with {format}, the dtype of a table", table.weight.dtype.name, "float32")
        logits = run(model, reference["input"])
        right = reference[f"{format}_logits"]
        order = "biases first" if reverse else "weights first"
        equal(logits, right, ("batch", "token", "vocab"), what=f"{format}, {order}: the logits", tolerance=ROUGHLY)


@about("add_weights")
def test_file(step, config, stored, tmp_path):
    """Every weight is in the file by its name in GGUF, with its format and its bytes."""
    for format in FORMATS:
        kept = stored(step, format)
        file = tmp_path / f"{format}.gguf"
        step.save_gguf(file, config, kept)
        written = {tensor.name: tensor for tensor in gguf.GGUFReader(file).tensors}
        right = {step.gguf_name(name): one for name, one in kept.items()}
        more, fewer = sorted(written.keys() - right.keys()), sorted(right.keys() - written.keys())
        require(not fewer, f"{format}: the file lacks {', '.join(fewer[:3])}.", sorted(written))
        require(not more, f"{format}: the file has {', '.join(more[:3])}, which is no name in GGUF.", sorted(written))
        for name, one in right.items():
            is_value(f"{format}: the type of {name}", written[name].tensor_type.name, one.format)
            equal(np.array(written[name].data), one.data, what=f"{format}: {name}", whose="it must be")


@about("read_tensor")
def test_read(step, tmp_path, reference):
    """A tensor comes back as it is in the file, with its format's name, in each format that is read."""
    matrix = reference["matrix"]
    arrays = {"F32": matrix, "F16": matrix.astype(np.float16), **{name: reference[name] for name in (*FORMATS, "Q4_K")}}
    for tensor_ in tensors_in(tmp_path, arrays):
        stored = step.read_tensor(tensor_)
        name, right = tensor_.name, arrays[tensor_.name]
        kind = article(type(stored).__name__)
        require(isinstance(stored, step.Stored), f"read_tensor returns {kind}, and must return a Stored.", kind)
        is_value(f"{name}: the format", stored.format, name)
        equal(stored.data, right, what=f"{name}: the data", whose="it must be")


@about("read_tensor")
def test_copied(step, tmp_path, reference):
    """The data is a copy: an array in memory, which can be written to."""
    (found,) = tensors_in(tmp_path, {"Q8_0": reference["Q8_0"]})
    data = step.read_tensor(found).data
    mapped = isinstance(data, np.memmap) or not data.flags.writeable
    require(not mapped, "The data is still the file's own memory: copy it with np.array.", type(data).__name__)


@about("read_tensor")
def test_not_read(step, tmp_path, reference):
    """Another format is a ValueError that names the tensor and the format."""
    for format in ("Q5_0", "BF16", "F64"):
        kind = gguf.GGMLQuantizationType[format]
        matrix = reference["matrix"]
        data = matrix.astype(np.float64) if format == "F64" else gguf.quantize(matrix, kind)
        (found,) = tensors_in(tmp_path, {format: data}, "blk.0.ffn_up.weight")
        message = error_of(f"a tensor in {format}", lambda found=found: step.read_tensor(found))
        named = format in message and "blk.0.ffn_up.weight" in message
        require(named, f"The message is {message!r}; name the tensor and {format}.", message)


def tensors_in(folder: Path, arrays, name=None):
    """What the reader finds in a file that has arrays, by their formats."""
    file = folder / f"{'-'.join(arrays)}.gguf"
    writer = gguf.GGUFWriter(file, "gpt2")
    for format, array in arrays.items():
        writer.add_tensor(name or format, np.ascontiguousarray(array), raw_dtype=gguf.GGMLQuantizationType[format])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return gguf.GGUFReader(file).tensors


def drawn_matrix(draw, format):
    """A matrix none of whose numbers is near the middle between two steps, so that no way of rounding matters."""
    rows, count, end = draw.whole("rows", 2, 6), draw.whole("blocks", 1, 4), 127 if format == "Q8_0" else 8
    steps = draw.ids(2 * end - 3, rows, count, 32) - (end - 2.0) + np.where(draw.coins(rows, count, 32), 0.3, -0.3)
    steps[..., draw.whole("place of the largest", 0, 31)] = -end
    scales = (np.abs(draw.array(rows, count, 1)) + 0.01).astype(np.float16) * np.where(
        draw.coins(rows, count, 1), 1, -1
    )
    return (steps * scales).reshape(rows, -1).astype(np.float32)


@pytest.mark.drawn
@about("quantize")
def test_other_matrices(step, answer, draw):
    """A matrix whose size and numbers are drawn anew becomes the right bytes."""
    for format in FORMATS:
        matrix = drawn_matrix(draw, format)
        result, right = step.quantize(matrix, format), answer.quantize(matrix, format)
        equal(result, right, BYTES, what=format, whose="the solution's")


@pytest.mark.drawn
@about("dequantize")
def test_other_bytes(step, answer, draw):
    """Bytes that are drawn anew stand for the right numbers."""
    for format in FORMATS:
        data = answer.quantize(drawn_matrix(draw, format), format)
        result, right = step.dequantize(data, format), answer.dequantize(data, format)
        equal(result, right, what=format, whose="the solution's")


@pytest.mark.drawn
@about("forward")
def test_other_products(step, answer, draw):
    """A product whose sizes and numbers are drawn anew is right as well."""
    data = answer.quantize(drawn_matrix(draw, "Q4_0"), "Q4_0")
    weight, bias = answer.dequantize(data, "Q4_0"), draw.array(len(data))
    x = draw.array(draw.whole("batch", 1, 3), draw.whole("tokens", 1, 9), weight.shape[1])
    multiplied(run(linear(step, data, "Q4_0", tensor(bias)), x), x, weight, bias, "the output")


@pytest.mark.compiled
@about("forward")
def test_compiled(step, device):
    """MAX compiles the product for any number of sequences and tokens; it also rounds the inputs, to 8 bits."""
    graph = compiled(linear(step, DATA, "Q4_0", tensor(BIAS)), ["batch", "seq", 96], device=device)
    multiplied(graph(NARROW), NARROW, gguf.dequantize(DATA, Q4_0), BIAS, "the output")
