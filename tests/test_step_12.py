"""Step 12, generation: what is claimed.

Most claims are about a made-up model whose logits depend on nothing but the last token; the greedy
text is made from logits that Hugging Face's model gave. No MAX is needed; ``tests/dev/play/generation/test_engine.py``
compares the text of whole models.
"""

import functools
import inspect

import numpy as np
import pytest

from checker import claims
from checker.claims import Refusal, about, first_of, is_value, keeps_nothing, require

equal = functools.partial(claims.equal, whose="the right number")

VOCAB = 8
TABLE = np.random.RandomState(12).uniform(-2, 2, (VOCAB, VOCAB)).astype(np.float32)  # last token -> logits
LOGITS = TABLE[:3]  # more tokens than rows: neither is taken for the other
FAR = LOGITS - 1000  # GPT-2's own are often near -100
PROMPT = np.array([[3, 1, 4], [0, 2, 2]])
END = 50256  # GPT-2's last id, <|endoftext|>
TINY = 1e-308  # a temperature; two logits over it are infinite, and float32 makes it 0
PEAK = np.array([0.6] + [0.4 / 7] * 7)  # the probabilities that other ways to draw miss the most
BOUND = 50.0  # of chi-squared with 7 degrees of freedom: exceeded by chance once in 70 million times


class Stub:
    """A model that remembers what it was shown, and answers the last position alone if that is asked."""

    def __init__(self, last_alone=False):
        self.seen = []
        self.last_alone = last_alone

    def __call__(self, input_ids):
        self.seen.append(np.array(input_ids))
        return TABLE[input_ids[:, -1:] if self.last_alone else input_ids]


