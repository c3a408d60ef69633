"""Step 14, the KV cache: what is claimed. Hugging Face's numbers were recorded with its own cache."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from checker.claims import Refusal, about, equal, require
from checker.claims.modules import build, run, shapes_of
from checker.claims.vocabulary import KEPT
from checker.compiling import compiling
from checker.max_adapter.runtime import open_device, tensor
from checker.numeric.comparison import close
from solutions.caching import PADDING
from solutions.solution_01 import GPT2Config
from solutions.solution_11 import MaxGPT2LMHeadModel
from solutions.solution_12 import Sampling, generate_tokens

DEEPER = ("transformer.h.2", "transformer.h.3")
LOGITS = ("batch", "token", "logit")
SLOTS = ("batch", "head", "slot", "channel")
PADDED = -1e9
NOTHING_CACHED = np.zeros((0, 0), np.int64)  # with it a CachedModel begins anew, with the prompt
DRAWN = np.random.RandomState(14)
KEYS, VALUES = (DRAWN.standard_normal((2, 3, 13, 5)).astype(np.float32) for _ in range(2))
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


def weights_under(mask, scores):
    """Return what a mask makes of scores: the weights after the softmax."""
    return np.asarray(softmax(scores + mask), np.float32)


@about("cache_mask")
def test_mask(subject):
    """A new token may look at itself and at all tokens before it, but not at later ones or at padding."""
    for sequence_length, total, padding in ((3, 7, (0, 0)), (3, 7, (2, 0)), (1, 7, (0, 5)), (7, 7, (0, 0))):
        blocked = np.where(np.arange(total) < np.array(padding)[:, None], PADDED, 0).astype(np.float32)
        mask = run(lambda blocked, length=sequence_length: subject.cache_mask(length, blocked), blocked)
        shape = [int(size) for size in mask.shape]
        wanted, of = (2, 3, sequence_length, total), f"{sequence_length} of {total} tokens"
        try:
            mask = np.broadcast_to(array(mask), wanted)
        except ValueError:
            raise Refusal(f"The mask of {of} has the shape {shape}, and must have {[2, 1, *wanted[2:]]}.") from None
        slots, rows = np.arange(total), np.arange(total - sequence_length, total)[:, None]
        visible = (slots <= rows) & (slots >= np.array(padding)[:, None, None, None])
        scores = np.random.RandomState(7).standard_normal(wanted).astype(np.float32)
        equal(
            weights_under(mask, scores),
            weights_under(np.where(visible, 0, PADDED), scores),
            ("batch", "head", "new token", "token"),
            what=f"the softmax of masked scores, {of} new, padding {list(padding)},",
            whose="it should be",
        )


@about("cache_mask")
def test_a_row_of_padding_stays_finite(subject):
    """A row of padding gets weights, too, though nothing looks at it: 0/0 would spread through the cache."""
    blocked = np.where(np.arange(5) < np.array([[2], [0]]), PADDED, 0).astype(np.float32)
    mask = np.broadcast_to(array(run(lambda blocked: subject.cache_mask(5, blocked), blocked)), (2, 1, 5, 5))
    require(bool(np.isfinite(mask.max(axis=-1)).all()), "A row of padding is masked everywhere with minus infinity.")


def attended(subject, attention, block_cache, hidden_states):
    """What cached_attention returns for three new tokens; older files take the cache before the mask."""
    call = partial(subject.cached_attention, attention, block_cache=block_cache)
    return run(lambda mask, hidden_states: call(hidden_states, mask=mask), MASK, hidden_states)


@about("cached_attention")
def test_attention_of_the_last_tokens(subject, attention, reference):
    """Given the last 3 of 7 tokens, with 4 in the cache, it returns Hugging Face's outputs for them."""
    keys, values = KEYS.copy(), VALUES.copy()
    keys[:, :, :4], values[:, :, :4] = reference["keys"][:, :, :4], reference["values"][:, :, :4]
    keys, values = tensor(keys), tensor(values)
    output = attended(subject, attention, (keys, values), reference["hidden_states"][:, 4:])
    equal(output, reference["attention"], what="cached_attention(…)")


@about("cached_attention")
def test_what_is_cached(subject, attention, reference):
    """It stores the new tokens' keys and values in the cache, split into heads, after the earlier ones."""
    keys, values = tensor(KEYS), tensor(VALUES)  # other sequences than above: nothing is kept of another call
    array(attended(subject, attention, (keys, values), reference["hidden_states"][::-1, 4:]))
    for name, buffer, before in (("keys", keys, KEYS), ("values", values, VALUES)):
        expected = before.copy()
        expected[:, :, 4:7] = reference[name][::-1, :, 4:]
        equal(array(buffer), expected, SLOTS, what=f"the cached {name}")


@about("forward")
def test_one_token(subject, shallow, config, reference):
    """Given one token after five in the cache, it returns Hugging Face's logits: [batch, 1, vocab]."""
    cache = cache_with(replace(config, n_layer=2), 2, reference["past"])
    logits = show(subject.CachedGPT2(shallow), cache, reference["input"][:, 5:6], past=5)
    equal(logits, reference["next"], LOGITS, what="the logits after 6 tokens")


