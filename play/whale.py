"""GPT-2 in NumPy, for the book: every tensor of the model in the box, from a sentence to its logits."""

import json
import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
from safetensors.numpy import load_file
from tokenizers import Tokenizer

from checker.course.steps import SMALL_MODEL

SENTENCE = "The whale struck the ship, and it sank."

#: The weights of a model by name and, once it has run, every tensor that it computed.
Tensors = dict[str, Any]
#: From the number of a layer, normalized tokens and the two matrices of their attention to its outputs.
Attention = Callable[[int, np.ndarray, np.ndarray, np.ndarray], np.ndarray]


def read(text: str = SENTENCE) -> Tensors:
    """Return a text's ``tokens`` and ``ids``, the ``vocabulary``, the weights, and every tensor up to the ``logits``.

    A weight has its name in the checkpoint, without ``transformer.``; a tensor that of the module which returns it.
    """
    t: Tensors = dict(_weights())
    t["vocabulary"] = [_tokenizer().decode([id]) for id in range(_config()["vocab_size"])]
    t["ids"] = _tokenizer().encode(text).ids
    t["tokens"] = [t["vocabulary"][id] for id in t["ids"]]
    forward(t, np.arange(len(t["ids"])), attend)
    return t


def next_id(ids: Sequence[int], positions: Sequence[int], attention: Attention) -> int:
    """Return the id of the likeliest token after ``ids``, which stand at ``positions``, with another attention.

    In every layer, ``attention(layer, x, W_qkv, W_o)`` gets ``x`` as ``[1, seq, embd + 1]`` and returns ``[1, seq,
    embd]``. The added channel is always 1, so the last row of ``W_qkv``, which is its bias, reaches every token.
    """

    def attend_otherwise(t: Tensors, layer: int, x: np.ndarray) -> np.ndarray:
        h = f"h.{layer}.attn"
        x = np.concatenate([x, np.ones((len(x), 1), np.float32)], axis=-1)[None]
        W_qkv = np.concatenate([t[f"{h}.c_attn.weight"], t[f"{h}.c_attn.bias"][None]])
        return attention(layer, x, W_qkv, t[f"{h}.c_proj.weight"])[0] + t[f"{h}.c_proj.bias"]

    t: Tensors = {**_weights(), "ids": list(ids)}
    forward(t, positions, attend_otherwise)
    return int(t["logits"][-1].argmax())


# ---------------------------------------------------------------- the whole model, as See it first shows it


def forward(t: Tensors, positions: Sequence[int] | np.ndarray, attend: Callable[..., np.ndarray]) -> None:
    """Put into ``t`` what the model computes from its ids, up to the logits."""
    x = t["embedding"] = t["wte.weight"][t["ids"]] + t["wpe.weight"][positions]
    for layer in range(_config()["n_layer"]):
        h = f"h.{layer}"
        x = x + attend(t, layer, norm(t, f"{h}.ln_1", x))
        u = linear(t, f"{h}.mlp.c_fc", norm(t, f"{h}.ln_2", x))
        gelu = u * (1 + np.tanh(math.sqrt(2 / math.pi) * (u + 0.044715 * u**3))) / 2
        x = t[h] = x + linear(t, f"{h}.mlp.c_proj", gelu)
    t["logits"] = norm(t, "ln_f", x) @ t["wte.weight"].T


def attend(t: Tensors, layer: int, x: np.ndarray) -> np.ndarray:
    """Return the output of a layer's attention."""
    h = f"h.{layer}.attn"
    qkv = linear(t, f"{h}.c_attn", x).reshape(len(x), 3, _config()["n_head"], -1)
    query, key, value = qkv.transpose(1, 2, 0, 3)  # each [head, seq, head_dim]
    scores = t[f"{h}.scores"] = query @ key.swapaxes(1, 2) / math.sqrt(query.shape[-1])
    weights = np.tril(np.exp(scores))  # the mask: no weight for later tokens (step 02 hides their scores)
    weights = t[f"{h}.weights"] = weights / weights.sum(-1, keepdims=True)
    return linear(t, f"{h}.c_proj", (weights @ value).swapaxes(0, 1).reshape(x.shape))


def norm(t: Tensors, name: str, x: np.ndarray) -> np.ndarray:
    """Return normalized tokens, times a gain, plus a bias."""
    x = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + _config()["layer_norm_epsilon"])
    x = t[name] = x * t[f"{name}.weight"] + t[f"{name}.bias"]
    return x


def linear(t: Tensors, name: str, x: np.ndarray) -> np.ndarray:
    """Return weighted sums of the channels, plus a bias."""
    x = t[name] = x @ t[f"{name}.weight"] + t[f"{name}.bias"]
    return x


@cache
def _tokenizer() -> Tokenizer:
    return Tokenizer.from_file(str(SMALL_MODEL / "tokenizer.json"))


@cache
def _config() -> dict[str, Any]:
    return json.loads((SMALL_MODEL / "config.json").read_text())  # type: ignore[no-any-return]


@cache
def _weights() -> dict[str, np.ndarray]:
    stored = load_file(SMALL_MODEL / "model.safetensors")
    return {name.removeprefix("transformer."): w.astype(np.float32) for name, w in stored.items()}
