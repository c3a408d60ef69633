"""Step 15, serving: what is claimed, and the mistakes that can be named.

Hugging Face's numbers are those of steps 07 and 11, one sequence at a time; here the sequences are the
requests of one ragged batch. For the numbers the cache is a NumPy array with a row for every request;
only the compiled claim runs MAX's own, with pages of four tokens that lie scattered in memory.
"""

import numpy as np
import pytest
from max.experimental import functional as F
from max.experimental.tensor import Tensor

from checker.claims import about, equal, is_value, require
from checker.claims.modules import build, run
from checker.course.steps import Step
from checker.max_adapter.runtime import compiling, open_device, tensor
from checker.numeric.references import Reference
from solutions.solution_01 import GPT2Config
from solutions.solution_07 import GPT2MultiHeadAttention

BATCH = 3
VOCAB_AXES = ("request", "vocab")
ROWS = ("row", "channel")

#: What the requests bring in each call: a first part of each prompt, then single tokens, parts of a prompt and both.
CALLS = ((3, 1, 5), (1, 1, 1), (2, 4, 1), (1, 1, 1))


def offsets_of(counts):
    """Where the rows of each request begin, and at last where they end."""
    return np.cumsum([0, *counts]).astype(np.uint32)


class PlainCache:
    """The cache without pages: one array, and attention over all of it under a mask that says what belongs together.

    A call of the model runs as one graph, so what it stores can be read only after it, by ``end``.
    """

    def __init__(self, config, batch=BATCH):
        shape = (config.n_layer, 2, batch, config.n_positions, config.n_head, config.n_embd // config.n_head)
        self.array = np.zeros(shape, np.float32)
        self.held = np.zeros(batch, int)

    def begin(self, counts):
        """What the server does before each call of the model: it says how much of each request is new."""
        self.counts, self.offsets = np.array(counts), offsets_of(counts)
        self.lengths = tensor(self.held.astype(np.uint32))
        self.stored = {}
        requests = np.arange(len(counts))
        whose = np.concatenate([np.repeat(requests, self.held), np.repeat(requests, counts)])  # earlier ones come first
        new = whose[self.held.sum() :]
        looks = (new[:, None] == whose) & (np.arange(len(whose)) <= self.held.sum() + np.arange(len(new))[:, None])
        self.mask = tensor(np.where(looks, 0, -np.inf).astype(np.float32))

    def end(self):
        """What the server does after it: the new tokens are in the cache."""
        for (layer, part), rows in self.stored.items():
            for request, new in enumerate(np.split(np.from_dlpack(rows), self.offsets[1:-1])):
                at = self.held[request]
                self.array[layer, part, request, at : at + len(new)] = new
        self.held += self.counts

    def store(self, layer, key, value, row_offsets):
        for part, (name, rows) in enumerate((("key", key), ("value", value))):
            self.look_at(layer, name, rows, row_offsets)
            self.stored[layer, part] = rows

    def attend(self, layer, query, row_offsets, *, scale):
        self.look_at(layer, "query", query, row_offsets)
        key, value = (self.everything(layer, part, query).transpose(0, 1) for part in (0, 1))
        scores = query.transpose(0, 1) @ key.transpose(-2, -1) * scale
        return (F.softmax(scores + self.mask) @ value).transpose(0, 1)

    def everything(self, layer, part, query):
        """All keys, or all values: [tokens, head, head_dim]. What was never stored is zero."""
        new = self.stored.get((layer, part), query - query)
        earlier = [rows[:at] for rows, at in zip(self.array[layer, part], self.held, strict=True)]
        return F.concat([tensor(np.concatenate(earlier)), new], axis=0) if self.held.any() else new

    def look_at(self, layer, name, rows, row_offsets):
        """Refuse what the kernels would refuse, or would read past the end of."""
        require(
            isinstance(layer, int) and 0 <= layer < len(self.array),
            f"The cache is asked for layer {layer!r}, and there are layers 0 to {len(self.array) - 1}.",
        )
        shape, wanted = tuple(map(int, rows.shape)), (int(self.offsets[-1]), *self.array.shape[-2:])
        require(
            shape == wanted,
            f"The {name} that the cache is given has the shape {list(shape)}, and must have [tokens, head, head_dim], "
            f"here {list(wanted)}.",
        )
        require(
            isinstance(row_offsets, Tensor) and tuple(map(int, row_offsets.shape)) == self.offsets.shape,
            "The cache is not given row_offsets.",
        )


@pytest.fixture(scope="module")
def whole():
    """The numbers of the whole model, step 11's."""
    return Reference(Step("step_11").reference_file)


@pytest.fixture(scope="module")
def alone():
    """The numbers of attention alone, step 07's."""
    return Reference(Step("step_07").reference_file)


@pytest.fixture(scope="module")
def config(whole):
    return GPT2Config(**whole.config)


@pytest.fixture
def model(step, config, whole):
    """The model with Hugging Face's weights."""
    return build(step.ServedGPT2, config, weights=whole.weights)


@pytest.fixture(scope="module")
def attention(config, alone):
    """Step 07's attention with Hugging Face's weights."""
    return build(GPT2MultiHeadAttention, config, weights=alone.weights)


def ragged(sequences, held, counts):
    """The next rows of every sequence, one request behind the other."""
    parts = [rows[at : at + count] for rows, at, count in zip(sequences, held, counts, strict=True)]
    return np.concatenate(parts)


def call(model, cache, sequences, counts):
    """One call of the model, as a server makes it; the logits of each request's last token."""
    cache.begin(counts)
    arrays = ragged(sequences, cache.held, counts), cache.offsets
    logits = run(lambda tokens, offsets: model(tokens, offsets, cache), *arrays)
    cache.end()
    return logits


def wanted(logits, held):
    """Hugging Face's logits at the last token of each request so far."""
    return np.stack([rows[at - 1] for rows, at in zip(logits, held, strict=True)])


@about("cache_sizes")
def test_cache_sizes(step, config):
    """MAX is told the layers, the heads and the width of one head."""
    sizes = {"num_layers": config.n_layer, "n_kv_heads": config.n_head, "head_dim": config.head_dim}
    is_value("cache_sizes(config)", step.cache_sizes(config), sizes)


@about("ragged_positions")
def test_positions(step):
    """Every token knows its place in its own request, behind what the cache holds of it."""
    for counts, held in (((3, 1, 5), (0, 0, 0)), ((1, 1, 1), (3, 1, 5)), ((2, 4, 1), (4, 0, 6)), ((7,), (2,))):
        places = np.concatenate([np.arange(at, at + count) for at, count in zip(held, counts, strict=True)])
        tokens = np.zeros(sum(counts), np.int64)
        result = run(step.ragged_positions, tokens, offsets_of(counts), np.array(held, np.uint32))
        equal(result, places, ("row",), what="ragged_positions", whose="the right number")


@about("last_rows")
def test_last_rows(step):
    """Of every request comes out the last row, in the order of the requests."""
    rows = np.arange(9 * 15, dtype=np.float32).reshape(9, 15)
    for counts in ((3, 1, 5), (1,) * 9, (9,)):
        result = run(step.last_rows, rows, offsets_of(counts))
        equal(result, rows[offsets_of(counts)[1:] - 1], ("request", "channel"), what="last_rows", whose="the right row")


@about("paged_attention")
def test_what_is_stored(step, config, attention, alone):
    """The new tokens' keys and values go into the layer's part of the cache."""
    cache = PlainCache(config, 2)
    cache.begin((7, 4))
    rows = ragged(alone["input"], (0, 0), (7, 4))
    run(lambda x, offsets: step.paged_attention(attention, x, offsets, cache, 2), rows, cache.offsets)
    cache.end()
    expected = np.zeros_like(cache.array)
    for part, name in enumerate(("key", "value")):
        expected[2, part, :, :7] = alone[name].swapaxes(1, 2)
    expected[2, :, 1, 4:] = 0
    equal(cache.array, expected, ("layer", "part", "request", "token", "head", "channel"), what="the cache")


@about("paged_attention")
def test_paged_attention(step, config, attention, alone):
    """Token by token or many at once, requests of different lengths get what Hugging Face returns for each alone."""
    cache = PlainCache(config, 2)
    for counts in ((4, 2), (1, 1), (2, 3)):
        cache.begin(counts)
        rows = ragged(alone["input"], cache.held, counts)
        result = run(lambda x, offsets: step.paged_attention(attention, x, offsets, cache, 2), rows, cache.offsets)
        equal(result, ragged(alone["output"], cache.held, counts), ROWS, what="paged_attention")
        cache.end()


@about("__init__")
def test_weights(model):
    """The weights of step 13 fit, name by name."""
    for name, _ in model.parameters:
        require(
            name.startswith(("transformer.", "lm_head.")),
            f"The model has a weight {name}, which no checkpoint has: keep transformer and lm_head and nothing else.",
            name,
        )


@about("forward")
def test_a_first_call(model, config, whole):
    """A batch of prompts of different lengths has the logits that Hugging Face has for each alone."""
    cache = PlainCache(config)
    logits = call(model, cache, whole["full_input"], CALLS[0])
    equal(logits, wanted(whole["full_output"], cache.held), VOCAB_AXES, what="forward(prompts)")


@about("forward")
def test_later_calls(model, config, whole):
    """With the cache, new tokens alone are enough: single ones, the rest of a prompt, or some of each."""
    cache = PlainCache(config)
    for counts in CALLS:
        logits = call(model, cache, whole["full_input"], counts)
        equal(logits, wanted(whole["full_output"], cache.held), VOCAB_AXES, what="forward(new tokens)")


@pytest.mark.compiled
@about("compiled")
def test_compiled(step, config, whole, device):
    """One graph over MAX's own pages returns the same logits, for prompts, single tokens and both."""
    from play.serving.max.pages import Pages

    with compiling(f"your model for {device}, with MAX's paged attention"):
        pages = Pages(step, config, whole.weights, batch=BATCH, page_size=4, device=open_device(device))
    held = np.zeros(BATCH, int)
    for counts in CALLS:
        logits = pages(ragged(whole["full_input"], held, counts), counts)
        held += counts
        equal(logits, wanted(whole["full_output"], held), VOCAB_AXES, what=f"the compiled model on {device}")


SIZES = '{"num_layers": config.n_layer, "n_kv_heads": config.n_head, "head_dim": config.head_dim}'
PASSED = "passed = rows.unsqueeze(-1) >= ends"
PLACES = "rows - F.gather(starts, request, axis=0) + F.gather(lengths, request, axis=0)"
LAST = "F.gather(hidden_states, row_offsets[1:].cast(DType.int64) - 1, axis=0)"
HEADS = "part.reshape([*part.shape[:-1], attention.num_heads, attention.head_dim])"
CUT = f"query, key, value = ({HEADS} for part in parts)"
STORE = "    cache.store(layer, key, value, row_offsets)\n"
ATTEND = "    attn_output = cache.attend(layer, query, row_offsets, scale=1 / math.sqrt(attention.head_dim))\n"
PROJECT = "attention.c_proj(attn_output.reshape(hidden_states.shape))"
PARTIAL = "functools.partial(paged_attention, block.attn, row_offsets=row_offsets, cache=cache, layer=layer)"
HEAD = "return self.lm_head(transformer.ln_f(last_rows(hidden_states, row_offsets)))"
POSITIONS = "positions = ragged_positions(tokens, row_offsets, cache.lengths)"

MISTAKES = {
    "Heads and layers are swapped: num_layers is config.n_layer, n_kv_heads config.n_head.": {
        SIZES: '{"num_layers": config.n_head, "n_kv_heads": config.n_layer, "head_dim": config.head_dim}'
    },
    "head_dim is the width of one head, not n_embd: the cache would be n_head times too large.": {
        SIZES: SIZES.replace("config.head_dim", "config.n_embd")
    },
    "Positions run on from one request into the next; every request begins at 0.": {PLACES: "rows"},
    "What the cache holds is not counted: a new token's place comes after that of all earlier ones.": {
        PLACES: "rows - F.gather(starts, request, axis=0)"
    },
    "The first row of a request counts to the request before: a row has passed an end that is equal to it.": {
        ">= ends": "> ends"
    },
    "Every token gets the same place, that of its request's first new token.": {
        PLACES: "F.gather(lengths, request, axis=0)"
    },
    "The shift has the wrong sign: rows minus the start of the request, plus what the cache holds of it.": {
        PLACES: "rows + F.gather(starts, request, axis=0) - F.gather(lengths, request, axis=0)"
    },
    "The row at a request's end is taken, which is the next request's first; the last row is one before.": {
        LAST: "F.gather(hidden_states, F.min(F.stack([row_offsets[1:].cast(DType.int64), F.broadcast_to(Tensor(hidden_states.shape[0] - 1, dtype=DType.int64, device=row_offsets.device), row_offsets[1:].shape)]), axis=0).squeeze(0), axis=0)"
    },
    "The first row of each request is taken; it is the last that says what follows.": {
        LAST: "F.gather(hidden_states, row_offsets[:-1].cast(DType.int64), axis=0)"
    },
    "The last row of the whole batch alone is taken; every request has one.": {LAST: "hidden_states[-1:]"},
    "All rows are returned; take the last one of each request.": {LAST: "hidden_states"},
    "Nothing is stored: keys and values must be in the cache before attention looks for them.": {STORE: ""},
    "Attention comes before the new keys and values are stored, so a token cannot see itself.": {
        STORE + ATTEND: ATTEND + STORE
    },
    "Key and value have changed places in the cache.": {"store(layer, key, value,": "store(layer, value, key,"},
    "The keys are stored as values too.": {"store(layer, key, value,": "store(layer, key, key,"},
    "The query is stored as the key.": {"store(layer, key, value,": "store(layer, query, value,"},
    "Every layer uses layer 0 of the cache and overwrites what the one before has stored.": {
        STORE: STORE.replace("layer,", "0,"),
        ATTEND: ATTEND.replace("attend(layer,", "attend(0,"),
    },
    "c_attn's output is taken in the order key, query, value; Hugging Face's order is query, key, value.": {
        "query, key, value = (": "key, query, value = ("
    },
    "c_attn's output is cut head by head into query, key and value; cut it into three thirds first, then each into heads.": {
        CUT: "joined = attention.c_attn(hidden_states).reshape([hidden_states.shape[0], attention.num_heads, 3, attention.head_dim])\n"
        "    query, key, value = (joined[:, :, part] for part in range(3))"
    },
    "The cache keeps [tokens, head, head_dim]: no transpose brings head in front here, as step 07's _split_heads does.": {
        CUT: "query, key, value = (attention._split_heads(part) for part in parts)"
    },
    "The embedding is cut into (head_dim, head); it must be (head, head_dim), so that a head's channels lie together.": {
        CUT: "query, key, value = (part.reshape([part.shape[0], attention.head_dim, attention.num_heads]).transpose(1, 2) for part in parts)"
    },
    "The scores are multiplied by the square root of head_dim: scale is 1 over it.": {
        "scale=1 / math.sqrt(": "scale=math.sqrt("
    },
    "The scores are not scaled: scale is 1 over the square root of head_dim.": {
        "scale=1 / math.sqrt(attention.head_dim)": "scale=1.0"
    },
    "The scores are scaled by n_embd; it is head_dim, the width of one head.": {
        "math.sqrt(attention.head_dim)": "math.sqrt(attention.embed_dim)"
    },
    "The scores are divided by head_dim itself; it is its square root.": {
        "1 / math.sqrt(attention.head_dim)": "1 / attention.head_dim"
    },
    "c_proj is not applied: the heads are joined but never mixed.": {
        PROJECT: "attn_output.reshape(hidden_states.shape)"
    },
    "The model is kept as a whole, which puts another name in front of every weight; take its two parts.": {
        "self.transformer, self.lm_head = model.transformer, model.lm_head": "self.model, self.transformer, self.lm_head = model, model.transformer, model.lm_head"
    },
    "forward counts positions over the whole batch, from 0; ragged_positions knows each request's.": {
        POSITIONS: "positions = position_ids(tokens.shape[0], device=tokens.device)"
    },
    "The positions are left out.": {"transformer.wte(tokens) + transformer.wpe(positions)": "transformer.wte(tokens)"},
    "forward runs step 09's blocks, to which the batch is one long text, and leaves the cache out.": {
        "for layer, block in enumerate(transformer.h):\n"
        f"            attend = {PARTIAL}\n"
        "            hidden_states = pre_norm_residual(hidden_states, block.ln_1, attend)\n"
        "            hidden_states = pre_norm_residual(hidden_states, block.ln_2, block.mlp)": "hidden_states = transformer.h(hidden_states.unsqueeze(0)).squeeze(0)"
    },
    "The layer given to the cache is always 0; count the blocks.": {
        f"attend = {PARTIAL}": "attend = " + PARTIAL.replace("layer=layer", "layer=0")
    },
    "The layers are counted from 1; the cache counts from 0.": {
        "enumerate(transformer.h)": "enumerate(transformer.h, 1)"
    },
    "The feed-forward network is left out of the blocks.": {
        "            hidden_states = pre_norm_residual(hidden_states, block.ln_2, block.mlp)\n": ""
    },
    "The residual around attention is left out.": {
        "hidden_states = pre_norm_residual(hidden_states, block.ln_1, attend)": "hidden_states = attend(block.ln_1(hidden_states))"
    },
    "ln_f is left out before the head.": {
        HEAD: HEAD.replace(
            "transformer.ln_f(last_rows(hidden_states, row_offsets))", "last_rows(hidden_states, row_offsets)"
        )
    },
    "The head is left out: what comes out is hidden states, not logits.": {
        HEAD: "return transformer.ln_f(last_rows(hidden_states, row_offsets))"
    },
    "forward returns the logits of every token; a server asks for the last one of each request.": {
        HEAD: "return self.lm_head(transformer.ln_f(hidden_states))"
    },
}

ALTERNATIVES = {
    "one gather of the shift": {PLACES: "rows + F.gather(lengths - starts, request, axis=0)"},
    "the request by starts": {
        PASSED: "passed = rows.unsqueeze(-1) >= starts",
        "axis=-1).squeeze(-1)\n": "axis=-1).squeeze(-1) - 1\n",
    },
    "the head before the last rows": {
        HEAD: "return last_rows(self.lm_head(transformer.ln_f(hidden_states)), row_offsets)"
    },
    "slices and chunk": {
        "F.split(attention.c_attn(hidden_states), [attention.split_size] * 3, axis=-1)": "F.chunk(attention.c_attn(hidden_states), 3, axis=-1)"
    },
    "step 07's heads, turned back": {
        CUT: "query, key, value = (attention._split_heads(part).transpose(-3, -2) for part in parts)"
    },
    "a lambda in a loop": {
        PARTIAL: "lambda x, block=block, layer=layer: paged_attention(block.attn, x, row_offsets, cache, layer)"
    },
    "the residuals written out": {
        "hidden_states = pre_norm_residual(hidden_states, block.ln_1, attend)": "hidden_states = hidden_states + attend(block.ln_1(hidden_states))",
        "hidden_states = pre_norm_residual(hidden_states, block.ln_2, block.mlp)": "hidden_states = hidden_states + block.mlp(block.ln_2(hidden_states))",
    },
    "the width of a head from the shape": {"math.sqrt(attention.head_dim)": "math.sqrt(int(query.shape[-1]))"},
    "a model of its own parts": {
        "        model = MaxGPT2LMHeadModel(config)\n": "        from max.experimental.nn import Linear\n\n        from solutions.solution_10 import GPT2Model\n\n",
        "self.transformer, self.lm_head = model.transformer, model.lm_head": "self.transformer = GPT2Model(config)\n        self.lm_head = Linear(config.n_embd, config.vocab_size, bias=False)",
    },
}
