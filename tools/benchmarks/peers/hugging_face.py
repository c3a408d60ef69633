"""Hugging Face's GPT-2 and Llama on torch, as its users run it: one thread per physical core."""

from __future__ import annotations

from functools import cache, partial
from pathlib import Path
from typing import Any

import psutil
import torch
import transformers
from transformers.utils import logging

from tools.benchmarks.workers import FORWARD, GPU, TEXT, Call, Read, Workload, work


def prepare(checkpoint: Path, workload: Workload) -> tuple[Call, Read]:
    """Return a workload as a function, and how to read what it returns."""
    model = loaded(checkpoint, workload.how, workload.dtype)
    ids = torch.from_numpy(workload.token_ids(model.config.vocab_size)).to(model.device)
    if workload.part == FORWARD:
        run = torch.inference_mode()(lambda: model(ids, use_cache=False).logits)
        return run, lambda logits: logits[:, -1].numpy()
    settings: dict[str, Any] = {"do_sample": False, "eos_token_id": None, "pad_token_id": 0}
    settings |= {"max_new_tokens": workload.new_tokens, "attention_mask": torch.ones_like(ids)}
    write = partial(model.generate, ids, **settings)
    if workload.part == TEXT:
        return lambda: write().cpu(), lambda text: text[:, workload.length :].numpy()  # a GPU works on after generate
    score = partial(write, return_dict_in_generate=True, output_logits=True)
    return score, lambda output: torch.stack(output.logits, dim=1).numpy()


@cache
def loaded(checkpoint: Path, how: str, dtype: str) -> Any:
    """Return the model as a way runs it: a GPT-2 from its folder, a Llama from its GGUF file."""
    options: dict[str, Any] = {"attn_implementation": "sdpa", "dtype": dtype}
    if checkpoint.is_file():
        checkpoint, options["gguf_file"] = checkpoint.parent, checkpoint.name
    model = transformers.AutoModelForCausalLM.from_pretrained(checkpoint, **options).eval()
    return model.to("cuda") if how == GPU else model


if __name__ == "__main__":
    logging.disable_progress_bar()
    torch.set_num_threads(psutil.cpu_count(logical=False) or 1)
    gpus = [torch.cuda.get_device_name()] if torch.cuda.is_available() else []
    work(", ".join([f"transformers {transformers.__version__}", f"torch {torch.__version__}", *gpus]), prepare)
