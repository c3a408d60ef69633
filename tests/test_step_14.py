"""Step 14, the KV cache: what is claimed.

Hugging Face's numbers were recorded with its own cache. What decides which tokens run again, ``CachedModel``,
is tried around a made-up graph that keeps token ids where the real one keeps keys and values.
"""

from dataclasses import replace

import numpy as np
import pytest
from max.driver import CPU
from max.experimental.nn import Module
from max.experimental.tensor import Tensor

from checker.claims import Refusal, about, equal, error_of, is_value, require
from checker.claims.modules import build, run, shapes_of
from checker.max_adapter.runtime import compiling, open_device, tensor
from solutions.solution_01 import GPT2Config
from solutions.solution_11 import MaxGPT2LMHeadModel
from solutions.solution_12 import generate_tokens

DEEPER = ("transformer.h.2", "transformer.h.3")
LOGITS = ("batch", "token", "vocab")
SLOTS = ("batch", "head", "slot", "channel")
PADDED = -1e9
HIDES = -50  # what is added to a score; from here down, exp leaves nothing that the tolerance could see
DRAWN = np.random.RandomState(14)
QUERY, KEYS, VALUES = (DRAWN.standard_normal((2, 3, size, 5)).astype(np.float32) for size in (3, 13, 13))
MASK = np.where(np.arange(7) <= np.arange(4, 7)[:, None], 0, -np.inf).astype(np.float32)[None, None].repeat(2, axis=0)


@pytest.fixture(scope="module")
def config(reference):
    return GPT2Config(**reference.config)


@pytest.fixture(scope="module")
def model(config, reference):
    """Step 11's model with Hugging Face's weights."""
    return build(MaxGPT2LMHeadModel, config, weights=reference.weights)


@pytest.fixture(scope="module")
def shallow(config, reference):
    """Its first two blocks: enough for two caches, in half the time."""
    weights = {name: array for name, array in reference.weights.items() if not name.startswith(DEEPER)}
    return build(MaxGPT2LMHeadModel, replace(config, n_layer=2), weights=weights)


@pytest.fixture
def attention(model):
    """Step 07's module, of the first block."""
    return model.transformer.h[0].attn


