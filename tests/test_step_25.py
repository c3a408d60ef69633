"""Step 25, grouped-query attention: what is claimed.

Hugging Face's numbers were recorded with its own cache: 12 query heads over 4 key-value heads, each 10 wide, in a
model 36 wide. The given model around the learner's attention is checked as well.
"""

import functools
from dataclasses import replace

import numpy as np
import pytest
from max.driver import CPU

from checker.claims import about, equal, for_each, require
from checker.claims.modules import build, has_only, run
from checker.compiling import compiling
from checker.max_adapter.runtime import lazily, open_device, tensor
from solutions.caching import PADDING, run_on_arrays
from solutions.llama import LlamaForCausalLM, compile_llama
from solutions.llama_config import LlamaConfig
from solutions.solution_14 import CachedModel

HEADS, KV_HEADS, HEAD_DIM = 12, 4, 10
SLOTS, LOGITS = ("batch", "head", "slot", "channel"), ("batch", "token", "logit")
RIGHT = "the right number"
FIRST = "model.layers.0.self_attn."
PADDED = (3, 0)  # how many tokens of padding each row begins with
NOTHING_CACHED = np.zeros((0, 0), np.int64)  # with it a CachedModel begins anew, with the prompt
DRAWN = np.random.RandomState(25)
QUERY = DRAWN.standard_normal((2, HEADS, 7, HEAD_DIM)).astype(np.float32)
KEY, VALUE = (DRAWN.standard_normal((2, KV_HEADS, 7, HEAD_DIM)).astype(np.float32) for _ in range(2))
KEYS, VALUES = (DRAWN.standard_normal((2, KV_HEADS, 13, HEAD_DIM)).astype(np.float32) for _ in range(2))


def below(weights, prefix):
    return {name.removeprefix(prefix): array for name, array in weights.items() if name.startswith(prefix)}


@pytest.fixture(scope="module")
def config(reference):
    return LlamaConfig(**reference.config)


@pytest.fixture
def bare(subject, config):
    """The module without weights: ``_grouped_attn`` can be tried before ``__init__`` is written."""
    return build(subject.LlamaAttention, config)


@pytest.fixture
def attention(subject, config, reference):
    """The module with Hugging Face's weights, of the first block."""
    return build(subject.LlamaAttention, config, weights=below(reference.weights, FIRST))


@pytest.fixture
def model(subject, config, reference):
    """The given model with Hugging Face's weights, around the learner's attention."""
    model = build(LlamaForCausalLM, config, weights=reference.weights)
    for number, layer in enumerate(model.model.layers):
        own = below(reference.weights, f"model.layers.{number}.self_attn.")
        layer.self_attn = build(subject.LlamaAttention, config, weights=own)
    return model


