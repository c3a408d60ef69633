"""What SmolLM2, the model of step 26, does with our sentence, as it was recorded.

``python -m tools.book_maker.values.smollm2`` records it again, by the model in NumPy; the weights are those in the
user's cache, which `./run chat` fetches.
"""

import dataclasses
import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from checker.course.steps import SMALL_MODEL
from checker.files import ROOT
from play.training.texts import moby_dick
from play.whale import read
from solutions.solution_12 import Sampling
from solutions.solution_27 import END, NucleusSampling, answer, chat_ids
from solutions.warmup_01 import softmax
from tools.book_maker.values import heads as of_small
from tools.book_maker.values.book_values import config as small

FILE = ROOT / "tools" / "benchmarks" / "figures" / "smollm2.json"
TEXT = "The whale struck the ship, and it"
VARIANTS = (
    TEXT,
    "The ship struck the whale, and it",
    "The whale struck the ship near the island, and it",
    "The ship was struck by the whale, and it",
    "The whale near the island struck the ship, and it",
)
ASIDE = "The whale struck, near the island, the ship, and it"  # the page's answer, not in its table
NOUNS = (" ship", " whale", " island")
TWICE = f"{TEXT} sank. {TEXT} sank."
NEW_TOKENS = 14  # after the text
READS = 1000  # letters of Moby Dick
PROMPTS = ("The capital of France is", "She opened the")  # after the first, few tokens are likely
TOP_P, TOP_K = 0.9, 40
QUESTIONS = ("What is the capital of France?", "And of Italy?")
STORY = ["Write the first sentence of a story about a whale."]
SEED, LONGEST = 0, 40  # LONGEST: tokens of an answer
ASKED = "Who wrote Moby Dick?"  # of the small model
WHAT_SANK = [f"The {text}, and it sank. What sank?" for text in ("whale struck the ship", "ship struck the whale")]

Weights = dict[str, np.ndarray]


