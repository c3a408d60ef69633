"""GPT-2 in NumPy, for the book: every tensor of the model in the box, from a sentence to its logits."""

import json
import math
from typing import Any

import numpy as np
from safetensors.numpy import load_file
from tokenizers import Tokenizer

from checker.course.steps import SMALL_MODEL

SENTENCE = "The whale struck the ship, and it sank."


def read(text: str = SENTENCE) -> dict[str, Any]:
    """Return a text's ``tokens`` and ``ids``, the ``vocabulary``, the weights, and every tensor up to the ``logits``.

    A weight has its name in the checkpoint, without ``transformer.``; a tensor that of the module which returns it.
    """
    tokenizer = Tokenizer.from_file(str(SMALL_MODEL / "tokenizer.json"))
    config = json.loads((SMALL_MODEL / "config.json").read_text())
    stored = load_file(SMALL_MODEL / "model.safetensors")
    t: dict[str, Any] = {name.removeprefix("transformer."): w.astype(np.float32) for name, w in stored.items()}
    t["vocabulary"] = [tokenizer.decode([id]) for id in range(config["vocab_size"])]
    ids = t["ids"] = tokenizer.encode(text).ids
    t["tokens"] = [t["vocabulary"][id] for id in ids]

    def linear(name: str, x: np.ndarray) -> np.ndarray:
        t[name] = x @ t[f"{name}.weight"] + t[f"{name}.bias"]
        return t[name]

    def norm(name: str, x: np.ndarray) -> np.ndarray:
        x = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + config["layer_norm_epsilon"])
        t[name] = x * t[f"{name}.weight"] + t[f"{name}.bias"]
        return t[name]

    x = t["embedding"] = t["wte.weight"][ids] + t["wpe.weight"][: len(ids)]
    for h in (f"h.{layer}" for layer in range(config["n_layer"])):
        qkv = linear(f"{h}.attn.c_attn", norm(f"{h}.ln_1", x)).reshape(len(ids), 3, config["n_head"], -1)
        query, key, value = qkv.transpose(1, 2, 0, 3)  # each [head, seq, head_dim]
        scores = query @ key.swapaxes(1, 2) / math.sqrt(query.shape[-1])
        t[f"{h}.attn.scores"] = scores
        weights = np.tril(np.exp(scores))  # the mask: no weight for later tokens (step 02 hides their scores)
        weights = t[f"{h}.attn.weights"] = weights / weights.sum(-1, keepdims=True)
        x = x + linear(f"{h}.attn.c_proj", (weights @ value).swapaxes(0, 1).reshape(x.shape))
        u = linear(f"{h}.mlp.c_fc", norm(f"{h}.ln_2", x))
        gelu = u * (1 + np.tanh(math.sqrt(2 / math.pi) * (u + 0.044715 * u**3))) / 2
        x = t[h] = x + linear(f"{h}.mlp.c_proj", gelu)
    t["logits"] = norm("ln_f", x) @ t["wte.weight"].T
    return t
