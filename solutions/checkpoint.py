"""Given in step 13: find a Hugging Face checkpoint, read it, and see whether the model can compute it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
from max.driver import CPU
from max.dtype import DType
from max.experimental import functional as F
from max.experimental.nn import Module
from max.experimental.tensor import default_device, default_dtype
from safetensors import SafetensorError, deserialize

from solutions.solution_01 import GPT2Config
from solutions.solution_11 import MaxGPT2LMHeadModel

Weights = dict[str, np.ndarray]  # by name
WTE, HEAD = "transformer.wte.weight", "lm_head.weight"  # in the model
CONV1D = (".c_attn.weight", ".c_proj.weight", ".c_fc.weight")  # stored as [in, out]; Linear wants [out, in]
MASK_BUFFERS = (".attn.bias", ".attn.masked_bias")  # the causal mask and its number, saved as if they were weights
OPENAI = ("gpt2", "gpt2-medium", "gpt2-large", "gpt2-xl")  # the published sizes, under openai-community on the hub

#: What config.json says of the computation: for each setting Hugging Face's default, and other names for the same.
SUPPORTED = {
    "activation_function": ("gelu_new", "gelu_pytorch_tanh", "gelu_python_tanh", "gelu_fast", "gelu_accurate"),
    "scale_attn_weights": (True,),
    "scale_attn_by_inverse_layer_idx": (False,),
}

#: NumPy's name of each dtype that is read: bfloat16 as integers, since NumPy has none; the last three for buffers.
DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "I64": "<i8", "U8": "u1", "BOOL": "?"}


def checkpoint_folder(name_or_folder: str | Path) -> Path:
    """Return a folder: the one given, or a download from Hugging Face's hub; raise ValueError if there is neither."""
    if Path(name_or_folder).is_dir():
        return Path(name_or_folder)
    from huggingface_hub import snapshot_download  # only a download needs it

    name = f"openai-community/{name_or_folder}" if name_or_folder in OPENAI else str(name_or_folder)
    try:
        return Path(snapshot_download(name, allow_patterns=["*.json", "*.safetensors"]))
    except Exception as error:  # of the hub, of the network or of the disk: it has many, with no base of their own
        raise ValueError(
            f"{name} is not a folder here, and could not be downloaded ({type(error).__name__}); "
            "check the name and the network"
        ) from error


def read_config(folder: Path) -> GPT2Config:
    """Return the configuration of a checkpoint; raise ValueError if it is unreadable, or not one of this model."""
    try:
        values = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ValueError(f"{folder} has no readable config.json: {error}") from error
    if not isinstance(values, dict):
        raise ValueError(f"{folder}/config.json holds no settings")
    if values.get("model_type") != "gpt2":
        raise ValueError(f"{folder} holds a {values.get('model_type')} model, not a gpt2")
    for name, allowed in SUPPORTED.items():
        if values.get(name, allowed[0]) not in allowed:
            raise ValueError(f"{folder} is a gpt2 with {name} = {values[name]!r}; this model has {allowed[0]!r}")
    sizes = {field.name: values[field.name] for field in fields(GPT2Config) if field.name in values}
    for name, size in sizes.items():
        default = getattr(GPT2Config, name)  # None for n_inner, a float for layer_norm_epsilon, else an integer
        if type(size) not in (int, type(default)) or (size is not None and not size > 0):  # NaN, too, is "not > 0"
            expected = "number" if isinstance(default, float) else "integer"
            raise ValueError(f"{folder} is a gpt2 with {name} = {size!r}; it must be a positive {expected}")
    return GPT2Config(**sizes)


def checkpoint_files(folder: Path) -> list[Path]:
    """Return ``model.safetensors``, or ``model-00001-of-00002`` and so on; raise ValueError if one is missing."""
    whole = folder / "model.safetensors"
    if whole.is_file():  # beside it, there may be the same weights in another form
        return [whole]
    files = sorted(folder.glob("model-?????-of-?????.safetensors"))
    if not files:
        raise ValueError(f"{folder} has no model.safetensors")
    count = files[0].stem[-5:]
    expected = [folder / f"model-{number:05}-of-{count}.safetensors" for number in range(1, int(count) + 1)]
    if missing := [file.name for file in expected if file not in files]:
        raise ValueError(f"{folder} lacks {', '.join(missing)}; download the rest of the checkpoint")
    return expected


def as_float32(entry: Mapping[str, Any]) -> np.ndarray:
    """Return as float32 a tensor that safetensors gave as dtype, shape and bytes."""
    array = np.frombuffer(entry["data"], DTYPES[entry["dtype"]]).reshape(entry["shape"])
    if entry["dtype"] == "BF16":  # the upper half of a float32
        return (array.astype(np.uint32) << 16).view(np.float32)
    return array.astype(np.float32, copy=False)


def read_checkpoint(folder: Path) -> Weights:
    """Read every tensor of a checkpoint as float32, by its name in the files; raise ValueError if a file is broken."""
    weights: Weights = {}
    for file in checkpoint_files(folder):
        try:
            weights |= {name: as_float32(entry) for name, entry in deserialize(file.read_bytes())}
        except (OSError, SafetensorError, KeyError) as error:
            raise ValueError(f"{file} cannot be read: {type(error).__name__}: {error}") from error
    return dict(sorted(weights.items()))  # they come in any order


def empty_model(config: GPT2Config) -> MaxGPT2LMHeadModel:
    """Return a model whose random weights are never computed, because others will replace them."""
    with F.lazy(), default_device(CPU()), default_dtype(DType.float32):
        return MaxGPT2LMHeadModel(config)


def check_weights(weights: Mapping[str, Any], model: Module[..., Any]) -> None:
    """Raise ValueError, with all that is wrong, if weights, each with a ``shape``, are not exactly those of a model."""
    expected = {name: tuple(map(int, weight.shape)) for name, weight in model.parameters}
    given = {name: weight.shape for name, weight in weights.items()}
    wrong = [f"{name} is missing" for name in expected if name not in given]
    wrong += [f"{name} is unknown" for name in given if name not in expected]
    wrong += [f"{name} is {has}, not {expected[name]}" for name, has in given.items() if has != expected.get(name, has)]
    if wrong:
        raise ValueError("the checkpoint does not fit the model: " + "; ".join(wrong))
