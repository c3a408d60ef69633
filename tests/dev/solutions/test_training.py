"""What a training is given: the weights that it begins with, and sums over batches."""

import math
from contextlib import nullcontext

import numpy as np
import pytest
from max.experimental.tensor import Tensor

from solutions.solution_01 import GPT2Config
from solutions.solution_20 import train_step
from solutions.training import TrainingState, accumulate_batches, initial_weights, scalar

CONFIG = GPT2Config(vocab_size=270, n_positions=8, n_embd=60, n_layer=2, n_head=2)


def test_a_training_begins_with_gains_of_1_biases_of_0_and_normal_noise():
    for name, weight in initial_weights(CONFIG, 0).items():
        spread = 0 if weight.ndim == 1 else 0.02 / math.sqrt(2 * 2) if "c_proj" in name else 0.02
        assert weight.std() == pytest.approx(spread, rel=0.1), name
        assert weight.mean() == pytest.approx(float(weight.ndim == 1 and "weight" in name), abs=0.002), name


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
