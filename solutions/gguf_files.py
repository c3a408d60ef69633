"""GGUF, the file in which llama.cpp keeps a model: its sizes, its tokenizer, and its weights, as they are stored."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from gguf import GGMLQuantizationType, GGUFReader, GGUFWriter, ReaderTensor, TokenType, quant_shape_from_byte_shape
from max.experimental import functional as F

from solutions.solution_01 import GPT2Config
from solutions.solution_11 import MaxGPT2LMHeadModel

READ = ("F32", "F16", "Q8_0", "Q4_0", "Q4_K", "Q6_K")  # the formats that are read here
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
END_OF_TEXT = "<|endoftext|>"

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


def gguf_name(name: str) -> str:
    """Return the name that a weight has in GGUF: ``transformer.h.3.ln_1.bias`` is ``blk.3.attn_norm.bias``."""
    module, _, leaf = name.removeprefix("transformer.").rpartition(".")
    if not module.startswith("h."):
        return f"{GGUF_NAMES[module]}.{leaf}"
    _, number, module = module.split(".", maxsplit=2)
    return f"blk.{number}.{GGUF_NAMES[module]}.{leaf}"


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


def add_weights(writer: GGUFWriter, stored: Mapping[str, Stored]) -> None:
    """Write every weight as it is stored, by its name in GGUF."""
    for name, weight in stored.items():
        writer.add_tensor(gguf_name(name), weight.data, raw_dtype=GGMLQuantizationType[weight.format])


def describe(writer: GGUFWriter, config: GPT2Config) -> None:
    """Write the sizes of a model by the names that GGUF has for them."""
    writer.add_context_length(config.n_positions)
    writer.add_embedding_length(config.n_embd)
    writer.add_block_count(config.n_layer)
    writer.add_head_count(config.n_head)
    writer.add_feed_forward_length(config.n_inner)
    writer.add_layer_norm_eps(config.layer_norm_epsilon)


def add_tokenizer(writer: GGUFWriter, file: Path) -> None:
    """Write the tokens and merges of a byte-pair encoding as GPT-2's."""
    model = json.loads(file.read_text())["model"]
    tokens = sorted(model["vocab"], key=model["vocab"].__getitem__)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types([TokenType.CONTROL if token == END_OF_TEXT else TokenType.NORMAL for token in tokens])
    if END_OF_TEXT in tokens:  # else llama.cpp takes token 11, which is a comma
        writer.add_bos_token_id(tokens.index(END_OF_TEXT))
        writer.add_eos_token_id(tokens.index(END_OF_TEXT))
    writer.add_token_merges([pair if isinstance(pair, str) else " ".join(pair) for pair in model["merges"]])


def read_tensor(tensor: ReaderTensor) -> Stored:
    """Return a tensor of a file, copied, because the file's own memory goes when the file is closed.

    Raises:
        ValueError: its format is not in ``READ``; the message names both.
    """
    format = tensor.tensor_type.name
    if format not in READ:
        raise ValueError(f"{tensor.name} is stored as {format}, which is not read here; {', '.join(READ)} are")
    return Stored(np.array(tensor.data), format)


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
        sizes = {name: fields[f"gpt2.{field}"] for name, field in SIZES.items()}
        config = GPT2Config(vocab_size=stored["token_embd.weight"].shape[0], **sizes)
    except KeyError as error:
        raise ValueError(f"{file} lacks {error.args[0]}") from error
    except ValueError as error:
        raise ValueError(f"{file} cannot be read: {error}") from error
    with F.lazy():
        names = {gguf_name(name): name for name, _ in MaxGPT2LMHeadModel(config).parameters}
    return config, {names.get(name, name): weight for name, weight in stored.items()}
