"""What a request may be: every other one gets a sentence that says so."""

import dataclasses
import json

import pytest

from play.serving.validation import InvalidRequest, ModelLimits, validated

pytestmark = pytest.mark.slow

LIMITS = ModelLimits(
    "whale",
    n_positions=13,
    vocab_size=37,
    encode=lambda text: [ord(letter) % 37 for letter in text],
    longest_prompt=13 * 4,
)


def request(**fields):
    """Return what MAX gets to see of a request with these fields."""
    return validated(json.dumps({"model": "whale"} | fields).encode(), LIMITS)


def test_a_valid_request_stays_as_it_is():
    fields = {"model": "whale", "prompt": "Call", "max_tokens": 9, "temperature": 0.5, "stop": ["."], "stream": True}
    assert request(**fields) == fields
    assert request(prompt=["a", [1, 2]], seed=None, user="Ahab")["prompt"] == ["a", [1, 2]]
    assert request(prompt="a", echo=False, logprobs=None)["prompt"] == "a"


def test_n_and_seed_are_put_into_words_that_max_follows():
    assert request(prompt="a", n=3) == {"model": "whale", "prompt": ["a"] * 3}
    assert request(prompt=["a", "b"], n=2)["prompt"] == ["a", "a", "b", "b"]
    assert request(prompt=[1, 2], n=2)["prompt"] == [[1, 2], [1, 2]]
    assert request(prompt="a", seed=0)["seed"] > 0
    assert request(prompt="a", seed=5)["seed"] == 5
    assert request(prompt="a", n=1) == {"model": "whale", "prompt": "a"}


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({}, "prompt = null must be a text, token ids, or a list of either"),
        ({"prompt": 5}, "prompt = 5 must be a text, token ids, or a list of either"),
        ({"prompt": []}, "prompt = [] must be a text, token ids, or a list of either, each of at least one token"),
        ({"prompt": ["a", ""]}, 'prompt = "" must be'),
        ({"prompt": [[]]}, "<|endoftext|> if you have no other"),
        ({"prompt": ["a", {}]}, "prompt = {} must be a text, token ids"),
        ({"prompt": [1, "a"]}, 'prompt = [1, "a"] must be a text, token ids'),
        ({"prompt": [True]}, "prompt = [true] must be a text, token ids"),
        ({"prompt": [[1], [1.0]]}, "prompt = [1.0] must be a text, token ids"),
        ({"prompt": ["a", 5] + [{}] * 100_000}, "prompt = 5 must be a text, token ids"),
        ({"prompt": [36, 37]}, "token id 37 is not in the vocabulary of 37 tokens"),
        ({"prompt": [-1]}, "token id -1 is not in the vocabulary"),
        ({"prompt": "a" * 13}, "the prompt has 13 tokens and 1 more are asked for"),
        ({"prompt": "abcd", "max_tokens": 10}, "the prompt has 4 tokens and 10 more are asked for"),
        ({"prompt": ["a", "a" * 12], "max_tokens": 2}, "the prompt has 12 tokens and 2 more"),
        ({"prompt": "a", "max_tokens": 0}, "max_tokens = 0 must be a whole number from 1 to 13"),
        ({"prompt": "a", "max_tokens": 1.5}, "max_tokens = 1.5 must be a whole number"),
        ({"prompt": "a", "max_tokens": "9"}, 'max_tokens = "9" must be a whole number'),
        ({"prompt": "a", "max_tokens": 9.0}, "max_tokens = 9.0 must be a whole number"),
        ({"prompt": "a", "max_tokens": True}, "max_tokens = true must be a whole number"),
        ({"prompt": "a", "temperature": 3}, "temperature = 3 must be a number from 0 to 2"),
        ({"prompt": "a", "temperature": float("nan")}, "temperature = NaN must be a number from 0 to 2"),
        ({"prompt": "a", "top_p": 1.1}, "top_p = 1.1 must be a number above 0, up to 1"),
        ({"prompt": "a", "top_k": 38}, "top_k = 38 must be a whole number from -1 to 37"),
        ({"prompt": "a", "seed": -1}, "seed = -1 must be a whole number from 0"),
        ({"prompt": "a", "n": 0}, "n = 0 must be a whole number from 1 to 128"),
        ({"prompt": ["a"] * 65, "n": 2}, "2 texts for each of 65 prompts are more than 128"),
        ({"prompt": "a", "n": 2, "stream": True}, "one request streams one text"),
        ({"prompt": "a", "echo": True}, "echo = true must be left out; it is not offered here"),
        ({"prompt": "a", "logprobs": 0}, "logprobs = 0 must be left out"),
        ({"prompt": "a", "best_of": 2}, "best_of = 2 must be left out"),
        ({"prompt": "a", "model": None}, 'model = null must be "whale", which is served here'),
        ({"prompt": "a", "stop": [""]}, 'stop = [""] must be a text, or a list of at most 16 texts, each of 1 to'),
        ({"prompt": "a", "stop": "b" * 129}, "each of 1 to 128 characters"),
        ({"prompt": "a", "stop_token_ids": [0] * 129}, "a list of at most 128 token ids"),
        ({"prompt": "a", "stop": ""}, 'stop = "" must be a text'),
        ({"prompt": "a", "stop": ["b"] * 17}, "a list of at most 16 texts"),
        ({"prompt": "a", "stop": ["b", 5]}, 'stop = ["b", 5] must be a text'),
        ({"prompt": "a", "stop_token_ids": [37]}, "token id 37 is not in the vocabulary"),
        ({"prompt": "a", "top_p": 0}, "top_p = 0 must be a number above 0, up to 1"),
        ({"prompt": "a", "top_p": -0.0}, "top_p = -0.0 must be a number above 0"),
        ({"prompt": "a", "min_p": 0.1}, "min_p = 0.1 must be 0 or left out"),
        (
            {"prompt": "a", "presence_penalty": 99},
            "presence_penalty = 99 must be 0 or left out; nothing else is offered",
        ),
        ({"prompt": "a", "frequency_penalty": -0.1}, "frequency_penalty = -0.1 must be 0 or left out"),
        ({"prompt": "a", "presence_penalty": float("nan")}, "presence_penalty = NaN must be 0"),
        ({"prompt": "a", "repetition_penalty": 0}, "repetition_penalty = 0 must be 1 or left out"),
        ({"prompt": "a", "min_tokens": 5}, "min_tokens = 5 must be 0 or left out"),
        ({"prompt": "a", "stream": "yes"}, 'stream = "yes" must be true or false'),
        ({"prompt": "a", "stream_options": {"include_usage": True}}, 'only with "stream": true'),
        (
            {"prompt": "a", "stream": True, "stream_options": {"other": True}},
            'stream_options = "other" must be {"include_usage"',
        ),
        ({"prompt": "a", "temprature": 1}, "temprature must be left out; the fields that are served are model, prompt"),
        ({"prompt": "a", "dkv_cache_hint": {}}, "dkv_cache_hint must be left out"),
        ({"prompt": "a" * 53}, "the prompt has 53 characters; the model's context has 13 tokens, which are at most 52"),
    ],
)
def test_an_invalid_request_is_answered_with_what_it_may_be(fields, said):
    with pytest.raises(InvalidRequest) as invalid:
        request(**fields)
    assert said in str(invalid.value)


