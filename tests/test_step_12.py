"""Step 12, generation: what is claimed, and the mistakes that can be named.

Most claims are about a made-up model whose logits depend on nothing but the last token; the greedy
text is made from logits that Hugging Face's model gave. No MAX is needed; ``tests/dev/test_play.py``
compares the text of whole models.
"""

import functools

import numpy as np

from checker import claims
from checker.claims import Refusal, about, error_of, is_value, require

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
    said, problems = {}, []
    for name, case in cases.items():
        try:
            said[name] = case()
        except Refusal as refusal:
            said[name] = refusal.sentence
            problems.append(refusal.sentence)
    require(not problems, " ".join(problems[:1]), observed=said)


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
    """Refuse unless ``text_of(rows, **settings)``, 4 new tokens a row, minds every setting at every place."""
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
        error_of(call, lambda: step.generate_tokens(Stub(), *settings))  # noqa: B023 - called at once
    error_of("generate_tokens with top_k = 0", lambda: step.generate_tokens(Stub(), PROMPT, 0, top_k=0))
    error_of("generate_next_token of an empty prompt", lambda: step.generate_next_token(Stub(), EMPTY))
    error_of("generate_next_token with top_k = 0", lambda: step.generate_next_token(Stub(), PROMPT, top_k=0))
    error_of("generate_next_token with temperature = -1", lambda: step.generate_next_token(Stub(), PROMPT, -1.0))


DIVIDE = "    logits = logits / temperature\n"
TAIL = "return powers / powers.sum(axis=-1, keepdims=True)"
KTH = "kth_largest = np.sort(logits, axis=-1)[:, -top_k, None]"
LAST = "logits = model(input_ids)[:, -1]"
DRAW = "np.array([rng.choice(len(row), p=row) for row in probabilities])"
SIZE = "if top_k is not None and top_k < logits.shape[-1]:"
ARGMAX = "if temperature == 0 or not do_sample:"
LARGEST = "logits.max(axis=-1, keepdims=True)"
PROBABLE = "next_token_probabilities(logits, temperature=temperature, top_k=top_k)"
NEXT = "generate_next_token(model, visible, temperature, do_sample, top_k=top_k, rng=rng)"
SETTINGS = "settings = (max_new_tokens, temperature, do_sample)"
STREAM = "stream_tokens(model, input_ids, *settings, top_k=top_k, rng=rng, n_positions=n_positions)"
VISIBLE = "visible = input_ids[:, -n_positions:]"
APPEND = "input_ids = np.concatenate([input_ids, next_ids[:, None]], axis=1)"
GATHER = "np.concatenate([input_ids, *(next_ids[:, None] for next_ids in streamed)], axis=1)"

