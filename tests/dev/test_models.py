"""The small model that comes with the course, and what its card says of it."""

import json

import numpy as np
from safetensors.numpy import load_file

from checker.course.steps import SMALL_MODEL

CARD = (SMALL_MODEL / "README.md").read_text()
EVALUATION = json.loads((SMALL_MODEL / "evaluation.json").read_text())


def test_it_is_small_and_its_card_has_the_measured_figures():
    assert sum(path.stat().st_size for path in SMALL_MODEL.iterdir()) <= 12.5e6
    weights = load_file(SMALL_MODEL / "model.safetensors")
    parameters = sum(array.size for array in weights.values())
    assert parameters == EVALUATION["parameters"]
    assert f"{parameters:,} parameters" in CARD
    assert all(array.dtype == np.float16 for array in weights.values())
    bits = EVALUATION["test bits per byte"]
    for predictor, needed in bits.items():
        assert f"| {predictor} | {needed:.3f} |" in CARD
    assert bits["this model"] == min(bits.values())
