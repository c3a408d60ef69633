"""A checkpoint of another model, or a damaged one, is refused by name."""

import json
import re
from types import SimpleNamespace

import numpy as np
import pytest

from checker.course.steps import SMALL_MODEL
from solutions.checkpoint import check_weights, read_checkpoint, read_config

OTHER_GPT2 = {"activation_function": "gelu", "scale_attn_by_inverse_layer_idx": True, "scale_attn_weights": False}
OTHER_GPT2 |= {"n_embd": "768", "n_head": 12.0, "n_layer": True, "n_inner": "4", "layer_norm_epsilon": None}
OTHER_GPT2 |= {"vocab_size": 0, "n_positions": -1}


def test_a_folder_of_another_model_or_a_damaged_one_is_refused_by_name(tmp_path):
    reasons = {f"{name} = '?{value}'?;": {"model_type": "gpt2", name: value} for name, value in OTHER_GPT2.items()}
    reasons |= {"a llama model": {"model_type": "llama"}, "readable config.json": None, "no settings": []}
    for reason, values in reasons.items():
        (tmp_path / "config.json").write_text("{" if values is None else json.dumps(values))
        with pytest.raises(ValueError, match=reason):
            read_config(tmp_path)
    (tmp_path / "model.fp16.safetensors").touch()  # not this course's to read
    (tmp_path / "model.safetensors").write_bytes((SMALL_MODEL / "model.safetensors").read_bytes()[:-1])
    with pytest.raises(ValueError, match=r"model\.safetensors cannot be read: SafetensorError"):
        read_checkpoint(tmp_path)
    (tmp_path / "model.safetensors").unlink()
    (tmp_path / "model-00002-of-00003.safetensors").touch()
    with pytest.raises(ValueError, match=r"lacks model-00001-of-00003\S+, model-00003-of-00003\.safetensors; download"):
        read_checkpoint(tmp_path)
    model = SimpleNamespace(parameters=[("a", np.ones(2)), ("b", np.ones((3, 2))), ("c", np.ones(1))])
    with pytest.raises(ValueError, match=re.escape(": c is missing; d is unknown; b is (2, 3), not (3, 2)")):
        check_weights({"a": np.ones(2), "b": np.ones((2, 3)), "d": np.ones(1)}, model)
