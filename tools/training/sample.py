"""Write on from a prompt with the small GPT-2, by Hugging Face's own ``generate``."""

from __future__ import annotations

from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer
from transformers.utils.logging import disable_progress_bar


def write_on(prompt: str, folder: Path, tokens: int, temperature: float, top_k: int, seed: int) -> str:
    """Return a prompt and the tokens that a model adds; temperature 0 takes the likeliest each time."""
    disable_progress_bar()
    torch.manual_seed(seed)
    model = AutoModelForCausalLM.from_pretrained(folder).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    how = dict(do_sample=True, temperature=temperature, top_k=top_k) if temperature else {}
    inputs = tokenizer(prompt, return_tensors="pt")
    written = model.generate(**inputs, max_new_tokens=tokens, pad_token_id=tokenizer.eos_token_id, **how)
    return str(tokenizer.decode(written[0], skip_special_tokens=True))
