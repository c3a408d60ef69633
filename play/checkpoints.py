"""Refuse a checkpoint that cannot run, by the headers of its files, before anything is loaded or compiled."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from safetensors import SafetensorError, safe_open

from checker.errors import UserError
from play.tokens import load_tokenizer
from solutions.checkpoint import (
    DTYPES,
    HEAD,
    check_weights,
    checkpoint_files,
    checkpoint_folder,
    empty_model,
    read_config,
)
from solutions.llama_config import LlamaConfig
from solutions.llama_files import Fields, empty_llama, open_llama
from solutions.solution_13 import convert_checkpoint
from solutions.solution_26 import EMBEDDINGS, hugging_face_name


def usable_checkpoint(name_or_folder: str | Path) -> Path:
    """Return the folder of a checkpoint whose configuration, tokenizer and weights fit each other.

    Raises:
        UserError: it cannot be found or read, a file is cut short, or the weights are not those of the model; the
            message names what it is.
    """
    folder = checkpoint_folder(name_or_folder)
    config, shapes = read_config(folder), stored_shapes(folder)
    if config.n_layer > len(shapes):  # each layer has several; building a million of them would take hours
        raise UserError(f"{folder} is a gpt2 with n_layer = {config.n_layer:,}, and has {len(shapes):,} tensors")
    model = empty_model(config)
    load_tokenizer(folder)
    weights: dict[str, np.ndarray] = {}
    for name, shape in sorted(shapes.items()):  # a head of its own before that of wte
        weights = convert_checkpoint({name: np.broadcast_to(np.float32(0), shape)}) | weights
    check_weights(weights, model)
    return folder


def usable_llama(file: Path) -> tuple[LlamaConfig, Fields]:
    """Return the sizes of the Llama in a GGUF file, if the weights have these sizes, and all fields of the file.

    Raises:
        ValueError: the file cannot be opened, see :func:`open_llama`, or its weights are not those of the model.
    """
    reader, config, fields = open_llama(file)
    shapes = {hugging_face_name(tensor.name): tensor.shape[::-1].tolist() for tensor in reader.tensors}
    weights = {name: np.broadcast_to(np.float32(0), shape) for name, shape in shapes.items()}
    check_weights({HEAD: weights[EMBEDDINGS], **weights}, empty_llama(config))
    return config, fields


def stored_shapes(folder: Path) -> dict[str, list[int]]:
    """Return the shape of every tensor of a checkpoint, by name, from the header of each file.

    Raises:
        UserError: a file is missing, is not as long as its header says, or has a tensor of an unknown dtype.
    """
    shapes: dict[str, list[int]] = {}
    for file in checkpoint_files(folder):
        try:
            with safe_open(file, "np") as opened:
                for name in opened.keys():  # noqa: SIM118, it is not a dict
                    stored = opened.get_slice(name)
                    shapes[name] = stored.get_shape()
                    if stored.get_dtype() not in DTYPES:
                        raise KeyError(stored.get_dtype())
        except (OSError, SafetensorError, KeyError) as error:
            raise UserError(f"{file} cannot be read: {type(error).__name__}: {error}") from error
    return shapes
