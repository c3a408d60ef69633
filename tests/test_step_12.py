"""Step 12, generation: what is claimed.

Most claims are about a made-up model whose logits depend on nothing but the last token; the greedy
text is made from logits that Hugging Face's model gave. No MAX is needed; ``tests/dev/test_play.py``
compares the text of whole models.
"""

import functools

import numpy as np
import pytest

from checker import claims
from checker.claims import Refusal, about, error_of, first_of, is_value, require

equal = functools.partial(claims.equal, whose="the right number")

VOCAB = 5
TABLE = np.random.RandomState(12).uniform(-2, 2, (VOCAB, VOCAB)).astype(np.float32)  # last token -> logits
LOGITS = TABLE[:3]  # more tokens than rows: neither is taken for the other
PROMPT = np.array([[3, 1, 4], [0, 2, 2]])
DRAWS = 1000
BOUND = 40.0  # of chi-squared with 4 degrees of freedom: exceeded by chance once in 20 million times


class Stub:
    """A model that remembers what it was shown."""

    def __init__(self):
        self.seen = []

    def __call__(self, input_ids):
        self.seen.append(np.array(input_ids))
        return TABLE[input_ids]


def softmax(logits):
    powers = np.exp(logits.astype(np.float64) - logits.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def all_of(cases):
    """Refuse with the first problem of several cases; what all of them said tells mistakes apart."""
    said, refused = {}, []
    for name, case in cases.items():
        try:
            said[name] = case()
        except Refusal as refusal:
            said[name] = refusal.sentence
            refused.append(refusal)
    first_of(refused, observed=said)


EMPTY = np.zeros((1, 0), np.int64)


@about("check_settings")
def test_nonsense_is_refused(step):
    """An empty prompt, a negative temperature and a top_k below 1 are each a ValueError that names it."""

    def refused(call, names, *settings):
        message = error_of(call, lambda: step.check_settings(*settings))
        named = any(name in message for name in names)
        require(named, f"The message of {call} is {message!r}, and must name {names[0]}.")
        return message

    all_of(
        {
            "prompt": lambda: refused("an empty prompt", ("prompt", "input_ids", "empty"), EMPTY, 1.0, None),
            "temperature": lambda: refused("temperature = -0.5", ("temperature",), PROMPT, -0.5, None),
            "top_k": lambda: refused("top_k = 0", ("top_k",), PROMPT, 1.0, 0),
        }
    )


@about("check_settings")
def test_sense_is_accepted(step):
    """Temperature 0, top_k 1 and a prompt of one token are accepted."""
    for settings in ((PROMPT, 0, None), (PROMPT, 1.0, 1), (PROMPT[:, :1], 2.0, 100)):
        try:
            step.check_settings(*settings)
        except ValueError as error:
            require(False, f"check_settings refuses temperature = {settings[1]}, top_k = {settings[2]}: {error}")


@about("next_token_probabilities")
def test_probabilities(step):
    """At temperature 1 they are the softmax of the logits; rows add up to 1, and large logits do not overflow."""
    equal(step.next_token_probabilities(LOGITS), softmax(LOGITS), ("row", "token"), what="the probabilities")
    large = LOGITS * 1000
    equal(step.next_token_probabilities(large), softmax(large), ("row", "token"), what="those of large logits")


@about("next_token_probabilities")
def test_temperature(step):
    """The logits are divided by the temperature before the softmax."""
    for temperature in (0.5, 1.7):
        probabilities = step.next_token_probabilities(LOGITS, temperature=temperature)
        equal(probabilities, softmax(LOGITS / temperature), ("row", "token"), what=f"temperature {temperature}")


def best(logits, top_k):
    """The logits with minus infinity in place of all but the ``top_k`` largest of each row."""
    left = np.argsort(logits, axis=-1)[:, -top_k:]
    kept = np.full_like(logits, -np.inf)
    np.put_along_axis(kept, left, np.take_along_axis(logits, left, -1), -1)
    return kept


@about("next_token_probabilities")
def test_top_k(step):
    """Only the top_k most likely tokens are left, and they share the whole probability."""
    for top_k in (2, 1, 4, 5):
        probabilities = step.next_token_probabilities(LOGITS, top_k=top_k)
        equal(probabilities, softmax(best(LOGITS, top_k)), ("row", "token"), what=f"top_k = {top_k}")


@about("next_token_probabilities")
def test_top_k_above_the_vocabulary(step):
    """A top_k above the size of the vocabulary keeps every token."""
    for top_k in (VOCAB + 1, 100):
        probabilities = step.next_token_probabilities(LOGITS, top_k=top_k)
        equal(probabilities, softmax(LOGITS), ("row", "token"), what=f"top_k = {top_k} of {VOCAB} tokens")


@about("generate_next_token")
def test_greedy(step):
    """Greedily, every row gets the most likely token after its last one."""
    rows = np.concatenate([PROMPT] * 20)  # so many that sampling them all right is no accident
    for settings in ({"temperature": 0}, {"do_sample": False}, {"temperature": 0, "do_sample": False}):
        token = step.generate_next_token(Stub(), rows, **settings, rng=np.random.default_rng(3))
        equal(
            np.asarray(token), TABLE[rows[:, -1]].argmax(-1), ("row",), what=f"generate_next_token(…, {said(settings)})"
        )


def said(settings):
    """``temperature=0.5, top_k=2``."""
    return ", ".join(f"{name}={value}" for name, value in settings.items()) or "temperature=1.0"


@about("generate_next_token")
def test_draws_follow_the_probabilities(step):
    """Sampled tokens come as often as their probabilities say, in every row for itself."""
    rng = np.random.default_rng(7)
    lasts = [4, 1]
    rows = np.repeat(np.array(lasts)[:, None], DRAWS // 20, axis=0)
    for settings, wanted in (
        ({}, softmax(TABLE)),
        ({"temperature": 2.5}, softmax(TABLE / 2.5)),
        ({"top_k": 2}, softmax(best(TABLE, 2))),
    ):
        counts = np.zeros((2, VOCAB))
        for _ in range(10):
            drawn = step.generate_next_token(Stub(), rows, rng=rng, **settings)
            require(
                isinstance(drawn, np.ndarray), f"generate_next_token returns {type(drawn).__name__}: make an array."
            )
            counts += np.stack([np.bincount(row, minlength=VOCAB) for row in drawn.reshape(2, -1)])
        for count, expected in zip(counts, wanted[lasts] * DRAWS / 2, strict=True):
            possible = expected > 0
            require(not count[~possible].any(), f"With {said(settings)}, a token was drawn that is out.", counts)
            chi_squared = float(((count - expected)[possible] ** 2 / expected[possible]).sum())
            sentence = (
                f"Of {DRAWS // 2} draws with {said(settings)}, the tokens came {count.astype(int).tolist()} times; "
                f"about {expected.round().astype(int).tolist()} is right."
            )
            require(chi_squared < BOUND, sentence, counts)


@about("generate_next_token")
def test_the_seed_decides(step):
    """The same generator gives the same tokens, another one gives others; without one, tokens are drawn as well."""
    rows = np.zeros((40, 1), np.int64)
    one, same, other = (
        np.asarray(step.generate_next_token(Stub(), rows, rng=np.random.default_rng(seed))).tolist()
        for seed in (1, 1, 2)
    )
    require(one == same, "Two generators with the same seed gave different tokens: draw with rng.")
    require(one != other, "Two seeds gave the same 40 tokens: draw with rng.")
    require(len(set(one)) > 1, "40 rows got one token: every row is drawn for itself.")
    drawn = np.asarray(step.generate_next_token(Stub(), rows)).tolist()
    require(len(set(drawn)) > 1, "Without rng, 40 rows got one token.")


@about("stream_tokens")
def test_tokens_stream(step):
    """Tokens are yielded one by one, each before the model is asked for the next."""
    model = Stub()
    stream = step.stream_tokens(model, PROMPT, 3, temperature=0)
    for count in (1, 2, 3):
        is_value("the shape of a streamed token", list(np.asarray(next(stream)).shape), [2])
        is_value(f"how often the model ran before token {count} came", len(model.seen), count)
    is_value("what comes after max_new_tokens", next(stream, None), None)


def settings_hold(text_of):
    """Refuse unless ``text_of(rows, **settings)``, 4 new tokens per row, minds every setting at every place."""
    rows = np.arange(60)[:, None] % VOCAB
    greedy = [TABLE[rows[:, -1]].argmax(-1)]
    for _ in range(3):
        greedy.append(TABLE[greedy[-1]].argmax(-1))

    def is_greedy(**settings):
        text = np.asarray(text_of(rows, **settings, rng=np.random.default_rng(4)))
        require(np.array_equal(text, np.stack(greedy, axis=1)), f"With {said(settings)} the text is not greedy.")

    def follows_the_seed():
        one, same, other = (
            np.asarray(text_of(np.zeros_like(rows), rng=np.random.default_rng(seed))) for seed in (1, 1, 2)
        )
        require(np.array_equal(one, same), "Two generators with the same seed gave different text.")
        require(not np.array_equal(one, other), "Two seeds gave the same text.")
        varied = all(len(set(place)) > 1 for place in one.T.tolist())
        require(varied, "With do_sample=True there is a place where 60 rows got one token.")

    def goes_without_a_generator():
        one, other = (np.asarray(text_of(rows, rng=None)) for _ in range(2))
        require(not np.array_equal(one, other), "Without rng the same text came twice.")

    all_of(
        {
            "rng": follows_the_seed,
            "temperature": lambda: is_greedy(temperature=0.005),  # as good as 0, but drawn
            "do_sample": lambda: is_greedy(do_sample=False),
            "top_k": lambda: is_greedy(top_k=1),
            "no rng": goes_without_a_generator,
        }
    )


@about("stream_tokens")
def test_a_stream_minds_the_settings(step):
    """temperature, do_sample, top_k and rng hold for every token of a stream."""
    settings_hold(lambda rows, **settings: np.stack([*step.stream_tokens(Stub(), rows, 4, **settings)], axis=1))


@about("stream_tokens")
def test_the_context_slides(step):
    """The model never sees more than the last n_positions tokens, and generation goes on."""
    for n_positions, lengths in ((4, [3, 4, 4, 4, 4, 4]), (2, [2] * 6)):
        model = Stub()
        stream = step.stream_tokens(model, PROMPT, 6, temperature=0, n_positions=n_positions)
        tokens = np.concatenate([PROMPT, np.stack([*stream], axis=1)], axis=1)
        what = f"the lengths that the model saw of 3 tokens and 6 more, with n_positions = {n_positions},"
        is_value(what, [ids.shape[1] for ids in model.seen], lengths)
        last = tokens[:, -1 - n_positions : -1]
        equal(model.seen[-1], last, ("row", "token"), what=f"the last {n_positions} tokens that the model saw")


@about("generate_tokens")
def test_the_prompt_comes_first(step):
    """What comes back is the prompt and max_new_tokens more: [batch, seq + max_new_tokens]."""
    for count in (4, 1, 0):
        tokens = np.asarray(step.generate_tokens(Stub(), PROMPT, count, temperature=0))
        is_value("the shape", list(tokens.shape), [2, 3 + count])
        equal(tokens[:, :3], PROMPT, ("row", "token"), what="the prompt")


@about("generate_tokens")
def test_every_new_token_is_seen(step):
    """The model sees the prompt first, and every new token after that."""
    model = Stub()
    tokens = np.asarray(step.generate_tokens(model, PROMPT, 4, temperature=0))
    is_value("the lengths that the model saw", [ids.shape[1] for ids in model.seen], [3, 4, 5, 6])
    for seen in model.seen:
        equal(seen, tokens[:, : seen.shape[1]], ("row", "token"), what=f"what the model saw of {seen.shape[1]} tokens")


@about("generate_tokens")
def test_the_settings_are_minded(step):
    """temperature, do_sample, top_k, rng and n_positions hold for the whole text."""
    settings_hold(lambda rows, **settings: step.generate_tokens(Stub(), rows, 4, **settings)[:, 1:])
    model = Stub()
    step.generate_tokens(model, PROMPT, 2, temperature=0, n_positions=2)
    is_value("the lengths that the model saw with n_positions = 2", [ids.shape[1] for ids in model.seen], [2, 2])


@about("generate_tokens")
def test_greedy_text_is_hugging_faces(step, reference):
    """Given Hugging Face's logits, the greedy text is Hugging Face's to the token, up to a full context."""

    def model(input_ids):
        length = input_ids.shape[1]
        equal(input_ids, reference["output"][:, :length], ("row", "token"), what="the greedy text")
        return reference["logits"][:, :length]

    rng = np.random.default_rng(5)  # not needed, but what goes wrong goes wrong in the same way
    tokens = step.generate_tokens(model, reference["input"], 10, temperature=0, rng=rng)
    equal(np.asarray(tokens), reference["output"], ("row", "token"), what="the greedy text")


@about("generate_tokens")
def test_nonsense_is_not_generated(step):
    """What check_settings refuses is refused before anything is made, even if no token was asked for."""
    for call, settings in (
        ("generate_tokens of an empty prompt", (EMPTY, 0)),
        ("generate_tokens with temperature = -0.5", (PROMPT, 0, -0.5)),
    ):
        error_of(call, lambda: step.generate_tokens(Stub(), *settings))  # noqa: B023
    error_of("generate_tokens with top_k = 0", lambda: step.generate_tokens(Stub(), PROMPT, 0, top_k=0))
    error_of("generate_next_token of an empty prompt", lambda: step.generate_next_token(Stub(), EMPTY))
    error_of("generate_next_token with top_k = 0", lambda: step.generate_next_token(Stub(), PROMPT, top_k=0))
    error_of("generate_next_token with temperature = -1", lambda: step.generate_next_token(Stub(), PROMPT, -1.0))


@pytest.mark.drawn
@about("generate_tokens")
def test_other_numbers(step, answer, draw):
    """Logits, settings and a prompt drawn anew are right as well."""
    vocab, batch, length = draw.whole("vocab", 6, 30), draw.whole("batch", 1, 5), draw.whole("seq", 1, 6)
    logits = 4 * draw.array(batch, vocab)
    settings = {"temperature": draw.number("temperature", 0.3, 3), "top_k": draw.whole("top_k", 1, vocab)}
    result, right = (one.next_token_probabilities(logits, **settings) for one in (step, answer))
    equal(result, right, ("row", "token"), what="the probabilities", whose="the solution's")
    table, prompt = draw.array(vocab, vocab), draw.ids(vocab, batch, length)
    count, n_positions = draw.whole("max_new_tokens", 1, 9), draw.whole("n_positions", 2, 9)

    def model(input_ids):  # its logits depend on all tokens that it sees, and on their places
        places = np.arange(1, input_ids.shape[1] + 1)[:, None]
        return np.cumsum(table[input_ids] * places, axis=1, dtype=np.float32)

    text, right = (
        np.asarray(one.generate_tokens(model, prompt, count, temperature=0, n_positions=n_positions))
        for one in (step, answer)
    )
    equal(text, right, ("row", "token"), what="the greedy text", whose="the solution's")