def forward(
    ids: list[int], weights: Weights, config: Any, gates: list[np.ndarray] | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the attention weights of every head, ``[layer, head, seq, seq]``, and the logits, ``[seq, vocab]``.

    The list ``gates`` gets what multiplies the MLP's channels in each layer, ``[seq, inner]``.
    """
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
        gate = gate / (1 + np.exp(-gate))
        if gates is not None:
            gates.append(gate)
        x = x + (gate * up) @ weights[f"{block}.mlp.down_proj.weight"].T
    return np.array(attention), norm(x, "model.norm") @ weights["model.embed_tokens.weight"].T


def measured(tokens: list[str], attention: np.ndarray) -> dict[str, Any]:
    """Return which head takes the most from the ship and from the whale at the last token."""
    looks = {}
    for noun in (" ship", " whale"):
        weights_on_noun = attention[:, :, -1, tokens.index(noun)]  # [layer, head]
        layer, head = (int(at) for at in np.unravel_index(weights_on_noun.argmax(), weights_on_noun.shape))
        looks[noun] = {"layer": layer, "head": head, "weights": attention[layer, head, -1].round(4).tolist()}
    return {"tokens": tokens, "looks": looks}


def read_and_written(weights: Weights, config: Any, tokenizer: Any) -> dict[str, Any]:
    """Return the loss after each token of some letters of Moby Dick, on average, and how our text goes on."""
    ids = tokenizer.encode((SMALL_MODEL / "moby_dick.txt").read_text(encoding="utf-8")[:READS]).ids
    chances = softmax(forward(ids, weights, config)[1])[range(len(ids) - 1), ids[1:]]
    written = tokenizer.encode(TEXT).ids
    for _ in range(NEW_TOKENS):
        written = [*written, int(forward(written, weights, config)[1][-1].argmax())]
    return {"loss": float(-np.log(chances).mean()), "text": tokenizer.decode(written)}


def conversation(
    weights: Weights, config: Any, tokenizer: Any, sampling: Sampling, questions: Sequence[str] = QUESTIONS
) -> list[dict[str, Any]]:
    """Return each question with its answer, and how many tokens the model was given for it."""
    messages, turns, rng = list[tuple[str, str]](), list[dict[str, Any]](), np.random.default_rng(SEED)
    end = tokenizer.token_to_id(END)
    for question in questions:
        messages.append(("user", question))
        ids = chat_ids(tokenizer, messages)
        drawn = answer(lambda x: forward(x[0], weights, config)[1][None], ids, LONGEST, sampling, end_id=end, rng=rng)
        said = list(drawn)
        messages.append(("assistant", tokenizer.decode(said)))
        is_cut = len(said) == LONGEST
        turns.append({"question": question, "answer": messages[-1][1], "is cut": is_cut, "tokens": ids.shape[1]})
    return turns


def of_the_small_model(text: str) -> str:
    """Return how the small model, which knows no conversations, greedily continues a text."""
    written = text
    for _ in range(NEW_TOKENS):
        whale = read(written)
        written += whale["vocabulary"][int(whale["logits"][-1].argmax())]
    return written.removeprefix(text).strip()


def gates_of_it(weights: Weights, config: Any, tokenizer: Any) -> dict[str, float]:
    """Return which shares of all layers' gates flip the sign, are nearly closed, let a part through or amplify at it.

    The shares add up to 1. The widest gate is returned with them.
    """
    gates: list[np.ndarray] = []
    forward(tokenizer.encode(TEXT).ids, weights, config, gates)
    of_it = np.array(gates)[:, -1]
    closed = abs(of_it) < 0.1
    shares = {"flip": ~closed & (of_it < 0), "closed": closed, "part": ~closed & (of_it > 0) & (of_it <= 1)}
    shares["amplify"] = of_it > 1
    return {name: float(share.mean()) for name, share in shares.items()} | {"widest": float(of_it.max())}


def looked_at(weights: Weights, config: Any, tokenizer: Any, ships_head: dict[str, Any]) -> dict[str, Any]:
    """Return which heads take the most from each kind of token in chapter 30, and what two heads do in our sentence."""
    length, ids = of_small.FIGURES["tokens of a stretch"], np.array(tokenizer.encode(moby_dick()[30]).ids)
    stretches = ids[: len(ids) // length * length].reshape(-1, length)
    repeated = of_small.repeated(config.vocab_size)

    def attention(windows: np.ndarray) -> np.ndarray:
        return np.stack([forward(window.tolist(), weights, config)[0] for window in windows])

    shares = of_small.measured(stretches, attention(stretches))
    shares[of_small.REPEATED] = of_small.measured(repeated, attention(repeated))["the token after an earlier copy"]
    found: dict[str, Any] = {"highest": {kind: of_small.highest(of_heads) for kind, of_heads in shares.items()}}
    found["mostly the first token"] = int((shares["the first token"] > 0.5).sum())
    ids = tokenizer.encode(TWICE).ids
    attended, logits = forward(ids, weights, config)
    _, layer, head = found["highest"][of_small.REPEATED]
    found["twice"] = {
        "tokens": [tokenizer.decode([token]) for token in ids],
        "weights": attended[layer, head].round(4).tolist(),
        "chances": softmax(logits)[range(len(ids) - 1), ids[1:]].round(4).tolist(),  # of each token that follows
    }
    found["variants"] = {}
    for text in (*VARIANTS, ASIDE):
        ids = tokenizer.encode(text).ids
        tokens = [tokenizer.decode([token]) for token in ids]
        last_weights = forward(ids, weights, config)[0][ships_head["layer"], ships_head["head"], -1]
        found["variants"][text] = {noun: float(last_weights[tokens.index(noun)]) for noun in NOUNS if noun in tokens}
    return found


def record() -> None:
    """Run the model on our sentence and on others, and write what it does."""
    from play.smollm2 import cached_file
    from solutions.gguf_tokenizer import tokenizer_of
    from solutions.llama_files import READ, convert_llama, open_llama, read_tensor

    reader, config, fields = open_llama(cached_file())
    raw, tokenizer = {tensor.name: read_tensor(tensor, READ) for tensor in reader.tensors}, tokenizer_of(fields)
    weights, sizes = convert_llama(raw, config), ("num_attention_heads", "num_key_value_heads")
    pairs = {size: getattr(config, size) * config.head_dim // 2 for size in sizes}
    forgotten = convert_llama(raw, dataclasses.replace(config, **pairs))  # in heads of one pair, no row is moved

    def chances(text: str) -> np.ndarray:
        return softmax(forward(tokenizer.encode(text).ids, weights, config)[1][-1])

    def talks(sampling: Sampling) -> list[dict[str, Any]]:
        return [
            turn for asked in (QUESTIONS, STORY) for turn in conversation(weights, config, tokenizer, sampling, asked)
        ]

    def nouns_after(text: str) -> list[float]:
        return [float(chances(text)[tokenizer.encode(noun).ids[0]]) for noun in (" ship", " whale")]

    greedy, ids = Sampling(temperature=0), tokenizer.encode(TEXT).ids
    after = {text: chances(text) for text in PROMPTS}
    nucleus = {text: NucleusSampling(top_p=TOP_P).probabilities(np.log(p[None])) for text, p in after.items()}
    found = measured([tokenizer.decode([token]) for token in ids], forward(ids, weights, config)[0])
    found |= {
        "heads": looked_at(weights, config, tokenizer, found["looks"][" ship"]),
        "gates": gates_of_it(weights, config, tokenizer),
        "block": raw["blk.0.attn_q.weight"].tobytes()[:20].hex(),
        "in order": read_and_written(weights, config, tokenizer),
        "forgotten": read_and_written(forgotten, config, tokenizer),
        "nucleus": {text: int((p > 0).sum()) for text, p in nucleus.items()},
        "likeliest": {text: float(p.max()) for text, p in after.items()},
        "favorite": {text: tokenizer.decode([int(p.argmax())]) for text, p in after.items()},
        "top k": {text: float(np.sort(p)[-TOP_K:].sum()) for text, p in after.items()},
        "small model": of_the_small_model(ASKED),
        "greedy": talks(greedy),
        "drawn": talks(NucleusSampling(top_p=TOP_P)),
        "from all": talks(NucleusSampling()),
        "ship, whale": [nouns_after(f"{asked} The") for asked in WHAT_SANK],
        "what sank": [conversation(weights, config, tokenizer, greedy, [each])[0]["answer"] for each in WHAT_SANK],
    }
    FILE.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


RECORDED: dict[str, Any] = json.loads(FILE.read_text())


def look(noun: str) -> dict[str, Any]:
    """Return the head that takes the most from a noun: its layer, its number, and what it takes from each token."""
    return RECORDED["looks"][noun]


def taken(noun: str) -> float:
    """Return how much that head takes from the noun."""
    return look(noun)["weights"][RECORDED["tokens"].index(noun)]


def variants() -> str:
    """Return the rows of the page's table of sentences: what the ship's head takes from each noun, the most in bold."""
    rows = []
    for text in VARIANTS:
        shares = RECORDED["heads"]["variants"][text]
        cells = {noun: f"{share:.2f}" for noun, share in shares.items()}
        cells[max(shares, key=shares.get)] = f"**{max(shares.values()):.2f}**"
        rows.append(f"| *{text}* | {' | '.join(cells.get(noun, '') for noun in NOUNS)} |")
    return "\n".join(rows)


def aside() -> dict[str, float]:
    """Return how much that head takes from each noun where another noun is put between the verb and its object."""
    shares: dict[str, float] = RECORDED["heads"]["variants"][ASIDE]
    return shares


def highest(kind: str) -> str:
    """Return cells of the page's table of heads: the highest share of a head of SmolLM2, and its head."""
    share, layer, head = RECORDED["heads"]["highest"][kind]
    return f"{share:.1%} | layer {layer}, head {head}"


def taken_by_the_small_model(noun: str) -> float:
    """Return the most that a head of the small model takes from the noun."""
    whale = read(TEXT)
    at = whale["tokens"].index(noun)
    return float(max(whale[f"h.{layer}.attn.weights"][:, -1, at].max() for layer in range(small.n_layer)))


def chances_of_sank() -> tuple[float, float]:
    """Return the probability of what follows it, where our sentence is read for the first and for the second time."""
    twice = RECORDED["heads"]["twice"]
    first, second = (twice["chances"][at] for at, token in enumerate(twice["tokens"]) if token == " it")
    return first, second


def conversations() -> str:
    """Return the recorded answers as a table: each question, the greedy answer, and those that were drawn."""
    names = {"greedy": "greedy", "drawn": f"top-p {TOP_P}", "from all": "all tokens"}
    rows: list[tuple[str, ...]] = [("you", *names.values()), ("---",) * (len(names) + 1)]
    for turns in zip(*(RECORDED[name] for name in names), strict=True):
        rows.append((turns[0]["question"], *(turn["answer"] + " …" * turn["is cut"] for turn in turns)))
    return "\n".join(f"| {' | '.join(cells)} |" for cells in rows)


if __name__ == "__main__":
    record()
