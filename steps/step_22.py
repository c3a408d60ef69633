"""Step 22: small weights, in blocks of 32 numbers that share a scale: 8 or 4 bits for each number instead of 32."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from gguf import (
    GGMLQuantizationType,
    GGUFReader,
    GGUFWriter,
    ReaderTensor,
    TokenType,
    quant_shape_from_byte_shape,
    quants,
)
from max.experimental import functional as F
from max.experimental.nn import Linear, Module
from max.experimental.tensor import Tensor
from max.graph.quantization import QuantizationEncoding

from solutions.checkpoint import Weights, check_weights
from solutions.solution_01 import GPT2Config
from solutions.solution_11 import MaxGPT2LMHeadModel

BLOCK = 32  # numbers that share a scale
BYTES = {"Q8_0": 34, "Q4_0": 18}  # of a block in the formats that are written here: the scale takes two of them
MULTIPLIED = ("Q4_0", "Q4_K", "Q6_K")  # the formats that MAX multiplies as they are
ROWS = 32  # of which MAX wants a multiple in such a product
READ = ("F32", "F16", "Q8_0", *MULTIPLIED)

WTE, HEAD = "transformer.wte.weight", "lm_head.weight"
GGUF_NAMES = {
    "wte": "token_embd",
    "wpe": "position_embd",
    "ln_f": "output_norm",
    "lm_head": "output",
    "ln_1": "attn_norm",
    "attn.c_attn": "attn_qkv",
    "attn.c_proj": "attn_output",
    "ln_2": "ffn_norm",
    "mlp.c_fc": "ffn_up",
    "mlp.c_proj": "ffn_down",
}
SIZES = {
    "n_positions": "context_length",
    "n_embd": "embedding_length",
    "n_layer": "block_count",
    "n_head": "attention.head_count",
    "n_inner": "feed_forward_length",
    "layer_norm_epsilon": "attention.layer_norm_epsilon",
}


@dataclass(frozen=True)
class Stored:
    """A weight as a file keeps it: its numbers in ``F32`` or ``F16``, or the bytes of its rows in another format."""

    data: np.ndarray
    format: str

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the numbers that it stands for."""
        if self.data.dtype != np.uint8:
            return self.data.shape
        return quant_shape_from_byte_shape(self.data.shape, GGMLQuantizationType[self.format])


def to_blocks(weight: np.ndarray) -> np.ndarray:  # [out, in] -> [out, in / 32, 32]
    """Cut every row into blocks of 32 numbers.

    Raises:
        ValueError: the rows cannot be cut into whole blocks; the message has their width and the block's.
    """
    rows, width = weight.shape
    # TODO: Refuse a width that BLOCK does not divide; reshape. (3 lines)
    raise NotImplementedError


def scales_of(blocks: np.ndarray, format: str) -> np.ndarray:  # [out, block, 32] -> [out, block, 1]
    """Return what one step is worth in each block, such that its largest number is as many steps as there can be."""
    # TODO: Take the number of the largest size; Q8_0: its size over 127; Q4_0: the number itself over -8. (3 lines)
    raise NotImplementedError


def steps_of(blocks: np.ndarray, scales: np.ndarray, format: str) -> np.ndarray:  # [out, block, 32], [out, block, 1]
    """Return how many steps each number is, as int8: -127 to 127, or -8 to 7. In a block of zeros, all are 0."""
    # TODO: Divide where the scale is not 0 (np.divide has where=), round, keep within -127 … 127 or -8 … 7. (3 lines)
    raise NotImplementedError


def pack(halves: np.ndarray) -> np.ndarray:  # [..., 32] -> [..., 16]
    """Put two numbers of 0 to 15, uint8, into each byte: the first half of a block low, the second half high."""
    # TODO: The first 16 as they are, or'ed with the last 16, which are shifted by 4 bits. (1 line)
    raise NotImplementedError


def unpack(packed: np.ndarray) -> np.ndarray:  # [..., 16] -> [..., 32]
    """Return the numbers of 0 to 15 in their order: what :func:`pack` was given."""
    # TODO: The low four bits of every byte, then the high four, along the last axis. (1 line)
    raise NotImplementedError


def quantize(weight: np.ndarray, format: str) -> np.ndarray:  # [out, in] -> [out, bytes]
    """Return a matrix in blocks, as uint8: of each block a scale, as float16, and its numbers of 8 or 4 bits.

    Source: the functions ``quantize_row_q8_0_ref`` and ``quantize_row_q4_0_ref`` of llama.cpp.

    Raises:
        ValueError: blocks do not fit into the rows, or no such format is written here.
    """
    if format not in BYTES:
        raise ValueError(f"the format {format!r} is not written here; choose from {', '.join(BYTES)}")
    # TODO: Blocks, scales, steps; for Q4_0 add 8 and pack; join the bytes of the float16 scales and of these. (5 lines)
    raise NotImplementedError


