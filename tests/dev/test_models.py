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


def test_what_is_recorded_of_small_weights_falls_with_their_bits():
    rows = json.loads((SMALL_MODEL / "quantized.json").read_text())["rows"]
    assert [row["format"] for row in rows] == ["F32", "Q8_0", "Q4_0", "Q4_0"]  # the last by MAX's own matmul
    whole, eight, four, _ = rows
    assert round(whole["bits_per_byte"], 4) == EVALUATION["test bits per byte"]["this model"]
    assert abs(eight["bits_per_byte"] - whole["bits_per_byte"]) < 0.001 < four["bits_per_byte"] - whole["bits_per_byte"]
    assert whole["megabytes"] > 3 * eight["megabytes"] > 5 * four["megabytes"]
