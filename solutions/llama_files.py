"""Given in step 26: a Llama in a GGUF file, its sizes, its weights, and what else it says, such as its tokenizer."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import gguf
import numpy as np
from max.driver import CPU
from max.dtype import DType
from max.experimental import functional as F
from max.experimental.tensor import default_device, default_dtype

from solutions.checkpoint import Weights, check_weights
from solutions.gguf_files import DTYPE_OF_FORMAT, read_tensor
from solutions.llama import LlamaForCausalLM
from solutions.llama_config import LlamaConfig
from solutions.solution_26 import BLOCK_LAYERS, LAYERS, Q4_1, convert_llama

Fields = dict[str, Any]

#: The dtype of each format whose blocks are read as they are; ``gguf`` makes float32 of others.
READ = DTYPE_OF_FORMAT | {gguf.GGMLQuantizationType.Q4_1: Q4_1}

#: The name that each size of a model has in GGUF, after ``llama.``; the embeddings say how large the vocabulary is.
SIZES = {
    "max_position_embeddings": "context_length",
    "hidden_size": "embedding_length",
    "intermediate_size": "feed_forward_length",
    "num_hidden_layers": "block_count",
    "num_attention_heads": "attention.head_count",
    "num_key_value_heads": "attention.head_count_kv",
    "head_dim": "rope.dimension_count",
    "rms_norm_eps": "attention.layer_norm_rms_epsilon",
    "rope_theta": "rope.freq_base",
}


class Reader(gguf.GGUFReader):
    """Cuts a file as a plain array: gguf takes three times as long, by a memmap for every token of the tokenizer."""

    @property
    def data(self) -> Any:
        """The bytes of the file, which are read when they are needed."""
        return self._data

    @data.setter
    def data(self, mapped: np.memmap) -> None:
        self._data = mapped.view(np.ndarray)


def open_llama(file: Path) -> tuple[Reader, LlamaConfig, Fields]:
    """Return what reads the weights of a model in a file, its sizes, and all fields of the file.

    Raise ValueError if the file is missing, cut short, or no Llama that this course can run; the message says why.
    """
    try:
        reader = Reader(file)
        fields = {name: field.contents() for name, field in reader.fields.items()}
        if fields["general.architecture"] != "llama":
            raise ValueError(f"its architecture is {fields['general.architecture']}")
        sizes = {size: fields[f"llama.{name}"] for size, name in SIZES.items()}
        shapes = {tensor.name: tensor.shape for tensor in reader.tensors}  # of a matrix, [in, out]
        config = LlamaConfig(vocab_size=int(shapes["token_embd.weight"][1]), **sizes)
    except (OSError, ValueError, IndexError, KeyError) as error:
        raise ValueError(f"{file} is missing, cut short, or no Llama that gguf can read: {error}") from error
    known = {name for name in shapes if name.endswith(".weight") and {*name.split(".")} & {*LAYERS, *BLOCK_LAYERS}}
    if others := shapes.keys() - known:
        raise ValueError(f"{file} is of another kind of Llama than this course's: it has {', '.join(sorted(others))}")
    if (scaling := fields.get("llama.rope.scaling.type", "none")) != "none":
        raise ValueError(f"{file} is of another kind of Llama than this course's: its angles are scaled ({scaling})")
    return reader, config, fields


def read_llama(file: Path) -> tuple[LlamaConfig, Weights, Fields]:
    """Return the sizes of a model in a file, its weights by their names in ``LlamaForCausalLM``, and all fields.

    Raise ValueError if ``open_llama`` does, or if a weight has a format that gguf cannot read; the message says which.
    """
    reader, config, fields = open_llama(file)
    try:
        weights = {tensor.name: read_tensor(tensor, READ) for tensor in reader.tensors}
    except NotImplementedError as error:
        raise ValueError(f"{file} is no Llama that gguf can read: {error}") from error
    return config, convert_llama(weights, config), fields


def load_llama(file: Path, context: int) -> tuple[LlamaForCausalLM, Fields]:
    """Load the model of a file, for texts of at most ``context`` tokens; return all fields of the file, too.

    Raise ValueError if ``read_llama`` does, or if the weights are not those of the model's sizes.
    """
    config, weights, fields = read_llama(file)
    longest = min(context, config.max_position_embeddings)
    model = empty_llama(dataclasses.replace(config, max_position_embeddings=longest))
    check_weights(weights, model)
    model.load_state_dict(weights)
    return model, fields


def empty_llama(config: LlamaConfig) -> LlamaForCausalLM:
    """Return a model whose random weights are never computed, because others will replace them."""
    with F.lazy(), default_device(CPU()), default_dtype(DType.float32):
        return LlamaForCausalLM(config)
