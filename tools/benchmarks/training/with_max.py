"""Steps 16 to 20 of this course, as ``./run train`` takes them."""

from __future__ import annotations

from functools import partial
from importlib.metadata import version
from pathlib import Path

import numpy as np

from checker.max_adapter import runtime
from play.training.graphs import compile_trainer
from solutions.solution_13 import convert_checkpoint, read_checkpoint, read_config
from solutions.solution_20 import train_step
from tools.benchmarks.training import RATE, two_steps
from tools.benchmarks.workers import Call, Read, Workload, be


def prepare(folder: Path, workload: Workload) -> tuple[Call, Read]:
    """Return a function that takes a step, and what reads its loss, the next one's, and its norm."""
    config = read_config(folder / "checkpoint")
    trainer = compile_trainer(config)
    weights = convert_checkpoint(read_checkpoint(folder / "checkpoint"))
    del weights["lm_head.weight"]
    zeros = {name: np.zeros_like(weight) for name, weight in weights.items()}
    trainer.go_on(0, weights, zeros, zeros)
    ids = runtime.tensor(workload.token_ids(config.vocab_size))
    graphs = {"accumulate": trainer.accumulate, "update": trainer.update}
    step = partial(train_step, trainer.state, [(ids, ids)], RATE, **graphs)
    return step, partial(two_steps, step)


if __name__ == "__main__":
    runtime.prepare()
    be(f"MAX {version('max')}", prepare)
