"""The small model that comes with the course, and what its card says of it."""

import json

import numpy as np
import pytest
from safetensors.numpy import load_file

from checker.course.paths import SMALL_MODEL

CARD = (SMALL_MODEL / "README.md").read_text()
EVALUATION = json.loads((SMALL_MODEL / "evaluation.json").read_text())


def test_it_is_small():
    assert sum(path.stat().st_size for path in SMALL_MODEL.iterdir()) <= 12.5e6
    weights = load_file(SMALL_MODEL / "model.safetensors")
    parameters = sum(array.size for array in weights.values())
    assert parameters == EVALUATION["parameters"]
    assert f"{parameters:,} parameters" in CARD
    assert all(array.dtype == np.float16 for array in weights.values())


def test_the_card_has_the_measured_figures():
    for predictor, bits in EVALUATION["test bits per byte"].items():
        assert f"| {predictor} | {bits:.3f} |" in CARD


def test_what_it_writes_is_recorded_after_the_fixed_beginnings():
    evaluate = pytest.importorskip("tools.small_model.evaluate")
    before = json.loads((SMALL_MODEL / "before.json").read_text())
    assert before["test bits per byte"] > EVALUATION["test bits per byte"]["this model"]
    for texts in (before["writing"], json.loads((SMALL_MODEL / "writing.json").read_text())):
        assert [(one["beginning"], one["seed"]) for one in texts] == list(evaluate.BEGINNINGS)
        for one in texts:
            words = evaluate.words_of(one["text"])
            found = evaluate.writing(one["text"], set(words) - set(one["invented"]), one["longest copy"])
            assert {name: one[name] for name in found} == found


@pytest.mark.nightly
def test_what_is_recorded_is_what_it_writes():
    evaluate = pytest.importorskip("tools.small_model.evaluate")
    recorded = json.loads((SMALL_MODEL / "writing.json").read_text())
    now = evaluate.written(SMALL_MODEL)
    assert [next(now), next(now)] == [one["text"] for one in recorded[:2]]


def test_it_predicts_better_than_a_5_gram_and_xz():
    bits = EVALUATION["test bits per byte"]
    assert bits["this model"] < bits["interpolated 5-gram"]
    assert bits["this model"] < min(value for name, value in bits.items() if name.startswith("xz"))


READ = "The whale saw the ship, and the ship saw the whale."


@pytest.mark.parametrize(
    ("text", "invented", "repeated", "copy"),
    [
        ("Thewhale saw The ship, and", ["thewhale"], 0.0, "he ship, and"),
        ("the ship the ship the ship the ship", [], 1 - 2 / 5, " the ship "),
        ("a b", ["a", "b"], 0.0, "a"),
        ("", [], 0.0, ""),
        (READ, [], 0.0, READ),
    ],
)
def test_the_figures_of_a_text(text, invented, repeated, copy):
    evaluate = pytest.importorskip("tools.small_model.evaluate")
    assert evaluate.writing(text, set(evaluate.words_of(READ)), READ) == {
        "words": len(evaluate.words_of(text)),
        "invented": invented,
        "repeated": round(repeated, 3),
        "longest copy": copy,
    }
