"""Warm-up 07, a cache: what is claimed. No MAX is needed.

What must come out is what loops say of the whole text at once, whatever the pieces in which it is shown.
"""

import math

import numpy as np
import pytest

from checker.claims import Refusal, about, error_of, first_of, is_value, require
from tests.references import naive
from tests.references.naive import BATCH, HEAD_DIM, HEADS, LENGTH, WIDTH, drawn, equal

CAPACITY = 11
FREE = 7.0  # stands in every slot that is free
HUGE = 1e30  # may stand there as well
SLOTS = ("batch", "head", "slot", "channel")
FOUND = ("batch", "head", "new token", "channel")
SPLITS = ((LENGTH,), (1,) * LENGTH, (3, 4), (2, 1, 3, 1))


@pytest.fixture
def x():
    return drawn("x", BATCH, LENGTH, WIDTH)


@pytest.fixture
def W_qkv():
    return drawn("W_qkv", WIDTH, 3 * WIDTH) / math.sqrt(WIDTH)


@pytest.fixture
def W_o():
    return drawn("W_o", WIDTH, WIDTH) / math.sqrt(WIDTH)


@pytest.fixture(scope="module")
def buffers():
    """Keys and values of as many tokens as there are slots."""
    return [drawn(name, BATCH, HEADS, CAPACITY, HEAD_DIM) for name in ("keys", "values")]


def cache_with(subject, buffers, length, free=FREE):
    """Make a cache that holds the first ``length`` tokens of ``buffers``, with ``free`` in the slots behind them."""
    filled = [buffer.copy() for buffer in buffers]
    for sign, buffer in zip((1, -1), filled, strict=True):
        buffer[..., length:, :] = sign * free
    return subject.Cache(*filled, length)


def empty_cache(subject, *shape):
    """Make a cache without a token: [batch, head, capacity, head_dim]."""
    return subject.Cache(np.zeros(shape), np.zeros(shape))


def is_filled(cache, buffers, length, after):
    """Refuse unless a cache holds the first ``length`` tokens of ``buffers``, and has all of its slots."""
    for name, buffer in zip(("keys", "values"), buffers, strict=True):
        held = getattr(cache, name)
        shape = getattr(held, "shape", None)
        require(
            shape == buffer.shape,
            f"cache.{name} has the shape {shape and list(shape)} {after}, and must keep that of its buffer, "
            f"{list(buffer.shape)}.",
        )
        equal(held[..., :length, :], buffer[..., :length, :], SLOTS, what=f"cache.{name}, its filled slots, {after}")


def holds(cache, length, after):
    """Refuse unless a cache counts ``length`` tokens."""
    require(
        isinstance(cache.length, int | np.integer) and cache.length == length,
        f"cache.length is {cache.length!r} {after}, and must be {length}.",
    )


def names_both(call, total, function):
    """Refuse unless a call is refused with a ValueError that names how many tokens there would be, and the capacity."""
    message = error_of(call, function)
    for number in (total, CAPACITY):
        require(str(number) in message, f"The message of {call} is {message!r}, and must name {number}.")


@about("next_positions")
def test_positions_go_on(subject, buffers):
    """New tokens take the positions after those in the cache, from 0 if it is empty; no tokens take none."""
    for length, new in ((0, 5), (5, 3), (8, 1), (10, 1), (4, 0)):
        positions = subject.next_positions(cache_with(subject, buffers, length), new)
        what = f"next_positions for {new} after {length}"
        if getattr(positions, "dtype", None) == np.int32:  # which has room enough, too
            positions = positions.astype(np.int64)
        equal(positions, np.arange(length, length + new), ("new token",), what=what, whose="it should be")


@about("next_positions")
def test_asking_changes_nothing(subject, buffers):
    """Asking for positions leaves the cache unchanged."""
    cache = cache_with(subject, buffers, 5)
    subject.next_positions(cache, 3)
    holds(cache, 5, "after next_positions(cache, 3)")
    is_filled(cache, buffers, 5, "after next_positions(cache, 3)")


@about("append")
def test_append(subject, buffers):
    """New keys and values follow the earlier ones, each in its own buffer."""
    for length, new in ((5, 6), (0, 4), (4, 1)):
        cache = cache_with(subject, buffers, length)
        subject.append(cache, *(buffer[..., length : length + new, :] for buffer in buffers))
        is_filled(cache, buffers, length + new, f"after {new} were appended behind {length}")


@about("append")
def test_append_counts(subject, buffers):
    """cache.length grows by the number of tokens, one or several."""
    for length, new in ((0, 4), (4, 1), (5, 6)):
        cache = cache_with(subject, buffers, length)
        subject.append(cache, *(buffer[..., length : length + new, :] for buffer in buffers))
        holds(cache, length + new, f"after {new} were appended behind {length}")