@about("forward")
def test_several_tokens_and_different_lengths(subject, shallow, config, reference):
    """A batch with prompts of 3 and 6 tokens, then one token, then three at once: the logits match Hugging Face's."""
    cached, cache = subject.CachedGPT2(shallow), cache_with(replace(config, n_layer=2), 2)
    tokens, wanted, padding = reference["padded_tokens"], reference["shallow_logits"], (3, 0)
    prompts = np.stack([np.pad(reference["short_input"], (3, 0)), reference["long_input"]])
    for new, past, place in ((prompts, 0, 0), (tokens[:, :1], 6, 1), (tokens[:, 1:4], 7, 4)):
        logits = show(cached, cache, new, past, padding)
        equal(logits, wanted[:, place : place + 1], LOGITS, what=f"the logits after {past + new.shape[1]} tokens")
    again = show(cached, cache, prompts[::-1], 0, padding[::-1])
    require(close(again, wanted[::-1, :1]), KEPT, again)


@pytest.mark.drawn
@about("forward")
def test_other_numbers(subject, solution, draw):
    """A new random configuration, weights, and prompts of random lengths work as well."""
    config = replace(GPT2Config(**draw.settings()), n_layer=1)  # the recorded models have more
    draw.drawn["n_layer"] = config.n_layer
    weights = draw.weights(shapes_of(build(MaxGPT2LMHeadModel, config, weights={})))
    model = build(MaxGPT2LMHeadModel, config, weights=weights)
    length, new = draw.whole("seq", 2, 6), draw.whole("new tokens", 1, 2)
    padding = [0, draw.whole("padding", 0, length - 1)]
    ids = draw.ids(config.vocab_size, 2, length + new)
    shown = []
    for module in (subject, solution):
        cached, cache = module.CachedGPT2(model), cache_with(config, 2)
        shown.append(
            [show(cached, cache, ids[:, :length], 0, padding), show(cached, cache, ids[:, length:], length, padding)]
        )
    for what, result, right in zip(("the prompts", "the new tokens"), *shown, strict=True):
        equal(result, right, LOGITS, what=f"the logits after {what}", whose="the solution's")


TEXT = np.array([[3, 1, 4, 1, 5, 9, 2, 6], [2, 7, 1, 8, 2, 8, 1, 8]])
OTHER = np.where(np.arange(8) == [[3], [5]], 0, TEXT)  # a token of each row is another, and the others are not

#: What the cache holds, what is asked for, and how many columns need not run.
ASKED = (
    (TEXT[:, :5], TEXT[:, :6], 5),
    (TEXT[:, :3], TEXT, 3),
    (TEXT, TEXT, 7),  # the last token runs, for its logits
    (TEXT[:, :5], TEXT[:, :5], 4),
    (TEXT, TEXT[:, :4], 3),
    (TEXT, OTHER, 3),
    (TEXT[1:], OTHER[1:], 5),
    (TEXT[::-1], OTHER[::-1], 3),
    (TEXT[:1], TEXT[1:], 0),
    (TEXT[:1, 1:], TEXT[:1], 0),  # a text that has slid
    (TEXT[:, :0], TEXT, 0),
    (TEXT[:, :1], TEXT[:, :1], 0),
    (TEXT[:1], np.append(TEXT[:1], [[7]], axis=1), 8),
)


@about("cached_prefix_length")
def test_what_need_not_run(subject):
    """All tokens before the first new one are counted, but never the last: it has to run, for its logits."""
    found = [subject.cached_prefix_length(cached.copy(), asked.copy()) for cached, asked, _ in ASKED]
    for (cached, asked, wanted), past in zip(ASKED, found, strict=True):
        require(isinstance(past, int | np.integer), f"cached_prefix_length returns {past!r}: return an integer.", found)
        sentence = (
            f"Of {asked.tolist()}, with {cached.tolist()} in the cache, {past} columns are counted, and {wanted} "
            f"need not run."
        )
        require(past == wanted, sentence, [int(each) for each in found])


def masked(logits, right, what):
    """Refuse logits that are not ``right``; of a mask that is right until MAX compiles it, say which one stays."""
    try:
        equal(logits, right, LOGITS, what=what)
    except Refusal as refusal:
        sentence = (
            "The mask was right before MAX compiled the graph, and MAX 26.7 may have dropped it: cut the new tokens' "
            "rows out of step 02's causal_mask, and add one new axis at a time, as cache_mask's docstring says."
        )
        raise Refusal(f"{refusal} {sentence}", refusal.observed, compared=refusal.compared, foreseen=True) from None


@pytest.mark.compiled
@about("compiled")
def test_compiled(subject, model, config, reference, device):
    """One graph gives Hugging Face's logits at every position, and for prompts of two lengths."""
    with compiling(f"your module for {device}"):
        cached = subject.compile_cached(model, open_device(device))
    for start, batch in ((1, 2), (5, 1), (13, 2)):
        cached.cached_ids = NOTHING_CACHED
        for length in range(start, 14):
            what = f"the logits after {length} tokens, a prompt of {start}, on {device}"
            logits = cached(reference["input"][:batch, :length])
            masked(logits, reference["output"][:batch, length - 1 : length], what)
    prompts = np.stack([np.pad(reference["short_input"], (3, 0), constant_values=PADDING), reference["long_input"]])
    text = np.concatenate([prompts, reference["padded_tokens"]], axis=1)
    cached.cached_ids = NOTHING_CACHED
    for count in range(7):
        what = f"the logits {count} tokens after two prompts, one of them padded, on {device}"
        masked(cached(text[:, : 6 + count]), reference["padded_logits"][:, count : count + 1], what)
    tokens = generate_tokens(cached, prompts, 7, Sampling(temperature=0), n_positions=config.n_positions)
    equal(tokens[:, 6:], reference["padded_tokens"], ("row", "token"), what="the greedy text")
