"""Hugging Face's GPT-2, trained as users of PyTorch do: with autograd and the fused AdamW."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import psutil
import torch
import transformers
from transformers.utils import logging

from tools.benchmarks.training import RATE, two_steps
from tools.benchmarks.workers import Call, Read, Workload, be

BFLOAT16, COMPILED = "bfloat16", "torch.compile"  # ways, of which the first has its matmuls alone in bfloat16
MAX_NORM = 1.0
BETAS, EPSILON, WEIGHT_DECAY = (0.9, 0.95), 1e-8, 0.1


def prepare(folder: Path, workload: Workload) -> tuple[Call, Read]:
    """Return a function that takes a step, and what reads its loss, the next one's, and its norm."""
    model = transformers.GPT2LMHeadModel.from_pretrained(folder / "checkpoint", dtype="float32").eval()  # no dropout
    weights = list(model.parameters())
    matrices, others = [one for one in weights if one.dim() > 1], [one for one in weights if one.dim() < 2]
    groups = [{"params": matrices, "weight_decay": WEIGHT_DECAY}, {"params": others, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=RATE, betas=BETAS, eps=EPSILON, fused=True)
    forward = torch.compile(model) if workload.how == COMPILED else model
    ids = torch.from_numpy(workload.token_ids(model.config.vocab_size))

    def step() -> tuple[float, float]:
        with torch.autocast("cpu", torch.bfloat16, enabled=workload.how == BFLOAT16):
            loss = forward(ids, labels=ids, use_cache=False).loss
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(weights, MAX_NORM)
        optimizer.step()
        optimizer.zero_grad()
        return loss.item(), norm.item()

    return step, partial(two_steps, step)


if __name__ == "__main__":
    logging.disable_progress_bar()
    torch.set_num_threads(psutil.cpu_count(logical=False) or 1)
    be(f"transformers {transformers.__version__}, torch {torch.__version__}", prepare)