@about("append")
def test_one_after_another(subject, buffers):
    """Appended in turn, tokens fill the slots in order, and nothing earlier is overwritten."""
    for split in ((3, 1, 2, 5), (1,) * CAPACITY):
        cache, length = cache_with(subject, buffers, 0), 0
        for new in split:
            subject.append(cache, *(buffer[..., length : length + new, :] for buffer in buffers))
            length += new
            is_filled(cache, buffers, length, f"after {length} tokens, the last {new} in one append")


@about("append")
def test_append_that_is_refused(subject, buffers):
    """Tokens that do not fit raise a ValueError that names both numbers, and leave the cache unchanged."""
    for length, new in ((CAPACITY, 1), (9, 4)):
        cache = cache_with(subject, buffers, length)
        more = [drawn(name, BATCH, HEADS, new, HEAD_DIM) for name in ("more keys", "more values")]
        call = f"append of {new} behind {length} of {CAPACITY}"
        names_both(call, length + new, lambda: subject.append(cache, *more))  # noqa: B023
        holds(cache, length, "after an append that was refused")
        is_filled(cache, buffers, length, "after an append that was refused")


@about("mask_with_past")
def test_mask(subject):
    """Row i is True in columns 0 to past + i: a new token sees all of the past, the new ones before it, and itself."""
    for new, past in ((3, 4), (1, 6), (LENGTH, 0), (1, 0), (2, 1), (2, 300)):
        expected = naive.looks_back(past + new)[past:]
        what = f"mask_with_past({new}, {past})"
        equal(subject.mask_with_past(new, past), expected, ("new token", "token"), what=what, whose="it should be")


def gathered(query, buffers, length):
    """What the queries of the last tokens gather from the first ``length`` tokens of ``buffers``, by loops."""
    keys, values = (buffer[..., :length, :] for buffer in buffers)
    return naive.attention(query, keys, values, naive.looks_back(length)[length - query.shape[-2] :])


def queries(new):
    return drawn("query", BATCH, HEADS, new, HEAD_DIM)


@about("attend_to_cache")
def test_attends_to_everything_before(subject, buffers):
    """Each new token attends to the cache's earlier tokens, to the new ones before it, and to itself."""
    for new, length in ((3, 7), (1, 8), (5, 5), (2, CAPACITY)):
        query = queries(new)
        output = subject.attend_to_cache(query, cache_with(subject, buffers, length))
        what = f"attend_to_cache of the last {new} of {length} tokens"
        equal(output, gathered(query, buffers, length), FOUND, what=what)


@about("attend_to_cache")
def test_a_chunk_does_not_see_its_own_future(subject, buffers):
    """Changing the last token changes only its own row, and none before it in the same chunk."""
    query, changed = queries(3), [buffer.copy() for buffer in buffers]
    for buffer in changed:
        buffer[..., 5, :] += 1
    before = subject.attend_to_cache(query, cache_with(subject, buffers, 6))
    after = subject.attend_to_cache(query, cache_with(subject, changed, 6))
    equal(before, gathered(query, buffers, 6), FOUND, what="attend_to_cache of the last 3 of 6 tokens")
    rows = "the rows before the changed token"
    equal(after[..., :-1, :], before[..., :-1, :], FOUND, what=rows, whose="what it was before")
    require(
        bool(np.abs(after[..., -1, :] - before[..., -1, :]).max() > 1e-3), "The last row does not see its own token."
    )


@about("attend_to_cache")
def test_free_slots_never_matter(subject, buffers):
    """What lies in free slots never matters, even a huge number."""
    for new, length in ((3, 7), (1, 10)):
        query = queries(new)
        output = subject.attend_to_cache(query, cache_with(subject, buffers, length, HUGE))
        what = f"attend_to_cache of the last {new} of {length} tokens, huge numbers behind them,"
        equal(output, gathered(query, buffers, length), FOUND, what=what)


@about("attend_to_cache")
def test_far_apart(subject):
    """Scores of 900, from a large query, do not overflow, whatever the mask hides."""
    keys, values = np.eye(3)[None, None], drawn("value", 1, 1, 3, 3)
    with np.errstate(all="ignore"):
        output = subject.attend_to_cache(naive.FAR_APART[None, None], subject.Cache(keys.copy(), values.copy(), 3))
    expected = naive.attention(naive.FAR_APART, np.eye(3), values[0, 0], naive.looks_back(3))
    equal(output, expected[None, None], FOUND, what="attend_to_cache, scores of 900,")