@pytest.mark.parametrize(
    "body",
    [b"[" * 1000, b"[" * 100_000 + b"]" * 100_000, b'{"prompt":' * 300, b'{"prompt": "a", "user": ' + b"[" * 500_000],
    ids=["open", "lists", "objects", "a field"],
)
def test_a_body_that_nests_too_deeply_is_refused_in_words(body):
    with pytest.raises(InvalidRequest, match="nests lists or objects too deeply"):
        validated(body, LIMITS)


@pytest.mark.parametrize("depth", [2, 100, 190, 199])
def test_a_body_that_nests_just_less_is_refused_too(depth):
    for field in ("prompt", "stop", "user", "anything"):
        with pytest.raises(InvalidRequest) as invalid:
            validated(
                b'{"prompt": "a", "model": "whale", "%s": %s}' % (field.encode(), b"[" * depth + b"]" * depth), LIMITS
            )
        assert field in str(invalid.value)
        assert len(str(invalid.value)) < 400


def test_a_request_asks_for_no_more_texts_than_there_are_places():
    few = dataclasses.replace(LIMITS, most_choices=3)
    assert validated(b'{"model": "whale", "prompt": "a", "n": 3}', few)["prompt"] == ["a"] * 3
    for fields, said in (
        ({"prompt": "a", "n": 4}, "n = 4 must be a whole number from 1 to 3"),
        ({"prompt": ["a", "b"], "n": 2}, "2 texts for each of 2 prompts are more than 3; split the request"),
    ):
        with pytest.raises(InvalidRequest, match=said):
            validated(json.dumps({"model": "whale"} | fields).encode(), few)


def test_what_is_null_is_left_out():
    nothing = dict.fromkeys(["max_tokens", "stop", "stream", "ignore_eos", "top_p", "user", "stream_options"])
    assert request(prompt="a", **nothing) == {"model": "whale", "prompt": "a"}
    assert request(prompt="a", user="Ahab") == {"model": "whale", "prompt": "a"}


def test_what_would_have_no_effect_is_left_out():
    nothing = {
        "frequency_penalty": 0,
        "presence_penalty": -0.0,
        "repetition_penalty": 1.0,
        "min_tokens": 0,
        "min_p": 0.0,
    }
    assert request(prompt="a", **nothing) == {"model": "whale", "prompt": "a"}
