"""Step 07, multi-head attention: what is claimed.

Recorded on an awkward configuration (batch 2, length 7, width 15, 3 heads of width 5) from Hugging Face's
``GPT2Attention``, whose weights are copied into the learner's module by name.
"""

import inspect
from dataclasses import replace

import numpy as np
import pytest

from checker.claims import about, equal, for_each, require
from checker.claims.modules import build, compiled, has_only, past_stays, run, unwanted
from checker.numeric.references import seeded_weights
from solutions.solution_01 import GPT2Config

HEADS, HEAD_DIM, WIDTH = 3, 5, 15
LONG = 300  # tokens: more than int8 and uint8 can count
HEAD_AXES = ("batch", "head", "token", "channel")
WEIGHT_AXES = ("batch", "head", "query", "key")

#: The blanks that a file may do without: in the source tutorial's form, forward and _attn do what these do here.
OPTIONAL = {"_qkv", "_attention_weights"}


@pytest.fixture
def bare(subject, config):
    """The module without weights: its methods can be tried before ``__init__`` is written."""
    return build(subject.GPT2MultiHeadAttention, config)


@pytest.fixture
def attention(subject, config, reference):
    """The module with Hugging Face's weights."""
    return build(subject.GPT2MultiHeadAttention, config, weights=reference.weights)


def causal(seq, first=0):
    """The mask of the tokens from ``first`` on."""
    return np.where(np.tri(seq, dtype=bool), 0, -np.inf).astype(np.float32)[first:]


@pytest.fixture
def attend(bare):
    """``_attn`` for the tokens from ``first`` on. The source tutorial's takes no mask: it makes its own."""
    takes_mask = len(inspect.signature(bare._attn).parameters) > 3

    def call(query, key, value, first=0):
        if not takes_mask:
            return run(bare._attn, query, key, value)[:, :, first:]
        return run(bare._attn, query[:, :, first:], key, value, causal(query.shape[-2], first))

    return call


@pytest.fixture
def weigh(bare, request):
    """``_attention_weights`` for the tokens from ``first`` on, or how ``_attn`` mixes values that are 1 in one token.

    Such values come ``head_dim`` at a time, because some take the scale from their width.
    """

    def call(query, key, first=0):
        if hasattr(bare, "_attention_weights"):
            return run(bare._attention_weights, query[:, :, first:], key, causal(query.shape[-2], first))
        attend, seq = request.getfixturevalue("attend"), key.shape[-2]
        ones = [np.eye(seq, HEAD_DIM, -start, dtype=np.float32) for start in range(0, seq, HEAD_DIM)]
        mixed = [attend(query, key, np.broadcast_to(some, key.shape).copy(), first) for some in ones]
        return np.concatenate([np.from_dlpack(part) for part in mixed], axis=-1)[..., :seq]

    return call


@pytest.fixture
def project(attention):
    """``_qkv`` of a text or, of a file without it, what ``forward`` gives to ``_attn``."""

    def parts(x):
        if hasattr(attention, "_qkv"):
            result = attention._qkv(x)
            if not isinstance(result, tuple | list) or len(result) != 3:
                raise unwanted(attention._qkv, result, "query, key and value")
            return result
        given, attend = [], attention._attn
        object.__setattr__(attention, "_attn", lambda *some: given.extend(some) or attend(*some))
        attention(x)
        require(len(given) > 2, "forward does not give query, key and value to _attn.")
        return given

    def call(x):
        found = []
        run(lambda x: found.extend(parts(x)) or found[0], x)  # all three in one graph
        return found[:3]

    return call


def with_heads(method):
    """``_split_heads(x)`` and the source tutorial's ``_split_heads(x, num_heads, attn_head_size)`` are both right."""
    wanted = len(inspect.signature(method).parameters)
    return lambda tensor: method(tensor, *(HEADS, HEAD_DIM)[: wanted - 1])