@about("attend_to_cache")
def test_it_only_reads(subject, buffers):
    """It only reads: attending twice gives the same output and leaves the cache unchanged."""
    query, cache = queries(3), cache_with(subject, buffers, 7)
    for time in ("once", "twice"):
        output = subject.attend_to_cache(query, cache)
        holds(cache, 7, f"after attending {time}")
        is_filled(cache, buffers, 7, f"after attending {time}")
        equal(output, gathered(query, buffers, 7), FOUND, what=f"attend_to_cache, called {time},")


@about("attend_to_cache")
def test_more_queries_than_tokens(subject, buffers):
    """More queries than tokens in the cache raise ValueError: their own keys are not there yet."""
    error_of(
        "attend_to_cache of 3 after 2", lambda: subject.attend_to_cache(queries(3), cache_with(subject, buffers, 2))
    )


def shown(subject, x, W_qkv, W_o, n_head, split, capacity=CAPACITY):
    """Yield what cached_attention returns for each piece of a text: where the piece begins and ends, and the output."""
    cache, past = empty_cache(subject, len(x), n_head, capacity, x.shape[-1] // n_head), 0
    for new in split:
        yield past, past + new, subject.cached_attention(x[:, past : past + new], W_qkv, W_o, cache)
        past += new


def is_whole(subject, x, W_qkv, W_o, n_head, split, whole):
    """Refuse unless a text that is shown in pieces gives the rows that it gives as a whole."""
    for past, total, output in shown(subject, x, W_qkv, W_o, n_head, split):
        what = f"cached_attention of {total - past} behind {past}, {n_head} heads,"
        equal(output, whole[:, past:total], what=what, whose="without a cache")


@about("cached_attention")
def test_all_at_once(subject, x, W_qkv, W_o):
    """Given all tokens at once, it matches multi-head attention under the causal mask, for any number of heads."""
    for n_head in (HEADS, 5, 1):
        whole = naive.multi_head_attention(x, W_qkv, W_o, n_head, naive.looks_back(LENGTH))
        is_whole(subject, x, W_qkv, W_o, n_head, (LENGTH,), whole)


@about("cached_attention")
def test_text_far_apart(subject):
    """Scores of 900, from a large query, do not overflow, in one piece or in several."""
    x, value = np.eye(3), drawn("W_value", 3, 3)
    W_qkv = np.concatenate([naive.FAR_APART, x, value], axis=-1)
    whole = naive.attention(naive.FAR_APART, x, value, naive.looks_back(3))[None]
    for split in ((3,), (2, 1)):
        with np.errstate(all="ignore"):
            is_whole(subject, x[None], W_qkv, x, 1, split, whole)


@about("cached_attention")
def test_in_any_pieces(subject, x, W_qkv, W_o):
    """Given tokens one by one or several at a time, it returns the same rows as without a cache."""
    whole = naive.multi_head_attention(x, W_qkv, W_o, HEADS, naive.looks_back(LENGTH))
    for split in SPLITS:
        is_whole(subject, x, W_qkv, W_o, HEADS, split, whole)
    caches = [empty_cache(subject, BATCH, HEADS, CAPACITY, HEAD_DIM) for _ in range(2)]  # filled in turn
    for past, total in ((0, 3), (3, LENGTH)):
        for cache, order in zip(caches, (1, -1), strict=True):
            output = subject.cached_attention(x[::order, past:total], W_qkv, W_o, cache)
            what = f"cached_attention of {total - past} behind {past}, with two caches filled in turn,"
            equal(output, whole[::order, past:total], what=what, whose="without a cache")


def heads_of(x, W_qkv):
    """Return keys and values by loops over the heads, in buffers of CAPACITY slots."""
    buffers = [np.full((BATCH, HEADS, CAPACITY, HEAD_DIM), FREE) for _ in range(2)]
    for at, buffer in enumerate(buffers, start=1):
        joined = naive.product(x, W_qkv[:, at * WIDTH : (at + 1) * WIDTH])
        for head in range(HEADS):
            buffer[:, head, :LENGTH] = joined[..., head * HEAD_DIM : (head + 1) * HEAD_DIM]
    return buffers


@about("cached_attention")
def test_the_last_tokens(subject, x, W_qkv, W_o):
    """Given the last 3 of 7 tokens, with 4 in the cache, it returns the rows they have in the whole text."""
    whole = naive.multi_head_attention(x, W_qkv, W_o, HEADS, naive.looks_back(LENGTH))
    output = subject.cached_attention(x[:, 4:], W_qkv, W_o, cache_with(subject, heads_of(x, W_qkv), 4))
    equal(output, whole[:, 4:], what="cached_attention of 3 behind 4", whose="without a cache")


@about("cached_attention")
def test_what_is_cached(subject, x, W_qkv, W_o):
    """It stores the new tokens' keys and values in the cache, split into heads, after the earlier ones."""
    buffers = heads_of(x, W_qkv)
    cache = cache_with(subject, buffers, 4)
    subject.cached_attention(x[:, 4:], W_qkv, W_o, cache)
    holds(cache, LENGTH, "after cached_attention of 3 behind 4")
    is_filled(cache, buffers, LENGTH, "after cached_attention of 3 behind 4")


@about("cached_attention")
def test_a_refused_call_does_no_harm(subject, x, W_qkv, W_o):
    """Tokens that do not fit are refused, and a later call that fits still works."""
    whole = naive.multi_head_attention(x, W_qkv, W_o, HEADS, naive.looks_back(LENGTH))
    cache = empty_cache(subject, BATCH, HEADS, 6, HEAD_DIM)
    subject.cached_attention(x[:, :4], W_qkv, W_o, cache)
    error_of("cached_attention of 3 behind 4 of 6", lambda: subject.cached_attention(x[:, 4:], W_qkv, W_o, cache))
    output = subject.cached_attention(x[:, 4:6], W_qkv, W_o, cache)
    equal(output, whole[:, 4:6], what="cached_attention after a refused call", whose="without a cache")


def counted(new, past, width):
    """Count multiplications as the loops of the reference make them: one matrix, one pair of tokens at a time."""
    count = 0
    for _ in range(new):
        for columns in (3 * width, width):  # of W_qkv and W_o, each with a row per channel
            count += width * columns
        for _ in range(past + new):
            count += width  # the dot products of all heads together
            count += width  # the values of all heads together
    return count


@about("multiplications")
def test_multiplications(subject):
    """It counts what loops count: both matrices for every new token, score and value for every pair."""
    answers, refusals = {}, []
    for case in ((LENGTH, 0, WIDTH), (1, 6, WIDTH), (3, 4, WIDTH), (1, 0, 6), (1, 40, 6)):
        answers[case] = subject.multiplications(*case)
        try:
            is_value("multiplications({}, {}, {})".format(*case), answers[case], counted(*case))
        except Refusal as refusal:
            refusals.append(refusal)
    first_of(refusals, observed=repr(answers))


@about("multiplications")
def test_the_last_token_of_gpt2(subject):
    """GPT-2 small's last token takes 3,932,160 with the cache; without it, the whole context takes 4,026,531,840."""
    is_value("multiplications(1, 1023, 768)", subject.multiplications(1, 1023, 768), 3932160)
    is_value("multiplications(1024, 0, 768)", subject.multiplications(1024, 0, 768), 4026531840)


@pytest.mark.drawn
@about("attend_to_cache")
def test_other_caches(subject, solution, draw):
    """Random sizes and numbers work as well."""
    batch, n_head, width = (draw.whole(name, 1, 4) for name in ("batch", "n_head", "head_dim"))
    new, past, free = draw.whole("new tokens", 1, 5), draw.whole("past", 0, 6), draw.whole("free slots", 0, 3)
    buffers = [draw.array(batch, n_head, past + new + free, width, dtype=np.float64) for _ in range(2)]
    query = draw.array(batch, n_head, new, width, dtype=np.float64)
    caches = [(module, cache_with(module, buffers, past + new)) for module in (subject, solution)]
    result, wanted = (module.attend_to_cache(query, cache) for module, cache in caches)
    equal(result, wanted, FOUND, what="attend_to_cache", whose="the solution's")


@pytest.mark.drawn
@about("cached_attention")
def test_other_texts(subject, solution, draw):
    """Random texts, cut anywhere, work as well."""
    batch, n_head = draw.whole("batch", 3, 5), draw.whole("n_head", 1, 5)
    width = n_head * draw.whole("head_dim", 1, 6)
    split = [draw.whole(name, 1, 4) for name in ("first chunk", "second chunk", "third chunk")]
    x, W_qkv, W_o = (
        draw.array(*shape, dtype=np.float64)
        for shape in ((batch, sum(split), width), (width, 3 * width), (width, width))
    )
    capacity = sum(split) + draw.whole("free slots", 0, 3)
    pairs = zip(*(shown(module, x, W_qkv, W_o, n_head, split, capacity) for module in (subject, solution)), strict=True)
    for (past, total, result), (_, _, wanted) in pairs:
        equal(result, wanted, what=f"cached_attention of {total - past} behind {past}", whose="the solution's")
