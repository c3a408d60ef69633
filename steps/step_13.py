"""Step 13: pretrained weights, from a Hugging Face checkpoint into the model."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from max.experimental import functional as F
from max.experimental.tensor import Tensor
from safetensors import SafetensorError
from safetensors.numpy import load_file

from solutions.solution_01 import GPT2Config
from solutions.solution_11 import MaxGPT2LMHeadModel

Weights = dict[str, np.ndarray]

PUBLISHED = ("gpt2", "gpt2-medium", "gpt2-large", "gpt2-xl")
CONV1D = (".c_attn.weight", ".c_proj.weight", ".c_fc.weight")  # kept [in, out]; Linear wants [out, in]
MASK_BUFFERS = (".attn.bias", ".attn.masked_bias")  # the causal mask, saved as if it were a weight


def checkpoint_folder(name_or_folder: str | Path) -> Path:
    """Return a folder with ``config.json`` and weights: the one given, or a download from Hugging Face's hub.

    Raises:
        ValueError: there is no such folder, and no such model could be downloaded.
    """
    if Path(name_or_folder).is_dir():
        return Path(name_or_folder)
    from huggingface_hub import snapshot_download

    name = f"openai-community/{name_or_folder}" if name_or_folder in PUBLISHED else str(name_or_folder)
    try:
        return Path(snapshot_download(name, allow_patterns=["*.json", "*.safetensors", "merges.txt"]))
    except Exception as error:
        raise ValueError(
            f"{name} is not a folder here, and could not be downloaded ({type(error).__name__}); "
            "is the name right, and is there a network?"
        ) from error


def read_config(folder: Path) -> GPT2Config:
    """Return the configuration of a checkpoint.

    Raises:
        ValueError: ``config.json`` is missing, is not JSON, or is for another architecture, which is named.
    """
    try:
        values = json.loads((folder / "config.json").read_text())
    except (OSError, ValueError) as error:
        raise ValueError(f"{folder} has no readable config.json: {error}") from error
    # TODO: Refuse a model_type other than gpt2; pick the fields that GPT2Config has. (4 lines)
    raise NotImplementedError


def read_checkpoint(folder: Path) -> Weights:
    """Read every tensor of a checkpoint, by its name in the file, as float32. The files stay as they are.

    Large checkpoints are cut into several files; ``model.safetensors.index.json`` then says under
    ``weight_map`` which tensor is in which file.

    Raises:
        ValueError: there are no weights, or a file is cut short or damaged; the file is named.
    """
    index = folder / "model.safetensors.index.json"
    # TODO: Name the files (those of the index, or the one), and gather what is in them. (8 lines)
    raise NotImplementedError


def convert_checkpoint(tensors: Mapping[str, np.ndarray]) -> Weights:
    """Return weights by the names and in the layout of :class:`MaxGPT2LMHeadModel`.

    The published checkpoints leave out the prefix ``transformer.`` and the head; newer ones
    have one or both. Nothing is dropped but the mask buffers, and a weight that is missing stays
    missing: :func:`check_weights` says so.
    """
    # TODO: Skip mask buffers, add the prefix, transpose Conv1D weights; tie the head to wte. (10 lines)
    raise NotImplementedError


def check_weights(weights: Mapping[str, np.ndarray], shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Refuse weights that are not exactly those of a model.

    Args:
        weights: what a checkpoint gave.
        shapes: the shape of every weight that the model has.

    Raises:
        ValueError: weights are missing, unknown or of another shape; every one is named.
    """
    # TODO: Three lists: missing, unknown, and wrongly shaped; raise if one of them has something in it. (9 lines)
    raise NotImplementedError


def load_pretrained(name_or_folder: str | Path) -> MaxGPT2LMHeadModel:
    """Load GPT-2 with the weights of a checkpoint: a folder, a published size or another name on the hub.

    Raises:
        ValueError: the checkpoint cannot be found or read, or is not of this model; the message says why.
    """
    folder = checkpoint_folder(name_or_folder)
    with F.lazy():  # so that the random weights that are about to be replaced are never computed
        model = MaxGPT2LMHeadModel(read_config(folder))
    shapes = {name: tuple(int(size) for size in weight.shape) for name, weight in model.parameters}
    weights = convert_checkpoint(read_checkpoint(folder))
    check_weights(weights, shapes)
    model.load_state_dict({name: Tensor.from_dlpack(array) for name, array in weights.items()})
    return model
