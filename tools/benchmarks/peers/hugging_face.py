"""Hugging Face's GPT-2 on torch, as its users run it: no gradients, one thread per physical core."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import psutil
import torch
import transformers
from transformers.utils import logging

from tools.benchmarks.workers import SCORES, Call, Read, Workload, be

EAGER, COMPILED = "eager", "torch.compile"  # ways to run the model, beside sdpa


def prepare(folder: Path, workload: Workload) -> tuple[Call, Read]:
    """Return a prompt's logits, or greedy text, as a function; logits are read of the last token."""
    model = loaded(folder / "checkpoint", workload.how)
    ids = torch.from_numpy(workload.token_ids(model.config.vocab_size))
    settings: dict[str, Any] = {"do_sample": False, "eos_token_id": None, "pad_token_id": 0}
    settings |= {"max_new_tokens": workload.new_tokens, "attention_mask": torch.ones_like(ids)}
    if workload.part == SCORES:
        settings |= {"return_dict_in_generate": True, "output_logits": True}

    def call() -> Any:
        with torch.inference_mode():
            if workload.part == "forward":
                return model(ids, use_cache=False).logits
            return model.generate(ids, **settings)

    def read(output: Any) -> Any:
        if workload.part == "forward":
            return output[:, -1].numpy()
        if workload.part == SCORES:
            return torch.stack(output.logits, dim=1).numpy()
        return output[:, workload.length :].numpy()

    return call, read


@cache
def loaded(checkpoint: Path, how: str) -> Any:
    """Return the model as a way runs it, in float32."""
    attention = EAGER if how == EAGER else "sdpa"
    load = transformers.GPT2LMHeadModel.from_pretrained
    model = load(checkpoint, attn_implementation=attention, dtype="float32").eval()
    if how == COMPILED:
        model.forward = torch.compile(model.forward, dynamic=True)
    return model


if __name__ == "__main__":
    logging.disable_progress_bar()
    torch.set_num_threads(psutil.cpu_count(logical=False) or 1)
    be(f"transformers {transformers.__version__}, torch {torch.__version__}", prepare)
