"""What SmolLM2, the model of step 26, does with our sentence, as it was recorded.

``python -m tools.book_maker.values.smollm2`` records it again, by the model in NumPy; the weights are those in the
user's cache, which `./run chat` fetches.
"""

import json
import math
from typing import Any

import numpy as np

from checker.course.steps import ROOT
from play.whale import read
from solutions.warmup_01 import softmax
from tools.book_maker.values.book_values import config as small

FILE = ROOT / "tools" / "benchmarks" / "figures" / "smollm2.json"
TEXT = "The whale struck the ship, and it"
GUESSES = 8  # of what comes next

Weights = dict[str, np.ndarray]


def forward(ids: list[int], weights: Weights, config: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the attention weights of every head, ``[layer, head, seq, seq]``, and the logits, ``[seq, vocab]``."""
    positions, pairs = np.arange(len(ids)), np.arange(config.head_dim // 2)
    angles = np.outer(positions, config.rope_theta ** (-2 * pairs / config.head_dim))
    past = np.tri(len(ids), dtype=bool)
    group = config.num_attention_heads // config.num_key_value_heads
    x, attention = weights["model.embed_tokens.weight"][ids], []

    def norm(x: np.ndarray, name: str) -> np.ndarray:
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + config.rms_norm_eps) * weights[f"{name}.weight"]

    def heads(x: np.ndarray, name: str) -> np.ndarray:  # [seq, embd] -> [head, seq, head_dim]
        return (x @ weights[f"{name}.weight"].T).reshape(len(ids), -1, config.head_dim).swapaxes(0, 1)

    def turned(x: np.ndarray) -> np.ndarray:
        first, second = np.split(x, 2, axis=-1)
        cos, sin = np.cos(angles), np.sin(angles)
        return np.concatenate([first * cos - second * sin, first * sin + second * cos], axis=-1)

    for layer in range(config.num_hidden_layers):
        block = f"model.layers.{layer}"
        normed = norm(x, f"{block}.input_layernorm")
        query, key, value = (heads(normed, f"{block}.self_attn.{name}_proj") for name in "qkv")
        key, value = (np.repeat(each, group, axis=0) for each in (turned(key), value))
        scores = turned(query) @ key.swapaxes(1, 2) / math.sqrt(config.head_dim)
        attention.append(softmax(np.where(past, scores, -np.inf)))
        merged = (attention[-1] @ value).swapaxes(0, 1).reshape(len(ids), -1)
        x = x + merged @ weights[f"{block}.self_attn.o_proj.weight"].T
        normed = norm(x, f"{block}.post_attention_layernorm")
        gate, up = (normed @ weights[f"{block}.mlp.{name}_proj.weight"].T for name in ("gate", "up"))
        x = x + (gate / (1 + np.exp(-gate)) * up) @ weights[f"{block}.mlp.down_proj.weight"].T
    return np.array(attention), norm(x, "model.norm") @ weights["model.embed_tokens.weight"].T


def measured(tokens: list[str], attention: np.ndarray, chances: np.ndarray, vocabulary: list[str]) -> dict[str, Any]:
    """Return which head takes the most from the ship and from the whale at the last token, and what may come next."""
    looks = {}
    for noun in (" ship", " whale"):
        taken = attention[:, :, -1, tokens.index(noun)]  # [layer, head]
        layer, head = (int(at) for at in np.unravel_index(taken.argmax(), taken.shape))
        looks[noun] = {"layer": layer, "head": head, "weights": attention[layer, head, -1].round(4).tolist()}
    guesses = [(vocabulary[token], round(float(chances[token]), 4)) for token in chances.argsort()[::-1][:GUESSES]]
    return {"tokens": tokens, "looks": looks, "guesses": guesses}


def record() -> None:
    """Run the model on our sentence, and write what it does."""
    from play.smollm2 import cached_file
    from solutions.gguf_tokenizer import tokenizer_of
    from solutions.llama_files import read_llama

    config, weights, fields = read_llama(cached_file())
    tokenizer = tokenizer_of(fields)
    ids = tokenizer.encode(TEXT, add_special_tokens=False).ids
    attention, logits = forward(ids, {name: np.asarray(each, np.float32) for name, each in weights.items()}, config)
    vocabulary = [tokenizer.decode([token]) for token in range(tokenizer.get_vocab_size())]
    found = measured([vocabulary[token] for token in ids], attention, softmax(logits[-1]), vocabulary)
    FILE.write_text(json.dumps(found, indent=1) + "\n")


RECORDED: dict[str, Any] = json.loads(FILE.read_text())


def look(noun: str) -> dict[str, Any]:
    """Return the head that takes the most from a noun: its layer, its number, and what it takes from each token."""
    return RECORDED["looks"][noun]


def taken(noun: str) -> float:
    """Return how much that head takes from the noun."""
    return look(noun)["weights"][RECORDED["tokens"].index(noun)]


def taken_by_the_small_model(noun: str) -> float:
    """Return the most that a head of the small model takes from the noun."""
    whale = read(TEXT)
    at = whale["tokens"].index(noun)
    return float(max(whale[f"h.{layer}.attn.weights"][:, -1, at].max() for layer in range(small.n_layer)))


def guess(token: str) -> tuple[int, float]:
    """Return which guess a token is, from 1, and its probability."""
    tokens = [name for name, _ in RECORDED["guesses"]]
    return tokens.index(token) + 1, RECORDED["guesses"][tokens.index(token)][1]


if __name__ == "__main__":
    record()