def angles_of(positions, config):
    frequencies = config.rope_theta ** (-2 * np.arange(config.head_dim // 2) / config.head_dim)
    return (positions[..., None] * frequencies).astype(np.float32)


def causal(total, first=0):
    """The mask of the tokens of two texts from ``first`` on: [2, 1, seq, total]."""
    mask = np.where(np.tri(total, dtype=bool), 0, -np.inf).astype(np.float32)[first:]
    return np.ascontiguousarray(np.broadcast_to(mask, (2, 1, *mask.shape)))


def attend_to(attention, hidden_states, angles, mask, *, keys, values):
    """The output; the arguments go by name, since earlier skeletons had them in another order."""
    return attention(hidden_states, angles=angles, mask=mask, block_cache=(keys, values))


def attend(attention, reference, config, keys, values, first, last=7):
    """The output for the recorded tokens from ``first`` on, with ``keys`` and ``values`` as the cache."""
    return run(
        functools.partial(attend_to, attention, keys=keys, values=values),
        reference["hidden_states"][:, first:last],
        angles_of(reference["positions"][:, first:last], config),
        causal(last, first),
    )


@about("__init__")
def test_projections(attention, reference):
    """q_proj makes all heads, k_proj and v_proj fewer, o_proj maps back to hidden_size, all without a bias."""
    require(attention.k_proj is not attention.v_proj, "k_proj and v_proj are the same layer; they are two.")
    has_only(attention, below(reference.weights, FIRST))


@about("_qkv")
def test_qkv(attention, reference):
    """Each is its own projection, split into heads 10 wide: 12 for the query, 4 each for key and value."""

    def right(name):
        weight = reference.weights[f"{FIRST}{name}_proj.weight"]
        projected = reference["hidden_states"].astype(np.float64) @ weight.T
        heads = projected.reshape(2, 7, -1, HEAD_DIM).swapaxes(1, 2).astype(np.float32)
        part = run(lambda x: attention._qkv(x)["qkv".index(name)], reference["hidden_states"])
        equal(part, heads, what=f"the {dict(q='query', k='key', v='value')[name]}", whose=RIGHT)

    for_each("qkv", right)


def grouped(query, key, value, mask):
    """What every query head makes of the keys and values of its group, in double precision."""
    key, value = (part.repeat(HEADS // KV_HEADS, axis=1).astype(np.float64) for part in (key, value))
    scores = query @ key.swapaxes(-2, -1) / np.sqrt(HEAD_DIM) + mask
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return (powers / powers.sum(axis=-1, keepdims=True) @ value).astype(np.float32)


@about("_grouped_attn")
def test_grouped_attn(bare):
    """Query heads 0 to 2 share key-value head 0, query heads 3 to 5 share key-value head 1, and so on."""

    def right(first):
        query, mask = QUERY[:, :, first:], causal(7, first)
        output = run(bare._grouped_attn, query, KEY, VALUE, mask)
        equal(
            output,
            grouped(query, KEY, VALUE, mask),
            what=f"_grouped_attn with {first} earlier tokens",
            whose=RIGHT,
        )

    for_each((0, 4, 6), right)


@about("_grouped_attn")
def test_four_axes(bare):
    """It gives _attn tensors of four axes: of five, where keys broadcast, MAX cannot compile a product."""
    ranks, attend = [], bare._attn
    spy = lambda *parts: ranks.extend(len(part.shape) for part in parts) or attend(*parts)  # noqa: E731
    object.__setattr__(bare, "_attn", spy)
    run(bare._grouped_attn, QUERY, KEY, VALUE, causal(7))
    require({*ranks[:3]} <= {4}, f"_attn gets query, key and value of {max(ranks, default=0)} axes.")


@about("_grouped_attn")
def test_each_text_has_its_mask(bare):
    """Each text has its own mask: a position hidden in one text is visible in the other."""
    mask = causal(7)
    mask[0, :, 2:, :2] = -1e9
    output = run(bare._grouped_attn, QUERY, KEY, VALUE, mask)
    equal(output, grouped(QUERY, KEY, VALUE, mask), what="_grouped_attn with padding", whose=RIGHT)


@about("forward")
def test_forward(attention, reference, config):
    """Given 7 tokens and an empty cache, it returns Hugging Face's output, each row at its own positions."""
    output = attend(attention, reference, config, tensor(KEYS), tensor(VALUES), 0)
    equal(output, reference["attention"], what="forward(…)")


@about("forward")
def test_attention_of_the_last_tokens(attention, reference, config):
    """Given the last 3 of 7 tokens, with 4 in the cache, it returns Hugging Face's outputs for them."""
    keys, values = KEYS.copy(), VALUES.copy()
    keys[:, :, :4], values[:, :, :4] = reference["keys"][:, :, :4], reference["values"][:, :, :4]
    output = attend(attention, reference, config, tensor(keys), tensor(values), 4)
    equal(output, reference["attention"][:, 4:], what="forward of the last 3 of 7 tokens")


@about("forward")
def test_what_is_cached(attention, reference, config):
    """It stores rotated keys, and values, 4 heads of each, in the cache after the earlier ones."""
    keys, values = tensor(KEYS), tensor(VALUES)
    np.from_dlpack(attend(attention, reference, config, keys, values, 4))
    for name, buffer, before in (("keys", keys, KEYS), ("values", values, VALUES)):
        expected = before.copy()
        expected[:, :, 4:7] = reference[name][:, :, 4:]
        equal(np.from_dlpack(buffer).copy(), expected, SLOTS, what=f"the cached {name}")


def interpreted(model):
    """The given model as a CachedModel, without compiling it."""

    def graph(*inputs):
        with lazily():
            return model(*inputs)

    return CachedModel(run_on_arrays(graph, CPU()), model.config.cache_config, CPU())


def padded(input_ids):
    """The texts with padding in front, as ``PADDED`` has it."""
    return np.where(np.arange(input_ids.shape[1]) < np.array(PADDED)[:, None], PADDING, input_ids)


def model_is_right(cached, reference, lengths, where=""):
    """Refuse unless the logits after each of some lengths are Hugging Face's, with padding and without."""
    for ids, name in ((reference["input"], ""), (padded(reference["input"]), "padded_")):
        cached.cached_ids = NOTHING_CACHED
        for length in lengths:
            right = reference[f"{name}output"][:, length - 1 : length]
            what = f"the logits of the model after {length} {name.rstrip('_')}{' ' * bool(name)}tokens{where}"
            equal(cached(ids[:, :length]), right, LOGITS, what=what)


@about("forward")
def test_whole_model(model, reference):
    """With it, the given model has Hugging Face's logits, even for prompts of two lengths, and token by token."""
    model_is_right(interpreted(model), reference, (5, 6, 9))


@pytest.mark.drawn
@about("forward")
def test_other_numbers(subject, solution, draw):
    """A new random configuration, weights and input work as well."""
    kv_heads, half = draw.whole("num_key_value_heads", 1, 3), draw.whole("head_dim / 2", 1, 8, times=2)
    heads, width = kv_heads * draw.whole("heads of a group", 1, 2), draw.whole("hidden_size", 6, 40)
    sizes = {"num_key_value_heads": kv_heads, "num_attention_heads": heads, "head_dim": 2 * half, "hidden_size": width}
    config = replace(LlamaConfig(), **sizes)
    shapes = {f"{name}_proj.weight": (kv_heads * 2 * half, width) for name in "kv"}
    shapes |= {"q_proj.weight": (heads * 2 * half, width), "o_proj.weight": (width, heads * 2 * half)}
    weights, past, new = draw.weights(shapes), draw.whole("past", 0, 5), draw.whole("seq", 1, 5)
    x, angles = draw.array(2, new, width), angles_of(draw.ids(20, 2, new), config)
    cache = [draw.array(2, kv_heads, 13, 2 * half) for _ in range(2)]
    results = []
    for module in (subject, solution):
        attention, (keys, values) = build(module.LlamaAttention, config, weights=weights), map(tensor, cache)
        shown = functools.partial(attend_to, attention, keys=keys, values=values)
        results.append(run(shown, x, angles, causal(past + new, past)))
    equal(results[0], results[1], what="forward(…)", whose="the solution's")


@pytest.mark.compiled
@about("compiled")
def test_compiled(model, reference, device):
    """One graph of the given model with it gives Hugging Face's logits at every position, even with padding."""
    target = open_device(device)
    with compiling(f"the model around your module for {device}"):
        cached = compile_llama(model, target)
    for start in (5, 13):
        model_is_right(cached, reference, range(start, 14), f", a prompt of {start}, on {device}")