def dequantize(data: np.ndarray, format: str) -> np.ndarray:  # [out, bytes] -> [out, in]
    """Return the numbers that a matrix in blocks stands for, as float32."""
    # TODO: Cut into blocks of BYTES; view two bytes as float16; the rest: steps, as float32; multiply. (4 lines)
    raise NotImplementedError


def numbers_of(stored: Stored) -> np.ndarray:
    """Return a stored weight as float32, in whatever format that is read here."""
    if stored.format in BYTES:
        return dequantize(stored.data, stored.format)
    return quants.dequantize(stored.data, GGMLQuantizationType[stored.format])


def pad_rows(data: np.ndarray) -> np.ndarray:  # [out, bytes] -> [more, bytes]
    """Add rows of zeros, since MAX computes ``ROWS`` outputs at a time; those of the added rows mean nothing."""
    return np.pad(data, [(0, -len(data) % ROWS), (0, 0)])


class QuantizedLinear(Module[[Tensor], Tensor]):
    """A linear layer that keeps its weights in blocks, so that a fraction of the bytes is read to multiply by them.

    MAX also rounds the inputs to 8 bits, in blocks of their own. The products then are of whole numbers.

    Args:
        stored: the weights, ``[out, bytes]``, in a format that MAX multiplies.
        bias: ``[out]``, or 0 for none, as in MAX's ``Linear``.
    """

    def __init__(self, stored: Stored, bias: Tensor | Literal[0]) -> None:
        self.encoding, self.out_dim = QuantizationEncoding(stored.format), len(stored.data)
        self.weight, self.bias = Tensor.from_dlpack(pad_rows(stored.data)), bias

    def forward(self, x: Tensor) -> Tensor:  # [..., in] -> [..., out]
        """Multiply by the transposed weights, and add the bias."""
        # TODO: F.qmatmul of encoding, None, x and weights; keep the first out_dim channels; add the bias. (2 lines)
        raise NotImplementedError


def format_of(name: str, weight: np.ndarray, format: str) -> str:
    """Return the format that a weight of a model is kept in: ``format`` if that makes it small, else ``F32``."""
    # TODO: Matrices and wte whose width BLOCK divides; not wpe, no bias, no gain. (2 lines)
    raise NotImplementedError


def quantize_weights(weights: Weights, format: str) -> dict[str, Stored]:
    """Return the weights of a model as they are stored, by name. A head that is equal to ``wte`` is left out."""
    tied = HEAD in weights and np.array_equal(weights[HEAD], weights[WTE])
    stored = {}
    for name, weight in weights.items():
        if not (tied and name == HEAD):
            kept = format_of(name, weight, format)
            stored[name] = Stored(weight if kept == "F32" else quantize(weight, kept), kept)
    return stored


def with_weight(module: Module[..., Tensor], leaf: str, stored: Stored) -> Module[..., Tensor]:
    """Give a module one of its weights, and return the module that computes with it.

    Args:
        module: a layer, a norm or a table of the model.
        leaf: ``weight`` or ``bias``.
        stored: the weight; MAX multiplies by a matrix as it is, if its format is in ``MULTIPLIED``.
    """
    # TODO: Of a Linear whose format is MULTIPLIED: a QuantizedLinear with its bias; else set the numbers. (4 lines)
    raise NotImplementedError


def model_of(config: GPT2Config, stored: Mapping[str, Stored]) -> MaxGPT2LMHeadModel:
    """Return a model that computes with stored weights; if they have no head, it is given that of ``wte``.

    Raises:
        ValueError: weights are missing, unknown or of another shape; the message names all of them.
    """
    stored = {HEAD: stored[WTE], **stored} if WTE in stored else stored
    with F.lazy():  # the random weights that are about to be replaced are never computed
        model = MaxGPT2LMHeadModel(config)
    shapes = {name: tuple(int(size) for size in weight.shape) for name, weight in model.parameters}
    check_weights({name: np.broadcast_to(np.float32(0), one.shape) for name, one in stored.items()}, shapes)
    modules = dict(model.descendants)
    for name, one in stored.items():
        path, _, leaf = name.rpartition(".")
        owner, _, place = path.rpartition(".")
        modules[path] = with_weight(modules[path], leaf, one)  # it may be another module, in the place of the old one
        setattr(modules[owner] if owner else model, place, modules[path])
    return model


