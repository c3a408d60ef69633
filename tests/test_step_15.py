"""Step 15, serving: what is claimed.

Hugging Face's numbers are those of steps 07 and 11, one sequence at a time; here the sequences are the
requests of one ragged batch. For the numbers the cache is a NumPy array with a row for every request;
only the compiled claim runs MAX's own, with pages that lie scattered in memory.
"""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from max.experimental import functional as F
from max.experimental.tensor import Tensor

from checker.claims import about, equal, for_each, require
from checker.claims.modules import build, run, shapes_of
from checker.compiling import compiling
from checker.course.steps import Step
from checker.max_adapter.runtime import open_device, tensor
from checker.numeric.references import Reference, seeded_weights
from solutions.solution_01 import GPT2Config
from solutions.solution_07 import GPT2MultiHeadAttention
from solutions.solution_11 import MaxGPT2LMHeadModel

BATCH = 3
VOCAB_AXES = ("request", "logit")
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
        self.past = tensor(self.held.astype(np.uint32))
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
            self.stored[layer, part] = rows.transpose(0, 1)

    def attend(self, layer, query, row_offsets, *, scale):
        self.look_at(layer, "query", query, row_offsets)
        key, value = (self.everything(layer, part, query).transpose(0, 1) for part in (0, 1))
        scores = query @ key.transpose(-2, -1) * scale
        return F.softmax(scores + self.mask) @ value

    def everything(self, layer, part, query):
        """All keys, or all values: [tokens, head, head_dim]. What was never stored is zero."""
        new = self.stored.get((layer, part), (query - query).transpose(0, 1))
        earlier = [rows[:at] for rows, at in zip(self.array[layer, part], self.held, strict=True)]
        return F.concat([tensor(np.concatenate(earlier)), new], axis=0) if self.held.any() else new

    def look_at(self, layer, name, rows, row_offsets):
        """Refuse what the kernels would refuse, or would read past the end of."""
        require(
            isinstance(layer, int) and 0 <= layer < len(self.array),
            f"The cache is asked for layer {layer!r}, and there are layers 0 to {len(self.array) - 1}.",
        )
        heads, head_dim = self.array.shape[-2:]
        shape, wanted = tuple(map(int, rows.shape)), (heads, int(self.offsets[-1]), head_dim)
        require(
            shape == wanted,
            f"The {name} that the cache is given has the shape {list(shape)}, and must have [head, tokens, head_dim], "
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


def served(subject, config, weights):
    """Step 15's model with the modules of step 11's."""
    return subject.ServedGPT2(build(MaxGPT2LMHeadModel, config, weights=weights))


@pytest.fixture
def model(subject, config, whole):
    """The model with Hugging Face's weights."""
    return served(subject, config, whole.weights)


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


@about("ragged_positions")
def test_positions(subject):
    """Every token gets its position in its own request, counting the tokens already in the cache."""

    def right(batch):
        counts, held = batch
        places = np.concatenate([np.arange(at, at + count) for at, count in zip(held, counts, strict=True)])
        result = run(subject.ragged_positions, np.arange(sum(counts)), offsets_of(counts), np.array(held, np.uint32))
        equal(result, places, ("row",), what="ragged_positions", whose="the right number")

    first, later, many = ((3, 1, 5), (0, 0, 0)), ((3, 1, 5), (2, 0, 500)), ((1,) * 300, (0,) * 300)
    others = ((1, 1, 1), (3, 1, 5)), ((2, 4, 1), (4, 0, 6)), ((7,), (2,))
    # The same shape again: nothing is kept of another call. Many: more requests than int8 and uint8 can count.
    for_each((first, later, first, *others, many), right)


@about("last_rows")
def test_last_rows(subject):
    """The last row of every request is returned, in the order of the requests."""
    rows = np.arange(9 * 15, dtype=np.float32).reshape(9, 15)

    def right(counts):
        result = run(subject.last_rows, rows, offsets_of(counts))
        equal(result, rows[offsets_of(counts)[1:] - 1], ("request", "channel"), what="last_rows", whose="the right row")

    for_each(((3, 1, 5), (4, 4, 1), (3, 1, 5), (1,) * 9, (9,)), right)


def attended(subject, attention, rows, cache):
    """What paged_attention returns in layer 2; older files take the arguments in another order."""
    call = partial(subject.paged_attention, attention, cache=cache, layer=2)
    return run(lambda x, offsets: call(x, row_offsets=offsets), rows, cache.offsets)


@about("paged_attention")
def test_what_is_stored(subject, config, attention, alone):
    """The new tokens' keys and values go into the layer's part of the cache."""
    cache = PlainCache(config, 2)
    cache.begin((7, 4))
    rows = ragged(alone["input"], (0, 0), (7, 4))
    attended(subject, attention, rows, cache)
    cache.end()
    expected = np.zeros_like(cache.array)
    for part, name in enumerate(("key", "value")):
        expected[2, part, :, :7] = alone[name].swapaxes(1, 2)
    expected[2, :, 1, 4:] = 0
    equal(cache.array, expected, ("layer", "part", "request", "token", "head", "channel"), what="the cache")


@about("paged_attention")
def test_paged_attention(subject, config, attention, alone):
    """Token by token or many at once, requests of different lengths each get Hugging Face's output for it alone."""
    cache = PlainCache(config, 2)
    for counts in ((4, 2), (1, 1), (2, 3)):
        cache.begin(counts)
        rows = ragged(alone["input"], cache.held, counts)
        result = attended(subject, attention, rows, cache)
        equal(result, ragged(alone["output"], cache.held, counts), ROWS, what="paged_attention")
        cache.end()


@about("forward")
def test_a_first_call(model, config, whole):
    """In a batch of prompts of different lengths, each gets Hugging Face's logits for it alone."""
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


@pytest.mark.drawn
@about("forward")
def test_other_numbers(subject, solution, draw):
    """A new random configuration, weights, and requests of random lengths work as well."""
    config = GPT2Config(**draw.settings())
    weights = draw.weights(shapes_of(build(MaxGPT2LMHeadModel, config, weights={})))
    batch = draw.whole("requests", 1, 4)
    calls = [draw.ids(4, batch) + 1, draw.ids(3, batch) + 1]
    ids = draw.ids(config.vocab_size, batch, config.n_positions)
    answers = []
    for module in (subject, solution):
        model, cache = served(module, config, weights), PlainCache(config, batch)
        answers.append([np.from_dlpack(call(model, cache, ids, counts)) for counts in calls])
    for counts, result, right in zip(calls, *answers, strict=True):
        equal(result, right, VOCAB_AXES, what=f"forward of {counts.tolist()} new tokens", whose="the solution's")


def at_heads_of_64(config):
    """A model that MAX's kernels take on a GPU, where they read 16 bytes at once, with ids and step 11's logits."""
    config = replace(config, n_embd=64 * config.n_head)
    weights = seeded_weights(shapes_of(build(MaxGPT2LMHeadModel, config, weights={})), seed=15)
    ids = np.random.default_rng(15).integers(config.vocab_size, size=(BATCH, config.n_positions))
    logits = run(build(MaxGPT2LMHeadModel, config, weights=weights), ids)
    return config, weights, ids, np.from_dlpack(logits)


@pytest.mark.compiled
@about("compiled")
def test_compiled(subject, config, whole, device):
    """One graph over MAX's own pages returns the same logits, for prompts, single tokens and both."""
    from tests.references.pages import Pages

    page_size, weights, ids, logits = 4, whole.weights, whole["full_input"], whole["full_output"]
    if device == "gpu":
        page_size, (config, weights, ids, logits) = 128, at_heads_of_64(config)
    with compiling(f"your model for {device}, with MAX's paged attention"):
        model = build(MaxGPT2LMHeadModel, config, weights=weights)
        pages = Pages(subject, model, batch=BATCH, page_size=page_size, device=open_device(device))
    held = np.zeros(BATCH, int)
    for counts in CALLS:
        result = pages(ragged(ids, held, counts), counts)
        held += counts
        equal(result, wanted(logits, held), VOCAB_AXES, what=f"the compiled model on {device}")