MISTAKES = {
    "An empty prompt is let through: the model has no last token to continue.": {
        "if input_ids.shape[-1] == 0:": "if False:"
    },
    "A negative temperature is let through: it would make the least likely token the likeliest.": {
        "if temperature < 0:": "if False:"
    },
    "top_k = 0 is let through: it leaves no token to choose from.": {
        "if top_k is not None and top_k < 1:": "if False:"
    },
    "Temperature 0 is refused; it means the most likely token.": {"if temperature < 0:": "if temperature <= 0:"},
    "The temperature is not used: divide the logits by it.": {DIVIDE: ""},
    "The logits are multiplied by the temperature; divide them.": {DIVIDE: "    logits = logits * temperature\n"},
    "The temperature is applied after the softmax; divide the logits by it, before.": {
        DIVIDE: "",
        TAIL: "return powers / powers.sum(axis=-1, keepdims=True) / temperature",
    },
    "The softmax overflows: subtract the largest logit before taking the exponential.": {
        "np.exp(logits - logits.max(axis=-1, keepdims=True))": "np.exp(np.minimum(logits, 700)) "
    },
    "The largest logit of the whole batch is subtracted; take that of every row, or exp makes zeros of the others.": {
        LARGEST: "logits.max()"
    },
    "The softmax runs over the rows; it runs over the tokens, the last axis.": {
        "powers.sum(axis=-1, keepdims=True)": "powers.sum(axis=0, keepdims=True)"
    },
    "The softmax shares one probability among the whole batch; every row adds up to 1 by itself.": {
        "powers.sum(axis=-1, keepdims=True)": "powers.sum()"
    },
    "The powers are not divided by their sum: the rows do not add up to 1.": {TAIL: "return powers"},
    "top_k is not used.": {"logits = np.where(logits < kth_largest, -np.inf, logits)": "pass"},
    "top_k keeps one token too many.": {"-top_k, None]": "-top_k - 1, None]"},
    "top_k keeps one token too few: the k-th largest itself stays, so out is what is below it, < and not <=.": {
        "logits < kth_largest": "logits <= kth_largest"
    },
    "top_k keeps one token too few, of the whole vocabulary too: out is what is below the k-th largest, < and not <=.": {
        SIZE: "if top_k is not None:",
        KTH: KTH.replace("-top_k", "-min(top_k, logits.shape[-1])"),
        "logits < kth_largest": "logits <= kth_largest",
    },
    "A top_k above the size of the vocabulary is an IndexError; it keeps every token.": {SIZE: "if top_k is not None:"},
    "top_k compares with places instead of logits: argsort says where the logits are, sort what they are.": {
        KTH: KTH.replace("np.sort", "np.argsort")
    },
    "top_k takes the k-th largest logit of the whole batch; it is another one in each row.": {
        KTH: "kth_largest = np.sort(logits, axis=None)[-top_k]"
    },
    "top_k keeps the least likely tokens; it keeps the most likely.": {
        "logits < kth_largest": "logits > np.sort(logits, axis=-1)[:, top_k - 1, None]"
    },
    "The tokens outside top_k get the logit 0, which is no small one; they get minus infinity.": {
        "-np.inf, logits": "0.0, logits"
    },
    "The probabilities left by top_k are not shared out: they must add up to 1 again.": {
        TAIL: "return powers / np.exp(whole - whole.max(axis=-1, keepdims=True)).sum(axis=-1, keepdims=True)",
        DIVIDE: DIVIDE + "    whole = logits\n",
    },
    "The tokens are a column, [batch, 1]; one token for every row is [batch].": {
        "logits.argmax(axis=-1)": "logits.argmax(axis=-1, keepdims=True)",
        DRAW: f"{DRAW}[:, None]",
    },
    "The token after the first one is predicted; take the logits of the last place.": {
        LAST: "logits = model(input_ids)[:, 0]"
    },
    "The last but one place is taken; the last is -1.": {LAST: "logits = model(input_ids)[:, -2]"},
    "Greedy takes the least likely token.": {"logits.argmax(axis=-1)": "logits.argmin(axis=-1)"},
    "Every row gets the first row's token.": {
        "return logits.argmax(axis=-1)": "return np.repeat(logits[:1].argmax(axis=-1), len(logits))",
    },
    "do_sample=False still samples.": {ARGMAX: "if temperature == 0:"},
    "Temperature 0 still samples, and divides by zero.": {ARGMAX: "if not do_sample:"},
    "Greedy needs both temperature 0 and do_sample=False; each alone is enough: or, not and.": {
        ARGMAX: "if temperature == 0 and not do_sample:"
    },
    "Sampling always takes the most likely token.": {DRAW: "probabilities.argmax(axis=-1)"},
    "Tokens are drawn evenly, whatever their probabilities.": {"rng.choice(len(row), p=row)": "rng.choice(len(row))"},
    "One draw is used for every row; each row is drawn for itself.": {
        DRAW: "np.array([rng.choice(len(probabilities[0]), p=probabilities[0])] * len(probabilities))"
    },
    "rng is not used, so that the same seed gives different text.": {"rng.choice(": "np.random.default_rng().choice("},
    "The drawn tokens are a list; make an array of them: np.array(...).": {
        DRAW: DRAW.removeprefix("np.array(").removesuffix(")")
    },
    "stream_tokens does not pass rng on, so that the same seed gives different text.": {
        NEXT: NEXT.replace(", rng=rng", "")
    },
    "stream_tokens does not pass top_k on.": {NEXT: NEXT.replace(", top_k=top_k", "")},
    "stream_tokens does not pass do_sample on.": {NEXT: NEXT.replace(", do_sample", "")},
    "stream_tokens does not pass temperature on.": {
        NEXT: NEXT.replace("temperature, do_sample", "do_sample=do_sample")
    },
    "stream_tokens gives generate_next_token temperature and do_sample in the wrong order.": {
        NEXT: NEXT.replace("temperature, do_sample", "do_sample, temperature")
    },
    "generate_tokens does not pass rng on, so that the same seed gives different text.": {
        STREAM: STREAM.replace(", rng=rng", "")
    },
    "top_k is not given to next_token_probabilities.": {PROBABLE: PROBABLE.replace(", top_k=top_k", "")},
    "temperature is not given to next_token_probabilities.": {
        PROBABLE: PROBABLE.replace("temperature=temperature, ", "")
    },
    "generate_tokens passes neither temperature nor do_sample on: *settings has both.": {
        STREAM: STREAM.replace("*settings", "max_new_tokens")
    },
    "generate_tokens does not pass temperature on.": {
        STREAM: STREAM.replace("*settings", "max_new_tokens, do_sample=do_sample")
    },
    "generate_tokens does not pass top_k on.": {STREAM: STREAM.replace(", top_k=top_k", "")},
    "generate_tokens does not pass n_positions on.": {STREAM: STREAM.replace(", n_positions=n_positions", "")},
    "generate_tokens does not pass do_sample on.": {SETTINGS: SETTINGS.replace(", do_sample", "")},
    "The settings have changed places: they are max_new_tokens, temperature, do_sample.": {
        SETTINGS: "settings = (max_new_tokens, do_sample, temperature)"
    },
    "The new token is not appended, so that the model never sees it.": {APPEND: "pass"},
    "The new token is put in front; it goes to the end.": {
        APPEND: "input_ids = np.concatenate([next_ids[:, None], input_ids], axis=1)"
    },
    "The context does not slide: the model sees at most the last n_positions tokens.": {VISIBLE: "visible = input_ids"},
    "A full context keeps its first tokens; it keeps the last.": {VISIBLE: "visible = input_ids[:, :n_positions]"},
    "A prompt that is longer than n_positions is shown whole; the model sees at most the last n_positions tokens.": {
        VISIBLE: "visible = input_ids",
        APPEND: f"{APPEND}[:, -n_positions:]",
    },
    "The model sees the last token alone, and forgets what came before.": {VISIBLE: "visible = input_ids[:, -1:]"},
    "The prompt is missing from what comes back.": {
        GATHER: "np.concatenate([input_ids[:, :0], *(next_ids[:, None] for next_ids in streamed)], axis=1)"
    },
    "The whole text is yielded every time; yield the new token of every row.": {
        "        yield next_ids\n": "",
        APPEND: f"{APPEND}\n        yield input_ids",
    },
    "One token too many is generated.": {"for _ in range(max_new_tokens):": "for _ in range(max_new_tokens + 1):"},
    "The tokens are gathered before they are yielded; yield each as soon as it is known.": {
        "        yield next_ids\n": "        tokens.append(next_ids)\n",
        "    for _ in range(max_new_tokens):": "    tokens = []\n    for _ in range(max_new_tokens):",
        f"        {APPEND}\n": f"        {APPEND}\n    yield from tokens\n",
    },
}

