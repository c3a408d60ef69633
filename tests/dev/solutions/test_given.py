"""What the solutions give a learner ready-made: settings that refuse what is impossible, and reading a checkpoint."""

import json
import math
import re
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest
from max.dtype import DType
from max.experimental.tensor import Tensor, default_dtype
from max.graph import SymbolicDim

from checker.course.steps import SMALL_MODEL
from solutions.checkpoint import check_weights, read_checkpoint, read_config
from solutions.solution_01 import GPT2Config
from solutions.solution_06 import check_length
from solutions.solution_12 import Sampling, generate_tokens
from solutions.solution_13 import load_pretrained
from solutions.solution_20 import train_step
from solutions.training import TrainingState, accumulate_batches, scalar
from solutions.warmup_04 import head_dim
from solutions.warmup_06 import decode
from solutions.warmup_07 import new_cache, next_positions

OTHER_GPT2 = {"activation_function": "gelu", "scale_attn_by_inverse_layer_idx": True, "scale_attn_weights": False}
OTHER_GPT2 |= {"n_embd": "768", "n_head": 12.0, "n_layer": True, "n_inner": "4", "layer_norm_epsilon": None}
TEXT = np.zeros((1, 1), np.int64)
TINY = GPT2Config(vocab_size=37, n_positions=13, n_embd=4, n_head=2)

IMPOSSIBLE = {
    "temperature = -0.5": lambda: Sampling(-0.5),
    "temperature = nan": lambda: Sampling(math.nan),
    "temperature = inf": lambda: Sampling(math.inf),
    "top_k = 0": lambda: Sampling(top_k=0),
    "the prompt is empty": lambda: generate_tokens(
        np.eye(3).take, np.zeros((1, 0), np.int64), 1, Sampling(), n_positions=4
    ),
    "n_positions = 0 lets": lambda: generate_tokens(np.eye(3).take, TEXT, 1, Sampling(), n_positions=0),
    "n_positions = -1 lets": lambda: generate_tokens(np.eye(3).take, TEXT, 1, Sampling(), n_positions=-1),
    "id -1 is not .* 0 to 255$": lambda: decode([0, -1], {}),
    "id 256 is not .* 0 to 255$": lambda: decode([0, 256], {}),
    "n_embd = 768 .* n_head = 7 heads": lambda: head_dim(768, 7),
    "n_embd = 20 .* n_head = 0 heads": lambda: head_dim(20, 0),
    "12 tokens .* 11 slots": lambda: next_positions(new_cache(1, 1, 11, 2), 12),
    "a sequence of 14 tokens .* n_positions = 13$": lambda: check_length(14, TINY),
}


@pytest.mark.parametrize("message", IMPOSSIBLE)
def test_what_is_impossible_is_refused_by_name(message):
    with pytest.raises(ValueError, match=f"^{message}"):
        IMPOSSIBLE[message]()


def test_a_tiny_temperature_and_no_rows_at_all():
    check_length(SymbolicDim("past") + SymbolicDim("seq"), TINY)
    np.testing.assert_array_equal(Sampling(1e-308).probabilities(np.eye(3)), np.eye(3))
    assert Sampling().choose(np.eye(3)[:0], np.random.default_rng()).dtype == np.int64


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


def test_the_weights_are_float32_whatever_the_default_is_as_on_a_gpu():
    with default_dtype(DType.bfloat16):
        model = load_pretrained(SMALL_MODEL)
    assert {weight.dtype for _, weight in model.parameters} == {DType.float32}


def test_each_batch_is_accumulated_once_into_sums_that_begin_at_0():
    memory = np.full((2, 2), 9, np.float32)  # the gradients of a step before
    weights, sums = {"w": Tensor.from_dlpack(memory.copy())}, {"w": Tensor.from_dlpack(memory)}
    calls, answers = [], iter([(6, 3), (0, 0), (1, 1)])  # one batch is all padding

    def accumulate(*given):
        calls.append(given)
        np.add(memory, 1, out=memory)
        return map(scalar, next(answers))

    state, batches = TrainingState(weights, sums, {}, {}), [(0, 1), (2, 3), (4, 5)]
    assert accumulate_batches(state, iter(batches), accumulate) == (7, 4)
    assert [call[:2] for call in calls] == batches
    assert all(call[2] is weights and call[3] is sums for call in calls)
    assert (memory == 3).all()


@pytest.mark.parametrize("case", ["7 4 0.5 -", "nan 4 0.5 loss", "inf 4 0.5 loss", "0 0 0.5 loss", "7 4 inf norm"])
def test_a_step_of_training_refuses_a_loss_or_a_norm_that_is_not_finite(case):
    *numbers, refused = case.split()
    loss_sum, count, norm = (scalar(float(number)) for number in numbers)
    state, updates = TrainingState({}, {}, {}, {}), []
    inputs = state, 1, [(0, 0)], 0.25, lambda *_: (loss_sum, count), lambda *inputs: updates.append(inputs) or norm
    with pytest.raises(FloatingPointError, match=f"^the {refused} of step 1 is") if refused != "-" else nullcontext():
        assert train_step(*inputs) == (1.75, 0.5)
    assert len(updates) == (refused != "loss")