def softmax(scores):
    powers = np.exp(scores.astype(np.float64) - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def array(value):
    return np.from_dlpack(value).copy()


def cache_with(config, batch, past=()):
    """Make a cache: what is ``past``, [layer, 2, batch, head, slot, channel], then what nobody may see."""
    numbers = np.full((config.n_layer, 2, batch, config.n_head, config.n_positions, config.head_dim), 7, np.float32)
    if len(past):
        numbers[..., : past.shape[-2], :] = past
    return [(tensor(keys), tensor(values)) for keys, values in numbers]


def show(cached, cache, input_ids, past=0, padding=(0,)):
    """The logits that the graph gives for ``input_ids`` from slot ``past`` on, rows beginning with ``padding``."""
    total = past + input_ids.shape[1]
    slots, padding = np.arange(total)[None].repeat(len(input_ids), axis=0), np.array(padding)[:, None]
    position_ids = np.maximum(slots - padding, 0)[:, past:]
    padding_mask = np.where(slots >= padding, 0, PADDED).astype(np.float32)
    return array(run(lambda *tensors: cached(*tensors, cache), input_ids, position_ids, padding_mask))


@about("empty_cache")
def test_buffers_for_every_block(step, config):
    """Every block has buffers of its own for n_positions keys and values: [batch, head, n_positions, head_dim]."""
    cache = step.empty_cache(config, 2, device=CPU())
    is_value("the number of pairs in the cache", len(cache), config.n_layer)
    memory = []
    for pair in cache:
        is_value("the number of buffers of a block", len(pair), 2)
        for buffer in pair:
            require(isinstance(buffer, Tensor), f"A buffer is {type(buffer).__name__}, and must be a Tensor.")
            is_value("the shape of a buffer", [int(size) for size in buffer.shape], [2, 3, 13, 5])
            is_value("the type of a buffer", buffer.dtype.name, "float32")
            memory.append(np.from_dlpack(buffer).__array_interface__["data"][0])
    count = len(set(memory))
    require(
        count == len(memory),
        f"There are {count} buffers in memory for {len(memory)} keys and values: what one block writes, another loses.",
    )


@about("store")
def test_store(step):
    """The new keys lie in slots past to past + seq, and all other slots are as they were."""
    for past, new in ((4, KEYS[:, :, :3] + 1), (0, KEYS[:, :, :5] + 1), (12, KEYS[:, :, :1] + 1)):
        buffer = tensor(KEYS)
        after = run(lambda new, buffer=buffer, past=past: (step.store(buffer, new, past), buffer)[1], new)
        expected = KEYS.copy()
        expected[:, :, past : past + new.shape[2]] = new
        equal(
            after, expected, SLOTS, what=f"the cache after storing {new.shape[2]} behind {past}", whose="it should be"
        )


def weights_under(mask, scores):
    """Return what a mask makes of scores: the weights after the softmax."""
    return np.asarray(softmax(scores + mask), np.float32)


@about("cache_mask")
def test_mask(step):
    """A new token may look at all tokens before it and at itself, not at those after it, nor at padding."""
    for sequence_length, padding in ((3, (0, 0)), (3, (2, 0)), (1, (0, 5)), (7, (0, 0))):
        blocked = np.where(np.arange(7) < np.array(padding)[:, None], PADDED, 0).astype(np.float32)
        mask = run(lambda blocked, length=sequence_length: step.cache_mask(length, blocked), blocked)
        shape = [int(size) for size in mask.shape]
        wanted = (2, 3, sequence_length, 7)
        try:
            mask = np.broadcast_to(array(mask), wanted)
        except ValueError:
            sentence = (
                f"The mask of {sequence_length} of 7 tokens has the shape {shape}, and must have {[2, 1, *wanted[2:]]}."
            )
            raise Refusal(sentence) from None
        slots, rows = np.arange(7), np.arange(7 - sequence_length, 7)[:, None]
        visible = (slots <= rows) & (slots >= np.array(padding)[:, None, None, None])
        scores = np.random.RandomState(7).standard_normal(wanted).astype(np.float32)
        equal(
            weights_under(mask, scores),
            weights_under(np.where(visible, 0, PADDED), scores),
            ("batch", "head", "new token", "token"),
            what=f"the softmax of masked scores, {sequence_length} of 7 tokens new, padding {list(padding)},",
            whose="it should be",
        )


@about("cache_mask")
def test_a_row_of_padding_stays_finite(step):
    """A row that is padding has weights too, though nobody looks at it: 0/0 would spread through the cache."""
    blocked = np.where(np.arange(5) < np.array([[2], [0]]), PADDED, 0).astype(np.float32)
    mask = np.broadcast_to(array(run(lambda blocked: step.cache_mask(5, blocked), blocked)), (2, 1, 5, 5))
    require(bool(np.isfinite(mask.max(axis=-1)).all()), "A row of padding is masked everywhere with minus infinity.")


@about("attend")
def test_attend(step):
    """The new tokens' queries look at all keys under the given mask: fewer rows than columns."""
    scores = QUERY @ KEYS[:, :, :7].transpose(0, 1, 3, 2) / np.sqrt(5) + MASK
    expected = (softmax(scores) @ VALUES[:, :, :7]).astype(np.float32)
    output = run(step.attend, QUERY, KEYS[:, :, :7], VALUES[:, :, :7], MASK)
    equal(output, expected, ("batch", "head", "token", "channel"), what="attend(…)", whose="the formula's")


@about("cached_attention")
def test_attention_of_the_last_tokens(step, attention, reference):
    """Shown the last 3 of 7 tokens, with 4 in the cache, it returns Hugging Face's numbers for them."""
    keys, values = KEYS.copy(), VALUES.copy()
    keys[:, :, :4], values[:, :, :4] = reference["keys"][:, :, :4], reference["values"][:, :, :4]
    keys, values = tensor(keys), tensor(values)
    output = run(
        lambda mask, hidden_states: step.cached_attention(attention, keys, values, mask, hidden_states),
        MASK,
        reference["hidden_states"][:, 4:],
    )
    equal(output, reference["attention"], what="cached_attention(…)")


@about("cached_attention")
def test_what_is_cached(step, attention, reference):
    """Keys and values of the new tokens are left in the cache, split into heads, behind those before."""
    keys, values = tensor(KEYS), tensor(VALUES)
    array(
        run(
            lambda mask, hidden_states: step.cached_attention(attention, keys, values, mask, hidden_states),
            MASK,
            reference["hidden_states"][:, 4:],
        )
    )
    for name, buffer, before in (("keys", keys, KEYS), ("values", values, VALUES)):
        expected = before.copy()
        expected[:, :, 4:7] = reference[name][:, :, 4:]
        equal(array(buffer), expected, SLOTS, what=f"the cached {name}")


@about("forward")
def test_one_token(step, shallow, config, reference):
    """Shown one token after five that are in the cache, it returns Hugging Face's logits: [batch, 1, vocab]."""
    cache = cache_with(replace(config, n_layer=2), 2, reference["past"])
    logits = show(step.CachedGPT2(shallow), cache, reference["input"][:, 5:6], past=5)
    equal(logits, reference["next"], LOGITS, what="the logits after 6 tokens")


@about("forward")
def test_several_tokens_and_different_lengths(step, shallow, config, reference):
    """A batch of prompts of 3 and 6 tokens, then one token, then three at once: the logits are Hugging Face's."""
    cached, cache = step.CachedGPT2(shallow), cache_with(replace(config, n_layer=2), 2)
    tokens, wanted, padding = reference["padded_tokens"], reference["shallow_logits"], (3, 0)
    prompts = np.stack([np.pad(reference["short_input"], (3, 0)), reference["long_input"]])
    for new, past, place in ((prompts, 0, 0), (tokens[:, :1], 6, 1), (tokens[:, 1:4], 7, 4)):
        logits = show(cached, cache, new, past, padding)
        equal(logits, wanted[:, place : place + 1], LOGITS, what=f"the logits after {past + new.shape[1]} tokens")


class Toy:
    """A graph that keeps ids and positions in the cache's slots, and whose logits tell all that is visible there."""

    def __init__(self, broken=False):
        self.cache, self.shown, self.broken = None, [], broken

    def __call__(self, input_ids, position_ids, padding_mask, cache):
        input_ids, position_ids, padding_mask = map(np.array, (input_ids, position_ids, padding_mask))
        (batch, new), total = input_ids.shape, padding_mask.shape[1]
        require(new > 0, "The graph is shown no token at all, and has no logits to give; run at least the last one.")
        sentence = (
            f"The graph is shown {new} new tokens, and a mask of {total}; the mask is of all tokens, old and new."
        )
        require(new <= total, sentence)
        for name, ids in (("token ids", input_ids), ("positions", position_ids)):
            require(bool((ids >= 0).all()), f"The graph is shown negative {name}, which are no rows of a table.")
        is_value("the shape of the positions", list(position_ids.shape), [batch, new])
        is_value("the type of the mask", padding_mask.dtype.name, "float32")
        is_value("the number of rows that the cache has room for", int(cache[0][0].shape[0]), batch)
        if cache is not self.cache:
            self.cache, self.slots = cache, np.full((2, batch, 13), 99)
        self.slots[:, :, total - new : total] = input_ids, position_ids
        self.shown.append((input_ids, position_ids, padding_mask))
        if self.broken:
            self.slots[:, :, total - new : total] = 77
            raise KeyboardInterrupt
        return self.answer(*self.slots[:, :, :total], padding_mask)

    @staticmethod
    def answer(ids, positions, mask):
        """Logits [batch, 1, 11] in which every visible token and its position has a part."""
        waves = np.sin(np.arange(1, 12) * (ids[..., None] * 0.7 + positions[..., None] * 2.3 + 1.1))
        return (softmax(mask)[..., None] * waves).sum(axis=1, keepdims=True).astype(np.float32)


def without_cache(input_ids, padding=-1):
    """Return what the made-up graph says of all tokens at once."""
    is_token = input_ids != padding
    positions = np.maximum(is_token.cumsum(axis=-1) - 1, 0)
    return Toy.answer(input_ids, positions, np.where(is_token, 0, PADDED))


TEXT = np.array([[3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9], [2, 7, 1, 8, 2, 8, 1, 8, 2, 8, 4, 5, 9]])
OTHER = np.array([[3, 1, 4, 4, 5, 9, 2, 6], [2, 7, 1, 8, 1, 8, 1, 8]])  # as TEXT, but from column 3 in one row


def remembering(step, config, graph=None):
    return step.CachedModel(graph or Toy(), config, CPU())


@about("cached_prefix_length")
def test_cached_prefix_length(step, config):
    """The cached prefix is the columns equal to the cached ones, from the first on, without the very last token."""
    model = remembering(step, config)
    counted = {}
    for case, cached_ids, asked in (
        ("nothing is cached", TEXT[:, :0], TEXT[:, :5]),
        ("one token more", TEXT[:, :5], TEXT[:, :6]),
        ("several tokens more", TEXT[:, :5], TEXT[:, :9]),
        ("the same again", TEXT[:, :5], TEXT[:, :5]),
        ("fewer tokens", TEXT[:, :7], TEXT[:, :4]),
        ("another token in one row", TEXT[:, :8], OTHER),
        ("equal columns after one that differs", TEXT[:1, :8], OTHER[:1]),
        ("another first token", TEXT[:, :5], TEXT[:, :6][:, ::-1]),
        ("another number of rows", TEXT[:1, :5], TEXT[:, :6]),
    ):
        setattr(model, "cached_ids" if hasattr(model, "cached_ids") else "seen", cached_ids)  # seen: an earlier name
        counted[case] = int(model.cached_prefix_length(asked))
    wanted = dict(zip(counted, (0, 5, 5, 4, 3, 3, 3, 0, 0), strict=True))
    wrong = [case for case in wanted if counted[case] != wanted[case]]
    require(
        not wrong,
        *(f"{case}: {counted[case]} tokens count as cached, and it must be {wanted[case]}." for case in wrong[:1]),
        counted,
    )


@about("__call__")
def test_only_new_tokens_run(step, config):
    """The prompt runs once, then each new token alone, under a mask of all tokens."""
    graph = Toy()
    model = remembering(step, config, graph)
    for length in (5, 6, 7, 10, 13):
        model(TEXT[:, :length])
    shown = [(new.shape[1], mask.shape[1]) for new, _, mask in graph.shown]
    is_value("(new tokens, all tokens) that the graph was shown", shown, [(5, 5), (1, 6), (1, 7), (3, 10), (3, 13)])


@about("__call__")
def test_positions_and_padding(step, config):
    """Positions go on where the text before ended, and leave padding out; padding is masked, and finitely."""
    graph = Toy()
    model = remembering(step, config, graph)
    text = np.array(step.pad_left([[3, 1], [4, 1, 5, 9]]))
    text.flags.writeable = False  # it is the caller's
    model(text)
    model(np.concatenate([text, [[2], [6]]], axis=1))
    for (_, positions, mask), tokens, slots in zip(
        graph.shown, ([[-1, -1, 0, 1], [0, 1, 2, 3]], [[2], [4]]), (4, 5), strict=True
    ):
        real = np.array(tokens) >= 0
        equal(positions[real], np.array(tokens)[real], ("token",), what="the positions", whose="they should be")
        is_value("the shape of the padding mask", mask.shape, (2, slots))
        require(
            bool(np.isfinite(mask).all()), "Padding is masked with minus infinity; 0/0 would spread from there.", mask
        )
        is_padding = np.arange(slots) < np.array([[2], [0]])
        wrong = np.where(is_padding, mask > HIDES, mask != 0)
        row, token = np.unravel_index(int(wrong.argmax()), wrong.shape)
        wanted = (
            "it is padding: give it a large negative number, -1e9"
            if is_padding[row, token]
            else "it is none: give it 0"
        )
        require(
            not wrong.any(),
            f"The padding mask of token {token} in row {row} is {mask[row, token]:g}, and {wanted}.",
            mask,
        )


@about("__call__")
def test_the_answer_is_that_of_the_tokens_asked(step, config):
    """Whatever was asked before, the logits are those of the tokens given now, as without a cache."""
    model = remembering(step, config)
    padded = step.pad_left([[3, 1], [4, 1, 5, 9]])
    for case, asked in (
        ("a prompt", TEXT[:, :5]),
        ("one token more", TEXT[:, :6]),
        ("the same again", TEXT[:, :6]),
        ("another prompt", OTHER),
        ("fewer tokens", OTHER[:, :3]),
        ("more rows", np.concatenate([TEXT, OTHER[:, :1].repeat(13, axis=1)])),
        ("prompts of two lengths", padded),
        ("and a token more", np.concatenate([padded, [[2], [6]]], axis=1)),
        ("the same tokens without padding", np.maximum(padded, 0)),
    ):
        equal(model(asked), without_cache(asked), LOGITS, what=f"{case}: the logits", whose="without a cache")


@about("__call__")
def test_the_callers_array_stays_the_callers(step, config):
    """An array that is changed after the call does not change what counts as cached."""
    model = remembering(step, config)
    asked = TEXT[:, :6].copy()
    model(asked)
    asked[:, 2] = 0
    equal(model(asked), without_cache(asked), LOGITS, what="the logits of the changed array", whose="without a cache")


@about("__call__")
def test_a_run_that_was_broken_off(step, config):
    """After a run that ended early, what it may have written does not count as cached."""
    graph = Toy()
    model = remembering(step, config, graph)
    model(TEXT[:, :8])
    graph.broken = True
    with pytest.raises(KeyboardInterrupt):
        model(OTHER)
    graph.broken = False
    equal(model(TEXT), without_cache(TEXT), LOGITS, what="the logits after that", whose="without a cache")


@about("__call__")
def test_a_full_context(step, config):
    """n_positions tokens fit exactly; one more is a ValueError that names both numbers, and nothing is lost by it."""
    model = remembering(step, config)
    equal(model(TEXT), without_cache(TEXT), LOGITS, what="the logits of a full context", whose="without a cache")
    more = np.concatenate([TEXT, TEXT[:, :1]], axis=1)
    message = error_of("a sequence of 14 tokens", lambda: model(more))
    require("14" in message and "13" in message, f"The message is {message!r}, and must name 14 and 13.")
    equal(model(TEXT), without_cache(TEXT), LOGITS, what="the logits after that", whose="without a cache")
    message = error_of("a row that ends with padding", lambda: model(np.array([[3, -1]])))
    require("padding" in message, f"The message is {message!r}, and must say what padding is for.")


@about("__call__")
def test_text_slides_as_without_a_cache(step, config):
    """Step 12's text is the same to the token with a cache and without, also beyond a full context."""
    settings = {"temperature": 0, "n_positions": config.n_positions}
    prompts = step.pad_left([TEXT[0, :4], TEXT[1, :7]])
    tokens = generate_tokens(remembering(step, config), prompts, 12, **settings)
    wanted = generate_tokens(without_cache, prompts, 12, **settings)
    equal(np.asarray(tokens), wanted, ("row", "token"), what="the text", whose="without a cache")


@pytest.mark.drawn
@about("forward")
def test_other_numbers(step, answer, draw):
    """A configuration, weights, and prompts of lengths drawn anew are right as well."""
    config = GPT2Config(**draw.settings())
    weights = draw.weights(shapes_of(build(MaxGPT2LMHeadModel, config, weights={})))
    model = build(MaxGPT2LMHeadModel, config, weights=weights)
    length, new = draw.whole("seq", 2, 6), draw.whole("new tokens", 1, 2)
    padding = [0, draw.whole("padding", 0, length - 1)]
    ids = draw.ids(config.vocab_size, 2, length + new)
    shown = []
    for one in (step, answer):
        cached, cache = one.CachedGPT2(model), cache_with(config, 2)
        shown.append(
            [show(cached, cache, ids[:, :length], 0, padding), show(cached, cache, ids[:, length:], length, padding)]
        )
    for what, result, right in zip(("the prompts", "the new tokens"), *shown, strict=True):
        equal(result, right, LOGITS, what=f"the logits after {what}", whose="the solution's")


@pytest.mark.drawn
@about("__call__")
def test_other_texts(step, config, draw):
    """Texts drawn anew, one after another, are answered as without a cache."""
    model = remembering(step, config)
    for _ in range(draw.whole("texts", 3, 6)):
        padding, length = draw.whole("padding", 0, 3), draw.whole("seq", 4, 13)
        ids = draw.ids(3, draw.whole("batch", 1, 2), length).copy()
        ids[0, :padding] = -1
        equal(model(ids), without_cache(ids), LOGITS, what="the logits", whose="without a cache")


@about("compile_cached")
def test_what_is_compiled(step, model, config, monkeypatch):
    """The graph takes any batch, any number of new tokens and any number of all tokens, and may write to the cache."""
    traced = []

    def trace(module, *types, **options):
        traced.append(types)
        module.trace(*types)
        return lambda *arguments: arguments[0]

    with monkeypatch.context() as patch:
        patch.setattr(Module, "compile", trace)
        cached = step.compile_cached(model, CPU())
    require(isinstance(cached, step.CachedModel), "compile_cached must return a CachedModel.")
    require(len(traced) == 1, f"compile_cached compiles {len(traced)} graphs; one is enough for prompt and token.")
    input_ids, position_ids, padding_mask, cache = traced[0]
    shapes = [[str(size) for size in kind.shape] for kind in (input_ids, position_ids, padding_mask, cache[0][0])]
    symbolic = [[axis for axis, size in enumerate(shape) if not size.isdigit()] for shape in shapes]
    is_value("the axes of ids, positions, mask and buffer that are symbolic", symbolic, [[0, 1], [0, 1], [0, 1], [0]])
    is_value("the number of pairs in the cache", len(cache), config.n_layer)


@pytest.mark.compiled
@about("compiled")
def test_compiled(step, model, config, reference, device):
    """One graph gives Hugging Face's logits at every position, and for prompts of two lengths."""
    target = open_device(device)
    if device != "cpu":
        model.to(target)
    with compiling(f"your module for {device}"):
        cached = step.compile_cached(model, target)
    for start in (1, 5, 13):
        for length in range(start, 14):
            logits = cached(reference["input"][:, :length])
            wanted = reference["output"][:, length - 1 : length]
            equal(logits, wanted, LOGITS, what=f"the logits after {length} tokens, a prompt of {start}, on {device}")
    prompts = step.pad_left([reference["short_input"], reference["long_input"]])
    text = np.concatenate([prompts, reference["padded_tokens"]], axis=1)
    for count in range(7):
        logits = cached(text[:, : 6 + count])
        equal(
            logits, reference["padded_logits"][:, count : count + 1], LOGITS, what=f"{count} tokens after two prompts"
        )
    tokens = generate_tokens(cached, prompts, 7, temperature=0, n_positions=config.n_positions)
    equal(tokens[:, 6:], reference["padded_tokens"], ("row", "token"), what="the greedy text")