@about("__init__")
def test_projections(attention, reference):
    """c_attn maps the width to three times the width, c_proj the width to the width, both with biases."""
    require(attention.c_attn is not attention.c_proj, "c_attn and c_proj are the same layer; they are two.")
    has_only(attention, reference.weights)


@about("_split_heads")
def test_split_heads(bare, reference):
    """Every head gets its own slice of the embedding: [batch, seq, embd] -> [batch, head, seq, head_dim]."""
    for batch, seq in ((2, 7), (1, 1)):
        heads = run(with_heads(bare._split_heads), reference["projected_query"][:batch, :seq])
        equal(heads, reference["query"][:batch, :, :seq], HEAD_AXES, what=f"_split_heads of [{batch}, {seq}, 15]")


@about("_merge_heads")
def test_merge_heads(bare, reference):
    """The heads lie side by side again: [batch, head, seq, head_dim] -> [batch, seq, embd]."""
    for batch, seq in ((2, 7), (1, 1)):
        merged = run(with_heads(bare._merge_heads), reference["attn_output"][:batch, :, :seq])
        equal(merged, reference["merged"][:batch, :seq], what=f"_merge_heads of [{batch}, 3, {seq}, 5]")


@about("_qkv")
def test_qkv(project, reference):
    """Every token's query, key and value match Hugging Face's, split into heads."""
    parts = dict(zip(("query", "key", "value"), project(reference["input"]), strict=True))
    for_each(parts, lambda name: equal(parts[name], reference[name], HEAD_AXES, what=f"the {name}"))


def right_weights(query, key):
    """The attention weights of a text, from one whole row of scores at a time."""
    scores = query.astype(np.float64) @ key.swapaxes(-2, -1) / np.sqrt(HEAD_DIM) + causal(query.shape[-2])
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return (powers / powers.sum(axis=-1, keepdims=True)).astype(np.float32)


@about("_attention_weights")
def test_attention_weights(weigh, reference):
    """Given query, key and mask, every row has the right weights, for the last tokens alone as well."""
    right = right_weights(reference["query"], reference["key"])
    for first, of in ((0, "7 tokens"), (4, "the last 3 of 7 tokens")):
        weights = weigh(reference["query"], reference["key"], first)
        equal(weights, right[:, :, first:], WEIGHT_AXES, what=f"_attention_weights of {of}", whose="the right weight")


@about("_attention_weights")
def test_large_scores(weigh, reference):
    """With queries 100 times as long, scores reach the hundreds: every row stays right, and the future hidden."""
    query, key = reference["query"].copy(), reference["key"]
    query[:, :, 3] *= 100  # in some heads, a later token's score is more than 100 above those of all earlier ones
    # The right answers are off by at most 1e-5 (1,000 draws), a mask of -100 by 0.9; the others have NaN.
    what = "_attention_weights with one large query"
    equal(
        weigh(query, key), right_weights(query, key), WEIGHT_AXES, what=what, tolerance=1e-3, whose="the right weight"
    )


@about("_attn")
def test_attn(attend, reference):
    """Given query, key, value and mask, it returns Hugging Face's output."""
    output = attend(reference["query"], reference["key"], reference["value"])
    equal(output, reference["attn_output"], HEAD_AXES, what="_attn(query, key, value, mask)")


@about("_attn")
def test_first_token_sees_only_itself(attend, reference):
    """A single token can only look at itself, so it gets its own value."""
    output = attend(reference["query"][:, :, :1], reference["key"][:, :, :1], reference["value"][:, :, :1])
    equal(output, reference["value"][:, :, :1], HEAD_AXES, what="_attn of one token")


@about("forward")
def test_forward(attention, reference):
    """The whole module's output matches Hugging Face's."""
    equal(run(attention, reference["input"]), reference["output"], what="forward(x)")


@about("forward")
def test_the_future_cannot_change_the_past(attention, reference):
    """Changing the last token, even making it 50 times as large, leaves every earlier row unchanged."""
    changed = reference["input"].copy()
    changed[:, -1] *= 50  # its scores reach 260: a mask of -100 moves earlier rows by tens, one of -1e4 by nothing
    past_stays(attention, reference["input"], changed, reference["output"])


