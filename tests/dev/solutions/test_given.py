"""What the solutions give a learner ready-made: settings that refuse what is impossible, and reading a checkpoint."""

import json
import math
import re

import numpy as np
import pytest
from max.dtype import DType
from max.experimental.tensor import default_dtype

from checker.course.steps import SMALL_MODEL
from solutions.checkpoint import check_weights, read_checkpoint, read_config
from solutions.solution_12 import Sampling, generate_tokens
from solutions.solution_13 import load_pretrained
from solutions.warmup_06 import decode

OTHER_GPT2 = {"activation_function": "gelu", "scale_attn_by_inverse_layer_idx": True, "scale_attn_weights": False}


@pytest.mark.parametrize("settings", [(-0.5,), (math.nan,), (math.inf,), (1.0, 0)])
def test_impossible_settings_are_refused(settings):
    with pytest.raises(ValueError, match=f"^{('temperature', 'top_k')[len(settings) - 1]} = {settings[-1]}"):
        Sampling(*settings)


def test_a_tiny_temperature_and_no_text_at_all():
    np.testing.assert_array_equal(Sampling(1e-308).probabilities(np.eye(3)), np.eye(3))
    assert Sampling().choose(np.eye(3)[:0], np.random.default_rng()).dtype == np.int64
    with pytest.raises(ValueError, match="the prompt is empty"):
        generate_tokens(np.eye(3).take, np.zeros((1, 0), np.int64))


def test_a_folder_of_another_model_or_a_damaged_one_is_refused_by_name(tmp_path):
    reasons = {f"{name} = {value};": {"model_type": "gpt2", name: value} for name, value in OTHER_GPT2.items()}
    for reason, values in (reasons | {"a llama model": {"model_type": "llama"}, "readable config.json": None}).items():
        (tmp_path / "config.json").write_text(json.dumps(values) if values else "{")
        with pytest.raises(ValueError, match=reason):
            read_config(tmp_path)
    (tmp_path / "model.safetensors").write_bytes((SMALL_MODEL / "model.safetensors").read_bytes()[:-1])
    with pytest.raises(ValueError, match=r"model\.safetensors is missing, cut short or damaged"):
        read_checkpoint(tmp_path)
    weights = {"a": np.ones(2), "b": np.ones((2, 3)), "d": np.ones(1)}
    with pytest.raises(ValueError, match=re.escape(": c is missing; d is unknown; b is (2, 3), not (3, 2)")):
        check_weights(weights, {"a": (2,), "b": (3, 2), "c": (1,)})


def test_the_weights_are_float32_whatever_the_default_is_as_on_a_gpu():
    with default_dtype(DType.bfloat16):
        model = load_pretrained(SMALL_MODEL)
    assert {weight.dtype for _, weight in model.parameters} == {DType.float32}


@pytest.mark.parametrize("token", [-1, 256])
def test_ids_outside_the_vocabulary_are_refused(token):
    with pytest.raises(ValueError, match=f"id {token} is not .* 0 to 255$"):
        decode([0, token], {})
