"""GGUF, the file in which llama.cpp keeps a model: its sizes, its tokenizer, and its weights, as they are stored."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import gguf
import numpy as np

from solutions.checkpoint import empty_model
from solutions.solution_01 import GPT2Config

READ = ("F32", "F16", "Q8_0", "Q4_0", "Q4_K", "Q6_K")  # the formats that are read here
END_OF_TEXT = "<|endoftext|>"

#: The name that each size of a model has in GGUF, after ``gpt2.``.
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
        return gguf.quant_shape_from_byte_shape(self.data.shape, gguf.GGMLQuantizationType[self.format])


def gguf_names(config: GPT2Config) -> dict[str, str]:
    """Return the name in GGUF of each weight of a model: ``blk.3.ffn_up.bias`` of ``transformer.h.3.mlp.c_fc.bias``."""
    table = gguf.get_tensor_name_map(gguf.MODEL_ARCH.GPT2, config.n_layer)
    return {name: table.get_name(name, (".weight", ".bias")) or name for name, _ in empty_model(config).parameters}


def save_gguf(file: str | Path, config: GPT2Config, stored: Mapping[str, Stored], tokenizer: Path) -> None:
    """Write a model into one file that llama.cpp and others read, too.

    Args:
        file: where to.
        config: of the model.
        stored: its weights, by their names in the model.
        tokenizer: Hugging Face's ``tokenizer.json``, without which llama.cpp does not know how to read or write text.
    """
    writer, names = gguf.GGUFWriter(file, "gpt2"), gguf_names(config)
    for size, name in SIZES.items():
        value = getattr(config, size)
        add = writer.add_float32 if isinstance(value, float) else writer.add_uint32
        add(f"gpt2.{name}", value)
    add_tokenizer(writer, tokenizer)
    for name, weight in stored.items():
        writer.add_tensor(names[name], weight.data, raw_dtype=gguf.GGMLQuantizationType[weight.format])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def add_tokenizer(writer: gguf.GGUFWriter, file: Path) -> None:
    """Write the tokens and merges of a byte-pair encoding as GPT-2's."""
    model = json.loads(file.read_text())["model"]
    tokens = sorted(model["vocab"], key=model["vocab"].__getitem__)
    kinds = [gguf.TokenType.CONTROL if token == END_OF_TEXT else gguf.TokenType.NORMAL for token in tokens]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types(kinds)
    if END_OF_TEXT in tokens:  # else llama.cpp takes token 11, which is a comma
        writer.add_bos_token_id(tokens.index(END_OF_TEXT))
        writer.add_eos_token_id(tokens.index(END_OF_TEXT))
    writer.add_token_merges([pair if isinstance(pair, str) else " ".join(pair) for pair in model["merges"]])


def read_gguf(file: str | Path) -> tuple[GPT2Config, dict[str, Stored]]:
    """Return the sizes of a model in a file, and its weights by their names in :class:`MaxGPT2LMHeadModel`.

    Raises:
        ValueError: the file is missing, cut short or no GGUF of a GPT-2, or has a weight in a format that is not read;
            the message names the file.
    """
    try:
        reader = gguf.GGUFReader(file)
        fields = {name: field.contents() for name, field in reader.fields.items() if name.startswith("gpt2.")}
        # The data is copied, because the file's own memory goes when the file is closed.
        stored = {tensor.name: Stored(np.array(tensor.data), tensor.tensor_type.name) for tensor in reader.tensors}
        sizes = {size: fields[f"gpt2.{name}"] for size, name in SIZES.items()}
        config = GPT2Config(vocab_size=stored["token_embd.weight"].shape[0], **sizes)
    except (OSError, ValueError, IndexError, KeyError) as error:
        raise ValueError(f"{file} is missing, cut short, or no GGUF file of a GPT-2: {error}") from error
    for name, weight in stored.items():
        if weight.format not in READ:
            raise ValueError(f"{file}: {name} is stored as {weight.format}, which is not read; {', '.join(READ)} are")
    names = {name: ours for ours, name in gguf_names(config).items()}
    return config, {names.get(name, name): weight for name, weight in stored.items()}