def softmax(logits):
    powers = np.exp(logits.astype(np.float64) - logits.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def are_probabilities(actual, wanted, what):
    """Refuse unless these are the probabilities ``wanted``, in float32, which is off by 3e-8, or in float64."""
    if isinstance(actual, np.ndarray) and actual.dtype == np.float32:
        wanted = wanted.astype(np.float32)
    equal(actual, wanted, ("row", "token"), what=what)


def as_ids(tokens):
    """The tokens in int64, whichever type of integers they have, unless GPT-2's last id does not fit into it."""
    tokens = np.asarray(tokens)
    if tokens.dtype.kind not in "iu" or not np.can_cast(tokens.dtype, np.int64):
        return tokens
    largest = np.iinfo(tokens.dtype).max
    sentence = f"The tokens are {tokens.dtype}, which ends at {largest:,}; GPT-2's ids go up to {END:,}."
    require(largest >= END, sentence)
    return tokens.astype(np.int64)


def all_of(cases):
    """Refuse with the first problem of several cases; the outcomes of all of them tell mistakes apart."""
    outcomes, refusals = {}, []
    for name, case in cases.items():
        try:
            outcomes[name] = case()
        except Refusal as refusal:
            outcomes[name] = refusal.sentence
            refusals.append(refusal)
    first_of(refusals, observed=outcomes)


def settings_of(subject, function, temperature=1.0, top_k=None):
    """The settings as a function takes them: in a Sampling or, in the source tutorial's form, one by one."""
    if "temperature" in inspect.signature(function).parameters:
        return {"temperature": temperature, "top_k": top_k}
    return {"sampling": subject.Sampling(temperature, top_k)}


def next_token(subject, model, prompt, rng, **settings):
    """What generate_next_token returns, with any settings."""
    function = subject.generate_next_token
    return function(model, prompt, rng=rng, **settings_of(subject, function, **settings))


def text_of(subject, model, prompt, count, rng=None, n_positions=1024, **settings):
    """What generate_tokens returns, with any settings."""
    function, settings = subject.generate_tokens, settings_of(subject, subject.generate_tokens, **settings)
    return function(model, prompt, count, rng=rng, n_positions=n_positions, **settings)


def best(logits, top_k):
    """The logits with minus infinity in place of all but the ``top_k`` largest of each row."""
    left = np.argsort(logits, axis=-1)[:, -top_k:]
    masked = np.full_like(logits, -np.inf)
    np.put_along_axis(masked, left, np.take_along_axis(logits, left, -1), -1)
    return masked


def leaves(subject, logits, top_k, wanted, what=""):
    """Refuse unless the softmax of what keep_top_k returns is that of the logits ``wanted``, at any temperature."""
    kept = subject.keep_top_k(logits.copy(), top_k)
    require(isinstance(kept, np.ndarray), f"keep_top_k returns {type(kept).__name__}: return an array.")
    shape = [*logits.shape]
    is_value(f"the shape of the logits with top_k = {top_k}", [*kept.shape], shape)
    are_probabilities(softmax(kept), softmax(wanted), f"the softmax{what} with top_k = {top_k}")
    for temperature in (1, 1000):
        left = float(softmax(kept / temperature)[wanted == -np.inf].max(initial=0))
        settings = named({"temperature": temperature, "top_k": top_k})
        sentence = f"With {settings}, a token below the top_k has a probability of {left:.1g}, not 0."
        require(left == 0, sentence, kept)


@about("keep_top_k")
def test_top_k(subject):
    """After a softmax, only the top_k most likely tokens, and any that tie with the last, have a probability."""
    for top_k in (5, 2, 1, 8):  # of 8, the 5 largest, 6, 4, and those from the 5th smallest on are all different
        for logits in (FAR, LOGITS):
            leaves(subject, logits, top_k, best(logits, top_k))
    tied = np.array([[2, 1, 0, 1]], np.float32)
    leaves(subject, tied, 2, np.where(tied < 1, -np.inf, tied), " of the logits 2, 1, 0 and 1, of which three stay,")


@about("keep_top_k")
def test_top_k_above_the_vocabulary(subject):
    """A top_k above the size of the vocabulary keeps every token."""
    for top_k in (VOCAB + 1, 100):
        leaves(subject, LOGITS, top_k, LOGITS)


@about("keep_top_k")
def test_the_logits_stay(subject):
    """The logits passed in, float64 ones too, are left unchanged."""
    for dtype in (np.float32, np.float64):
        logits = LOGITS.astype(dtype)
        subject.keep_top_k(logits, 2)
        sentence = f"keep_top_k changes the caller's {dtype.__name__} logits: return new ones, as np.where does."
        require(bool(np.array_equal(logits, LOGITS.astype(dtype))), sentence)


@about("softmax")
def test_softmax(subject):
    """At temperature 1, it is the softmax, even of logits that are large, far below 0, as GPT-2's are, or -inf."""
    cases = {"": LOGITS, " of large logits": LOGITS * 1000, " of logits near -1000": FAR, " with top_k": best(FAR, 2)}
    for name, logits in cases.items():
        are_probabilities(subject.softmax(logits, 1.0), softmax(logits), f"the softmax{name}")
    keeps_nothing(lambda logits: subject.softmax(logits, 1.0), LOGITS, right=softmax)


@about("softmax")
def test_temperature(subject):
    """The logits are divided by the temperature before the softmax."""
    for temperature in (0.5, 1.7):
        wanted = softmax(LOGITS / temperature)
        are_probabilities(subject.softmax(LOGITS, temperature), wanted, f"the softmax at temperature {temperature}")
    with np.errstate(all="ignore"):
        probabilities = subject.softmax(LOGITS, TINY)
    wanted = np.eye(VOCAB)[LOGITS.argmax(-1)]
    are_probabilities(probabilities, wanted, f"the softmax at temperature {TINY}")


@about("softmax")
def test_the_logits_stay_in_the_softmax(subject):
    """The logits passed in, float64 ones too, are left unchanged."""
    for dtype in (np.float32, np.float64):
        logits = LOGITS.astype(dtype)
        subject.softmax(logits, 0.5)
        sentence = f"softmax changes the caller's {dtype.__name__} logits: compute with a copy."
        require(bool(np.array_equal(logits, LOGITS.astype(dtype))), sentence)


@about("choose")
def test_greedy(subject):
    """At temperature 0, every row gets its most likely token, without a draw: [batch, vocab] -> [batch]."""
    rows = np.concatenate([LOGITS] * 20)  # so many that sampling them all right is no accident
    tokens = subject.Sampling(0).choose(rows, np.random.default_rng(3))
    equal(as_ids(tokens), rows.argmax(-1), ("row",), what="the array of tokens")


def named(settings):
    """``temperature=0.5, top_k=2``."""
    return ", ".join(f"{name}={value}" for name, value in settings.items()) or "temperature=1.0"


def counts_of(tokens, rows):
    """How often each token came, for each of the ``rows`` kinds of rows that lie behind each other."""
    require(isinstance(tokens, np.ndarray), f"choose returns {type(tokens).__name__}: make an array.")
    return np.stack([np.bincount(row, minlength=VOCAB) for row in as_ids(tokens).reshape(rows, -1)])


def come_as_often(counts, wanted, settings):
    """Refuse unless tokens came as often as their probabilities say, in each row."""
    for count, probabilities in zip(counts, wanted, strict=True):
        draws, possible = int(count.sum()), probabilities > 0
        expected = probabilities * draws
        require(not count[~possible].any(), f"With {named(settings)}, a token below the top_k was drawn.", counts)
        chi_squared = float(((count - expected)[possible] ** 2 / expected[possible]).sum())
        sentence = (
            f"Of {draws} draws with {named(settings)}, the tokens came {count.astype(int).tolist()} times; "
            f"about {expected.round().astype(int).tolist()} is right."
        )
        require(chi_squared < BOUND, sentence, counts)


@about("choose")
def test_draws_follow_the_probabilities(subject):
    """Sampled tokens come as often as their probabilities say, independently for each row."""
    rng, table = np.random.default_rng(7), TABLE[[4, 1]]
    for settings, logits, wanted, draws in (
        ({}, np.log(PEAK, dtype=np.float32)[None], PEAK[None], 2000),
        ({"temperature": 2.5}, table, softmax(table / 2.5), 250),
        ({"top_k": 2}, table, softmax(best(table, 2)), 250),
    ):
        rows = np.repeat(logits, draws // 10, axis=0)
        counts = sum(counts_of(subject.Sampling(**settings).choose(rows, rng), len(logits)) for _ in range(10))
        come_as_often(counts, wanted, settings)


@about("choose")
def test_the_seed_decides(subject):
    """The same seed gives the same tokens, another seed gives others, and every row gets its own draw."""
    rows = np.repeat(TABLE[:1], 40, axis=0)
    first, same, other = (
        np.asarray(subject.Sampling().choose(rows, np.random.default_rng(seed))).tolist() for seed in (1, 1, 2)
    )
    require(first == same, "Two generators with the same seed gave different tokens: draw with rng.")
    require(first != other, "Two seeds gave the same 40 tokens: draw with rng.")
    require(len(set(first)) > 1, "40 rows got the same token: draw once for each row.")


def greedy(rows, length):
    """The ``length`` likeliest tokens behind each row."""
    tokens = [TABLE[rows[:, -1]].argmax(-1)]
    for _ in range(length - 1):
        tokens.append(TABLE[tokens[-1]].argmax(-1))
    return np.stack(tokens, axis=1)


def settings_hold(continued, length, *, rng_is_given):
    """Refuse unless ``continued(rows, **settings)``, ``length`` new tokens per row, obeys every setting everywhere."""
    rows = np.arange(60)[:, None] % VOCAB

    def is_greedy(**settings):
        text = np.asarray(continued(rows, **settings, rng=np.random.default_rng(4)))
        require(np.array_equal(text, greedy(rows, length)), f"With {named(settings)}, it is not the greedy text.")

    def follows_the_seed():
        first, same, other = (
            np.asarray(continued(np.zeros_like(rows), rng=np.random.default_rng(seed))) for seed in (1, 1, 2)
        )
        require(np.array_equal(first, same), "Two generators with the same seed gave different text.")
        varied = all(len(set(place)) > 1 for place in first.T.tolist())
        require(varied, "At temperature 1, all 60 rows got the same token at one position.")
        require(not np.array_equal(first, other), "Two seeds gave the same text.")

    def goes_without_a_generator():
        first, other = (np.asarray(continued(rows, rng=None)) for _ in range(2))
        require(not np.array_equal(first, other), "Without rng the same text came twice.")

    all_of(
        {
            "rng": follows_the_seed,
            "temperature": lambda: is_greedy(temperature=0.0005),  # as good as 0, but drawn
            "temperature 0": lambda: is_greedy(temperature=0),
            "top_k": lambda: is_greedy(top_k=1),
        }
        | ({} if rng_is_given else {"no rng": goes_without_a_generator})
    )


@about("generate_next_token")
def test_one_token(subject):
    """It chooses a token for every row, with the same settings, after the whole prompt: [batch, seq] -> [batch]."""
    model = Stub()
    tokens = np.asarray(next_token(subject, model, PROMPT, np.random.default_rng(6), temperature=0))
    equal(model.seen[0], PROMPT, ("row", "token"), what="the prompt that the model saw")
    is_value("the shape of the tokens", list(tokens.shape), [2])
    settings_hold(lambda rows, **settings: next_token(subject, Stub(), rows, **settings)[:, None], 1, rng_is_given=True)
    half = np.broadcast_to(0.5 * np.log(PEAK, dtype=np.float32), (300, 1, VOCAB))  # at temperature 0.5 it is PEAK
    rows, rng = np.zeros((300, 2), np.int64), np.random.default_rng(8)
    tokens = np.asarray(next_token(subject, lambda input_ids: half, rows, rng, temperature=0.5))
    come_as_often(counts_of(tokens, 1), PEAK[None], {"temperature": 0.5})


@about("generate_next_token")
def test_the_last_position_counts(subject):
    """Only the last position counts: a model may return just its logits, [batch, 1, vocab], as in ./run generate."""
    for last_alone, prompt in ((False, PROMPT), (True, PROMPT), (True, PROMPT[:1])):
        tokens = next_token(subject, Stub(last_alone), prompt, np.random.default_rng(6), temperature=0)
        equal(as_ids(tokens), TABLE[prompt[:, -1]].argmax(-1), ("row",), what="the next token")


@about("generate_tokens")
def test_the_prompt_comes_first(subject):
    """The prompt comes back with max_new_tokens more, <|endoftext|> or not: [batch, seq + max_new_tokens]."""
    keeps_nothing(
        lambda prompt: text_of(subject, Stub(), prompt, 4, temperature=0),
        PROMPT,
        right=lambda prompt: np.concatenate([prompt, greedy(prompt, 4)], axis=1),
    )
    for prompt, count in ((PROMPT, 4), (PROMPT, 1), (PROMPT, 0), (PROMPT[:, :1], 2), (PROMPT[:0], 2)):
        tokens = np.asarray(text_of(subject, Stub(), prompt, count, temperature=0))
        is_value("the shape of the text", list(tokens.shape), [prompt.shape[0], prompt.shape[1] + count])
        equal(tokens[:, : prompt.shape[1]], prompt, ("row", "token"), what="the prompt")
    logits = np.repeat(np.float32(np.arange(END + 1) == END)[None, None], 2, axis=0)
    tokens = np.asarray(text_of(subject, lambda input_ids: logits, PROMPT, 3, temperature=0))
    is_value(f"the shape where all new tokens are {END}, <|endoftext|>,", list(tokens.shape), [2, 6])


@about("generate_tokens")
def test_every_new_token_is_seen(subject):
    """The model sees the prompt first, and every new token after that."""
    model = Stub()
    text = np.asarray(text_of(subject, model, PROMPT, 4, np.random.default_rng(5), temperature=0))
    is_value("the list of lengths that the model saw", [ids.shape[1] for ids in model.seen], [3, 4, 5, 6])
    for seen in model.seen:
        equal(seen, text[:, : seen.shape[1]], ("row", "token"), what=f"what the model saw of {seen.shape[1]} tokens")


@about("generate_tokens")
def test_the_settings_apply_to_the_whole_text(subject):
    """The settings and rng apply to every token of the text."""
    settings_hold(lambda rows, **settings: text_of(subject, Stub(), rows, 4, **settings)[:, 1:], 4, rng_is_given=False)


@about("generate_tokens")
def test_the_context_slides(subject):
    """The model never sees more than the last n_positions tokens, and generation goes on."""
    for n_positions, lengths in ((4, [3, 4, 4, 4, 4, 4]), (2, [2] * 6), (1, [1] * 6)):
        model, rng = Stub(), np.random.default_rng(5)
        tokens = np.asarray(text_of(subject, model, PROMPT, 6, rng, n_positions, temperature=0))
        what = f"the list of lengths that the model saw of 3 tokens and 6 more, with n_positions = {n_positions},"
        is_value(what, [ids.shape[1] for ids in model.seen], lengths)
        is_value("the shape of the text", list(tokens.shape), [2, 9])
        last = tokens[:, -1 - n_positions : -1]
        equal(model.seen[-1], last, ("row", "token"), what=f"the last {n_positions} tokens that the model saw")


@about("generate_tokens")
def test_greedy_text_is_hugging_faces(subject, reference):
    """Given Hugging Face's logits, the greedy text matches Hugging Face's token for token, up to a full context."""

    def model(input_ids):
        length = input_ids.shape[1]
        equal(input_ids, reference["output"][:, :length], ("row", "token"), what="the greedy text")
        return reference["logits"][:, :length]

    rng = np.random.default_rng(5)  # not needed, but what goes wrong goes wrong in the same way
    tokens = text_of(subject, model, reference["input"], 10, rng, temperature=0)
    equal(np.asarray(tokens), reference["output"], ("row", "token"), what="the greedy text")


@pytest.mark.drawn
@about("generate_tokens")
def test_other_numbers(subject, solution, draw):
    """New random logits, settings and prompts work as well."""
    vocab, batch, length = draw.whole("vocab", 6, 30), draw.whole("batch", 1, 5), draw.whole("seq", 1, 6)
    logits = 4 * draw.array(batch, vocab)
    temperature, top_k = draw.number("temperature", 0.3, 3), draw.whole("top_k", 1, vocab)
    leaves(subject, logits, top_k, solution.keep_top_k(logits, top_k))
    are_probabilities(subject.softmax(logits, temperature), solution.softmax(logits, temperature), "the softmax")
    table, prompt = draw.array(vocab, vocab), draw.ids(vocab, batch, length)
    count, n_positions = draw.whole("max_new_tokens", 1, 9), draw.whole("n_positions", 2, 9)

    def model(input_ids):  # its logits depend on all tokens that it sees, and on their places
        places = np.arange(1, input_ids.shape[1] + 1)[:, None]
        return np.cumsum(table[input_ids] * places, axis=1, dtype=np.float32)

    text, right = (
        np.asarray(text_of(module, model, prompt, count, n_positions=n_positions, temperature=0))
        for module in (subject, solution)
    )
    equal(text, right, ("row", "token"), what="the greedy text", whose="the solution's")
