"""What a request may be: every other one gets a sentence that says so."""

import dataclasses
import json

import pytest

from play.serving.validation import InvalidRequest, ModelLimits, validated

pytestmark = pytest.mark.slow

LIMITS = ModelLimits("whale", 13, 37, encode=lambda text: [ord(letter) % 37 for letter in text])
FEW = dataclasses.replace(LIMITS, most_choices=3)
WITHOUT_EFFECT = dict(
    frequency_penalty=0, presence_penalty=-0.0, repetition_penalty=1.0, min_tokens=0, min_p=0.0, user="Ahab"
)
NULL = dict.fromkeys(["max_tokens", "stop", "stream", "top_p", "user", "stream_options", "seed", "logprobs"])


def request(limits=LIMITS, **fields):
    """Return what MAX gets to see of a request with these fields, but for its model."""
    return {**validated(json.dumps({"model": "whale"} | fields).encode(), limits), "model": None}


@pytest.mark.parametrize(
    ("fields", "seen"),
    [
        ({"prompt": "Call", "max_tokens": 9, "temperature": 0.5, "stop": ["."], "stream": True}, None),
        ({"prompt": ["a", [1, 2]]}, None),
        ({"prompt": "a", "echo": False, "best_of": 1} | NULL, {"prompt": "a"}),
        ({"prompt": "a"} | WITHOUT_EFFECT, {"prompt": "a"}),
        ({"prompt": "a", "n": 3}, {"prompt": ["a"] * 3}),  # n and seed in words that MAX follows
        ({"prompt": "a", "n": 1}, {"prompt": "a"}),
        ({"prompt": ["a", "b"], "n": 2}, {"prompt": ["a", "a", "b", "b"]}),
        ({"prompt": [1, 2], "n": 2}, {"prompt": [[1, 2], [1, 2]]}),
        ({"prompt": "a", "seed": 0}, {"prompt": "a", "seed": 1 << 62}),
        ({"prompt": "a", "seed": 5}, None),
    ],
)  # fmt: skip
def test_a_valid_request_is_put_into_words_that_max_follows(fields, seen):
    assert request(**fields) == (seen or fields) | {"model": None}


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({}, "prompt = null must be a text, token ids, or a list of either"),
        ({"prompt": []}, "prompt = [] must be a text, token ids, or a list of either, each of at least one token"),
        ({"prompt": ["a", ""]}, 'prompt = "" must be'),
        ({"prompt": [[]]}, "<|endoftext|> if you have no other"),
        ({"prompt": [1, "a"]}, 'prompt = [1, "a"] must be a text, token ids'),
        ({"prompt": [True]}, "prompt = [true] must be a text, token ids"),
        ({"prompt": ["a", 5] + [{}] * 100_000}, "prompt = 5 must be a text, token ids"),
        ({"prompt": [36, 37]}, "token id 37 is not in the vocabulary of 37 tokens"),
        ({"prompt": "a" * 13}, "the prompt has 13 tokens and 1 more are asked for"),
        ({"prompt": ["a", "a" * 12], "max_tokens": 2}, "the prompt has 12 tokens and 2 more"),
        ({"max_tokens": 0}, "max_tokens = 0 must be a whole number from 1 to 13"),
        ({"max_tokens": "9"}, 'max_tokens = "9" must be a whole number'),
        ({"max_tokens": True}, "max_tokens = true must be a whole number"),
        ({"temperature": 3}, "temperature = 3 must be a number from 0 to 2"),
        ({"temperature": float("nan")}, "temperature = NaN must be a number from 0 to 2"),
        ({"top_p": 1.1}, "top_p = 1.1 must be a number above 0, up to 1"),
        ({"top_k": 38}, "top_k = 38 must be a whole number from -1 to 37"),
        ({"seed": -1}, "seed = -1 must be a whole number from 0"),
        ({"n": 0}, "n = 0 must be a whole number from 1 to 128"),
        ({"prompt": ["a"] * 65, "n": 2}, "2 texts for each of 65 prompts are more than 128; split the request"),
        ({"n": 2, "stream": True}, "one request streams one text"),
        ({"echo": True}, "echo = true must be left out; it is not offered here"),
        ({"logprobs": 0}, "logprobs = 0 must be left out"),
        ({"best_of": 2}, "best_of = 2 must be 1 or left out"),
        ({"model": None}, 'model = null must be "whale", which is served here'),
        ({"stop": [""]}, 'stop = [""] must be a text, or a list of at most 16 texts, each of 1 to'),
        ({"stop": "b" * 129}, "each of 1 to 128 characters"),
        ({"stop": ["b"] * 17}, "a list of at most 16 texts"),
        ({"stop_token_ids": [0] * 129}, "a list of at most 128 token ids"),
        ({"stop_token_ids": [37]}, "token id 37 is not in the vocabulary"),
        ({"min_p": 0.1}, "min_p = 0.1 must be 0 or left out"),
        ({"presence_penalty": 99}, "presence_penalty = 99 must be 0 or left out; nothing else is offered"),
        ({"stream": "yes"}, 'stream = "yes" must be true or false'),
        ({"stream": True, "stream_options": {"other": True}}, 'stream_options = "other" must be {"include_usage"'),
        ({"temprature": 1}, "temprature must be left out; the fields that are served are model, prompt"),
        ({"limits": FEW, "n": 4}, "n = 4 must be a whole number from 1 to 3"),
    ],
)
def test_an_invalid_request_is_answered_with_what_it_may_be(fields, sentence):
    with pytest.raises(InvalidRequest) as invalid:
        request(**(({"prompt": "a"} if fields else {}) | fields))
    assert sentence in str(invalid.value)


@pytest.mark.parametrize("field", ["prompt", "stop", "user", "anything"])
def test_a_body_that_nests_deeply_is_refused_in_words(field):
    for depth in (2, 190, 100_000):
        for closed in (b"[" * depth + b"]" * depth, b"[" * depth):
            with pytest.raises(InvalidRequest) as invalid:
                validated(b'{"prompt": "a", "model": "whale", "%s": %s}' % (field.encode(), closed), LIMITS)
            assert any(words in str(invalid.value) for words in (field, "must be a JSON object"))
            assert len(str(invalid.value)) < 400