@about("forward")
def test_each_head_works_alone(subject, config, reference):
    """Changing what the last head sees changes its own channels and no others."""
    weights = reference.weights | {"c_proj.weight": np.eye(WIDTH, dtype=np.float32)}
    other = weights | {"c_attn.weight": weights["c_attn.weight"].copy()}
    other["c_attn.weight"][2 * WIDTH - HEAD_DIM : 2 * WIDTH] *= -1  # the keys of the last head
    before, after = (
        np.from_dlpack(run(build(subject.GPT2MultiHeadAttention, config, weights=some), reference["input"]))
        for some in (weights, other)
    )
    equal(
        after[..., :-HEAD_DIM],
        before[..., :-HEAD_DIM],
        what="the channels of the other heads",
        whose="what it was before",
    )
    require(
        bool(np.abs(after - before)[..., -HEAD_DIM:].max() > 1e-3), "The last head does not depend on its own keys."
    )


@about("forward")
def test_any_batch_and_length(attention, reference):
    """Other batch sizes and lengths work, too."""
    for case in ("long", "single"):
        output = run(attention, reference[f"{case}_input"])
        equal(output, reference[f"{case}_output"], what=f"forward(x) of shape {list(reference[f'{case}_input'].shape)}")


@about("forward")
def test_long_text(subject, config):
    """With zero queries, each of 300 tokens (more than int8 or uint8 can count) averages the values up to its own."""
    weights = {name: np.zeros(size, np.float32) for name, size in (("c_attn.bias", 3 * WIDTH), ("c_proj.bias", WIDTH))}
    weights |= {"c_attn.weight": np.eye(3 * WIDTH, WIDTH, -2 * WIDTH, dtype=np.float32)}  # the value is the input
    weights |= {"c_proj.weight": np.eye(WIDTH, dtype=np.float32)}
    attention = build(subject.GPT2MultiHeadAttention, replace(config, n_positions=LONG), weights=weights)
    x = np.random.RandomState(7).standard_normal((1, LONG, WIDTH)).astype(np.float32)
    means = x.cumsum(axis=1, dtype=np.float64) / np.arange(1, LONG + 1)[:, None]
    output = run(attention, x)
    equal(output, means.astype(np.float32), what=f"forward(x) of {LONG} tokens", whose="the right mean")


@about("forward")
def test_gpt2_small_size(subject, reference):
    """It works at GPT-2 small's size, 12 heads of width 64."""
    names = {"c_attn.weight": (2304, 768), "c_attn.bias": (2304,), "c_proj.weight": (768, 768), "c_proj.bias": (768,)}
    attention = build(subject.GPT2MultiHeadAttention, GPT2Config(), weights=seeded_weights(names))
    equal(run(attention, reference["small_input"]), reference["small_output"], what="forward(x), 768 wide")


@pytest.mark.drawn
@about("forward")
def test_other_numbers(subject, solution, draw):
    """A new random configuration, weights and input work as well."""
    config = GPT2Config(**draw.settings())
    width = config.n_embd
    shapes = {"c_attn.weight": (3 * width, width), "c_attn.bias": (3 * width,)}
    weights = draw.weights(shapes | {"c_proj.weight": (width, width), "c_proj.bias": (width,)})
    x = draw.array(draw.whole("batch", 1, 4), draw.whole("seq", 2, 9), width)
    pair = (build(module.GPT2MultiHeadAttention, config, weights=weights) for module in (subject, solution))
    result, right = (run(attention, x) for attention in pair)
    equal(result, right, what="forward(x)", whose="the solution's")


@pytest.mark.compiled
@about("compiled")
def test_compiled(attention, reference, device):
    """One graph with symbolic batch and length returns the same numbers."""
    graph = compiled(attention, ["batch", "seq", WIDTH], device=device)
    for case in ("", "long_", "single_"):
        equal(graph(reference[f"{case}input"]), reference[f"{case}output"], what=f"the compiled module on {device}")
