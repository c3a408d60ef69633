"""Given in step 22: a GPT-2 in GGUF, llama.cpp's file of a model: sizes, tokenizer, and weights, in blocks or not."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

import gguf
import numpy as np

from solutions.checkpoint import HEAD, WTE, Weights, empty_model
from solutions.solution_01 import GPT2Config
from solutions.solution_22 import Q4_0, Q8_0

END_OF_TEXT = "<|endoftext|>"

#: GGUF's format for each dtype of a weight.
FORMAT_OF_DTYPE = {
    np.dtype(np.float32): gguf.GGMLQuantizationType.F32,
    Q8_0: gguf.GGMLQuantizationType.Q8_0,
    Q4_0: gguf.GGMLQuantizationType.Q4_0,
}
DTYPE_OF_FORMAT = {gguf_format: dtype for dtype, gguf_format in FORMAT_OF_DTYPE.items()}

#: GGUF's name, after ``gpt2.``, of each field of ``GPT2Config`` but ``vocab_size``, which is the length of a table.
SIZES = {
    "n_positions": "context_length",
    "n_embd": "embedding_length",
    "n_layer": "block_count",
    "n_head": "attention.head_count",
    "n_inner": "feed_forward_length",
    "layer_norm_epsilon": "attention.layer_norm_epsilon",
}


def gguf_names(config: GPT2Config) -> dict[str, str]:
    """Return the name in GGUF of each weight of a model: ``blk.3.ffn_up.bias`` of ``transformer.h.3.mlp.c_fc.bias``."""
    table = gguf.get_tensor_name_map(gguf.MODEL_ARCH.GPT2, config.n_layer)
    return {name: table.get_name(name, (".weight", ".bias")) or name for name, _ in empty_model(config).parameters}


def save_gguf(file: Path, config: GPT2Config, weights: Weights, tokenizer: Path) -> None:
    """Write a model into one file that llama.cpp and others read, too.

    Args:
        file: the file to write.
        config: the sizes of the model.
        weights: by their names in the model, each in float32 or in blocks; a head that is equal to ``wte`` is left out.
        tokenizer: Hugging Face's ``tokenizer.json``, without which llama.cpp does not know how to read or write text.
    """
    writer = gguf.GGUFWriter(file, "gpt2")
    values = asdict(config) | {"n_inner": config.inner_dim}
    for field, key in SIZES.items():
        add = writer.add_float32 if field == "layer_norm_epsilon" else writer.add_uint32
        add(f"gpt2.{key}", values[field])
    add_tokenizer(writer, tokenizer)
    names = gguf_names(config)
    for name, weight in weights.items():
        if name != HEAD or weight.dtype != weights[WTE].dtype or not np.array_equal(weight, weights[WTE]):
            writer.add_tensor(names[name], weight.view(np.uint8), raw_dtype=FORMAT_OF_DTYPE[weight.dtype])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def add_tokenizer(writer: gguf.GGUFWriter, tokenizer: Path) -> None:
    """Write a tokenizer of GPT-2's kind: a byte-pair encoding's tokens and merges, and which token ends a text."""
    model = json.loads(tokenizer.read_text(encoding="utf-8"))["model"]
    tokens = sorted(model["vocab"], key=model["vocab"].get)
    token_types = [gguf.TokenType.CONTROL if token == END_OF_TEXT else gguf.TokenType.NORMAL for token in tokens]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types(token_types)
    if END_OF_TEXT in tokens:  # left unset, both are token 11 in llama.cpp: a comma, in GPT-2's vocabulary
        writer.add_bos_token_id(tokens.index(END_OF_TEXT))
        writer.add_eos_token_id(tokens.index(END_OF_TEXT))
    writer.add_token_merges([pair if isinstance(pair, str) else " ".join(pair) for pair in model["merges"]])


def read_gguf(file: Path) -> tuple[GPT2Config, Weights]:
    """Return the sizes of a model in a file, and its weights by their names in ``MaxGPT2LMHeadModel``.

    Raise ValueError if the file is missing, cut short, or no GPT-2 that gguf can read.
    """
    try:
        reader = gguf.GGUFReader(file)
        values = {name: field.contents() for name, field in reader.fields.items() if name.startswith("gpt2.")}
        tensors = {tensor.name: read_tensor(tensor) for tensor in reader.tensors}
        sizes = {field: values[f"gpt2.{key}"] for field, key in SIZES.items()}
        config = GPT2Config(vocab_size=len(tensors["token_embd.weight"]), **sizes)
    except (OSError, ValueError, IndexError, KeyError, NotImplementedError) as error:
        raise ValueError(f"{file} is missing, cut short, or no GPT-2 that gguf can read: {error}") from error
    ours = {theirs: name for name, theirs in gguf_names(config).items()}
    weights = {ours.get(name, name): tensor for name, tensor in tensors.items()}
    return config, {HEAD: weights[WTE]} | weights  # WTE is there: its rows are the vocabulary


def read_tensor(
    tensor: gguf.ReaderTensor, dtypes: Mapping[gguf.GGMLQuantizationType, np.dtype] = DTYPE_OF_FORMAT
) -> np.ndarray:
    """Return a weight as the file has it if its format has a dtype; from any other format, its numbers as float32."""
    if tensor.tensor_type not in dtypes:
        return gguf.dequantize(tensor.data, tensor.tensor_type)
    # A copy: the reader only maps the file, which may be written again while the weights are in use.
    return np.array(tensor.data).view(dtypes[tensor.tensor_type])
