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
    # Refuse a model_type other than gpt2; pick the fields that GPT2Config has. (4 lines)
    if values.get("model_type") != "gpt2":
        raise ValueError(f"{folder} holds a {values.get('model_type')} model, and this course builds gpt2")
    names = [field.name for field in dataclasses.fields(GPT2Config)]
    return GPT2Config(**{name: values[name] for name in names if name in values})


def checkpoint_files(folder: Path) -> list[Path]:
    """Return the files that hold the weights of a checkpoint, each once.

    Large checkpoints are cut into several files; ``model.safetensors.index.json`` then says under
    ``weight_map`` which tensor is in which file.
    """
    index = folder / "model.safetensors.index.json"
    # Return the files of the index's weight_map, each once; without an index, model.safetensors. (3 lines)
    if index.is_file():
        return sorted({folder / name for name in json.loads(index.read_text())["weight_map"].values()})
    return [folder / "model.safetensors"]


def read_tensors(file: Path) -> Weights:
    """Read every tensor of one file, by its name in the file. The file stays as it is.

    Raises:
        ValueError: the file is missing, cut short or damaged; the message names it.
    """
    # Load the file; turn an OSError or a SafetensorError into a ValueError that names it. (4 lines)
    try:
        return load_file(file)
    except (OSError, SafetensorError) as error:
        raise ValueError(f"{file} is missing, cut short or damaged: {error}") from error


def read_checkpoint(folder: Path) -> Weights:
    """Read every tensor of a checkpoint, by its name in the files, as float32.

    Raises:
        ValueError: as :func:`read_tensors` says.
    """
    # Gather the tensors of all files; return every one as float32. (4 lines)
    tensors: Weights = {}
    for file in checkpoint_files(folder):
        tensors |= read_tensors(file)
    return {name: tensor.astype(np.float32) for name, tensor in tensors.items()}


def name_in_model(name: str) -> str:
    """Return the name that a tensor of a checkpoint has in the model.

    The published checkpoints leave the prefix ``transformer.`` out; newer ones have it. The name of
    the head, ``lm_head.weight``, has no prefix in either.
    """
    # Put transformer. in front, unless the name begins with that or with lm_head. (1 line)
    return name if name.startswith(("transformer.", "lm_head.")) else f"transformer.{name}"


def tensor_in_model(name: str, tensor: np.ndarray) -> np.ndarray:  # Conv1D's [in, out] -> [out, in]; others as they are
    """Return a tensor of a checkpoint in the layout of the model, contiguous in memory.

    Args:
        name: the tensor's name, in the checkpoint or in the model; it tells which weights are a Conv1D's.
        tensor: what the checkpoint has under that name.
    """
    # Transpose the weight of a Conv1D and make it contiguous; any other tensor stays as it is. (1 line)
    return np.ascontiguousarray(tensor.T) if name.endswith(CONV1D) else tensor


def tie_head(weights: Weights) -> None:
    """Give the head the weights of ``wte``, in place, unless it has weights of its own.

    The names are those in the model. Without ``wte`` nothing happens: :func:`check_weights` says
    that both are missing.
    """
    # If wte is there, set lm_head.weight to it, unless that is there too. (2 lines)
    if "transformer.wte.weight" in weights:
        weights.setdefault("lm_head.weight", weights["transformer.wte.weight"])


def convert_checkpoint(tensors: Mapping[str, np.ndarray]) -> Weights:
    """Return weights by the names and in the layout of :class:`MaxGPT2LMHeadModel`.

    Nothing is dropped but the mask buffers, and a weight that is missing stays missing:
    :func:`check_weights` says so.
    """
    weights: Weights = {}
    # Store all but mask buffers, by name and in the layout of the model; tie the head. (5 lines)
    for name, tensor in tensors.items():
        if not name.endswith(MASK_BUFFERS):
            weights[name_in_model(name)] = tensor_in_model(name, tensor)
    tie_head(weights)
    return weights


def wrong_shapes(weights: Mapping[str, np.ndarray], shapes: Mapping[str, tuple[int, ...]]) -> list[str]:
    """Return a message for every weight of another shape than the model's, with its name and both shapes.

    A name that only one of the two has is left to :func:`check_weights`.
    """
    # Take the names in both, then those whose shapes differ; return a message for each. (3 lines)
    both = [name for name in shapes if name in weights]
    wrong = [name for name in both if weights[name].shape != shapes[name]]
    return [f"{name} is {weights[name].shape}, not {shapes[name]}" for name in wrong]


def check_weights(weights: Mapping[str, np.ndarray], shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Refuse weights that are not exactly those of a model.

    Args:
        weights: what a checkpoint gave.
        shapes: the shape of every weight that the model has.

    Raises:
        ValueError: weights are missing, unknown or of another shape; every one is named.
    """
    # List what is missing and what is unknown, and add the wrong shapes; raise if there is anything. (5 lines)
    missing = [f"{name} is missing" for name in shapes if name not in weights]
    unknown = [f"{name} is unknown" for name in weights if name not in shapes]
    problems = missing + unknown + wrong_shapes(weights, shapes)
    if problems:
        raise ValueError("the checkpoint does not fit the model: " + "; ".join(problems))


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