def gguf_name(name: str) -> str:
    """Return the name that a weight has in GGUF: ``transformer.h.3.ln_1.bias`` is ``blk.3.attn_norm.bias``."""
    module, _, leaf = name.removeprefix("transformer.").rpartition(".")
    if not module.startswith("h."):
        return f"{GGUF_NAMES[module]}.{leaf}"
    _, number, module = module.split(".", maxsplit=2)
    return f"blk.{number}.{GGUF_NAMES[module]}.{leaf}"


def add_weights(writer: GGUFWriter, stored: Mapping[str, Stored]) -> None:
    """Give a file every weight, as it is stored, by its name in GGUF."""
    # TODO: Call writer.add_tensor for each: name, data, and as raw_dtype a GGMLQuantizationType. (2 lines)
    raise NotImplementedError


def save_gguf(
    file: str | Path, config: GPT2Config, stored: Mapping[str, Stored], tokenizer: str | Path | None = None
) -> None:
    """Write a model into one file that llama.cpp and others read, too.

    Args:
        file: where to.
        config: of the model.
        stored: its weights, by their names in the model.
        tokenizer: Hugging Face's ``tokenizer.json``, without which llama.cpp does not know how to read or write text.
    """
    writer = GGUFWriter(file, "gpt2")
    describe(writer, config)
    if tokenizer is not None:
        add_tokenizer(writer, Path(tokenizer))
    add_weights(writer, stored)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def describe(writer: GGUFWriter, config: GPT2Config) -> None:
    """Write the sizes of a model by the names that GGUF has for them."""
    writer.add_context_length(config.n_positions)
    writer.add_embedding_length(config.n_embd)
    writer.add_block_count(config.n_layer)
    writer.add_head_count(config.n_head)
    writer.add_feed_forward_length(config.n_inner or 4 * config.n_embd)
    writer.add_layer_norm_eps(config.layer_norm_epsilon)


def add_tokenizer(writer: GGUFWriter, file: Path) -> None:
    """Write the tokens and merges of a byte-pair encoding as GPT-2's."""
    model = json.loads(file.read_text())["model"]
    tokens = sorted(model["vocab"], key=model["vocab"].__getitem__)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types([TokenType.NORMAL] * len(tokens))
    writer.add_token_merges([pair if isinstance(pair, str) else " ".join(pair) for pair in model["merges"]])


def read_tensor(tensor: ReaderTensor) -> Stored:
    """Return a tensor of a file, copied, since the file's own memory goes when the file is closed.

    Raises:
        ValueError: it has a format that is not in ``READ``; the message names both.
    """
    # TODO: The name of its tensor_type is its format; refuse another than READ's; copy its data. (4 lines)
    raise NotImplementedError


def read_gguf(file: str | Path) -> tuple[GPT2Config, dict[str, Stored]]:
    """Return the sizes of a model in a file, and its weights by their names in :class:`MaxGPT2LMHeadModel`.

    Raises:
        ValueError: the file is missing, cut short or no GGUF, is of another architecture than GPT-2, has a weight in a
            format that is not read, or has no sizes; the message names the file.
    """
    try:
        reader = GGUFReader(file)
    except OSError as error:
        raise ValueError(f"{file} cannot be opened: {error.strerror}") from error
    except (ValueError, IndexError) as error:
        raise ValueError(f"{file} is cut short, or is no GGUF file") from error
    fields = {name: field.contents() for name, field in reader.fields.items() if not name.startswith("tokenizer.")}
    architecture = fields.get("general.architecture")
    if architecture != "gpt2":
        raise ValueError(f"{file} holds a {architecture} model, and this course builds gpt2")
    try:
        stored = {tensor.name: read_tensor(tensor) for tensor in reader.tensors}
        sizes = {name: fields[f"gpt2.{said}"] for name, said in SIZES.items()}
        config = GPT2Config(vocab_size=stored["token_embd.weight"].shape[0], **sizes)
    except KeyError as error:
        raise ValueError(f"{file} lacks {error.args[0]}") from error
    except ValueError as error:
        raise ValueError(f"{file} cannot be read: {error}") from error
    with F.lazy():
        names = {gguf_name(name): name for name, _ in MaxGPT2LMHeadModel(config).parameters}
    return config, {names.get(name, name): one for name, one in stored.items()}


def load_gguf(file: str | Path) -> MaxGPT2LMHeadModel:
    """Return the model of a file, which multiplies by its weights as they are in the file, where MAX can.

    Raises:
        ValueError: as :func:`read_gguf` and :func:`model_of` say.
    """
    config, stored = read_gguf(file)
    return model_of(config, stored)