ALTERNATIVES = {
    "inverse of the cumulative sum": {
        DRAW: "(rng.random((len(probabilities), 1)) > probabilities.cumsum(axis=-1)).sum(axis=-1)"
    },
    "the Gumbel trick": {
        DRAW: "(np.log(np.maximum(probabilities, 1e-300)) + rng.gumbel(size=probabilities.shape)).argmax(axis=-1)"
    },
    "np.partition": {KTH: "kth_largest = np.partition(logits, -top_k, axis=-1)[:, -top_k, None]"},
    "the largest subtracted first": {
        DIVIDE: "    logits = (logits - logits.max(axis=-1, keepdims=True)) / temperature\n"
    },
    "the visible tokens kept, and no more": {APPEND: APPEND.replace("[input_ids,", "[visible,")},
    "the k-th largest as a column by [:, -top_k][:, None]": {
        KTH: KTH.replace("[:, -top_k, None]", "[:, -top_k][:, None]")
    },
    "no more of the vocabulary than there is": {
        f"    {SIZE}\n": "    if top_k is not None:\n        top_k = min(top_k, logits.shape[-1])\n"
    },
    "multinomial": {DRAW: "rng.multinomial(1, probabilities).argmax(axis=-1)"},
    "a loop that appends": {
        GATHER: "np.concatenate([input_ids, np.stack(list(streamed), axis=1).reshape(len(input_ids), -1)], axis=1) if max_new_tokens else input_ids"
    },
}
