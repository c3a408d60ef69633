"""A training is PyTorch's: twenty steps of step 20 as they were recorded, and the same whole training, live."""

import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from max.driver import CPU
from max.dtype import DType
from max.graph import BufferType, TensorType

from checker.claims import equal
from checker.course.paths import ROOT
from checker.course.steps import Step
from checker.max_adapter.runtime import tensor
from checker.numeric.references import Reference
from play.training.checkpoint import Folder
from solutions.solution_01 import GPT2Config
from solutions.solution_20 import Accumulate, AdamW, Update, train, training_state
from tools.benchmarks.comparison import WrongOutput
from tools.benchmarks.training import follow

REFERENCE = Reference(Step("step_20").reference_file)


def below(prefix):
    """The recorded arrays whose names begin with ``prefix``, by the rest."""
    return {name.removeprefix(prefix): array for name, array in REFERENCE.items() if name.startswith(prefix)}


@pytest.mark.nightly
def test_twenty_steps_are_pytorchs():
    weights = below("block_weights_0/")
    config = GPT2Config(**{name: value.item() for name, value in below("block_sizes/").items()})
    settings = {name: REFERENCE.config[name] for name in ("beta1", "beta2", "epsilon", "weight_decay")}
    ids, one = (
        TensorType(dtype, shape, CPU()) for dtype, shape in ((DType.int64, ["batch", "seq"]), (DType.float32, []))
    )
    named = {name: BufferType(DType.float32, weight.shape, CPU()) for name, weight in weights.items()}
    accumulate = Accumulate(config).compile(ids, ids, named, named)
    update = Update(AdamW(**settings), REFERENCE.config["max_norm"]).compile(one, one, one, named, named, named, named)
    batches = [tuple(map(tensor, one)) for one in zip(REFERENCE["input_ids"], REFERENCE["labels"], strict=True)]
    state = training_state(weights)
    for input_ids, labels in batches:
        accumulate(input_ids, labels, state.weights, state.sums)
    for name, right in below("block_sums_1/").items():
        size = float(np.abs(right).max())
        equal(
            state.sums[name], right, what=name, tolerance=1e-4 * size + 1e-6
        )  # those of the key bias are 0, but for rounding
    state = training_state(weights)
    reports = list(
        train(state, lambda at: batches, lambda at: float(REFERENCE["rates"][at - 1]), 20, accumulate, update)
    )
    assert [one.loss for one in reports] == pytest.approx(REFERENCE["block_losses"], rel=1e-4)
    assert [one.norm for one in reports] == pytest.approx(REFERENCE["block_norms"], rel=1e-4)
    for name, right in below("block_weights_20/").items():
        # Of the key bias only rounding has a gradient. An epsilon of 1e-3 keeps AdamW from making steps of it.
        equal(state.weights[name], right, what=name, tolerance=1e-4 * min(1.0, float(np.abs(right).max())))


SIZES = dict(layers=2, heads=2, width=32, positions=64, vocab=512, batch=8, accumulate=2, steps=240)


@pytest.mark.nightly
def test_a_whole_training_has_pytorchs_curve(tmp_path):
    """The losses of 200 steps, and the held-out text at last; then a training that differs is noticed."""
    pytest.importorskip("torch")
    folder = tmp_path / "trained"
    options = [f"--{name}={size}" for name, size in SIZES.items()]
    trained = [sys.executable, "-m", "cli", "train", "--out", str(folder), *options]
    subprocess.run(trained, cwd=ROOT, check=True, capture_output=True)
    row = follow(folder, None)
    assert (row["steps"], row["compared"]) == (240, 200)
    assert row["apart"] < 0.001
    assert row["MAX, bits"] == pytest.approx(row["PyTorch, bits"], abs=0.002)
    saved, _ = Folder(folder).load()
    assert row["MAX, bits"] < 3.3 < saved.history.evaluations[0]["bits_per_byte"]

    with pytest.raises(ValueError, match=re.escape(f"{folder} has had 240 steps, and cannot be followed for 241")):
        follow(folder, 241)
    losses = [loss * (1.02 if step == 4 else 1) for step, loss in enumerate(saved.history.losses)]
    Folder(folder).save(replace(saved, history=replace(saved.history, losses=losses)), best=False)
    assert follow(folder, 4)["compared"] == 4
    with pytest.raises(WrongOutput, match="PyTorch learns differently: losses 1"):
        follow(folder, 5)
