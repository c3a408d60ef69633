"""Write on from a prompt with the small GPT-2, by Hugging Face's own ``generate``.

``python -m tools.training.sample "Call me" [--tokens 120] [--temperature 0] [--top-k 40] [--seed 0]``
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer
from transformers.utils.logging import disable_progress_bar

from checker.course.paths import SMALL_MODEL


def main() -> None:
    """Read the options, generate and print."""
    parser = argparse.ArgumentParser(prog="python -m tools.training.sample", description=__doc__.splitlines()[0])
    parser.add_argument("prompt")
    parser.add_argument("--model", type=Path, default=SMALL_MODEL, help="a folder in Hugging Face's layout")
    parser.add_argument("--tokens", type=int, default=120, help="how many to add")
    parser.add_argument("--temperature", type=float, default=0.0, help="0 takes the likeliest token each time")
    parser.add_argument("--top-k", type=int, default=40, help="sample from so many of the likeliest tokens")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    disable_progress_bar()
    torch.manual_seed(options.seed)
    model = AutoModelForCausalLM.from_pretrained(options.model).eval()
    tokenizer = AutoTokenizer.from_pretrained(options.model)
    how = dict(do_sample=True, temperature=options.temperature, top_k=options.top_k) if options.temperature else {}
    inputs = tokenizer(options.prompt, return_tensors="pt")
    tokens = model.generate(**inputs, max_new_tokens=options.tokens, pad_token_id=tokenizer.eos_token_id, **how)
    print(tokenizer.decode(tokens[0], skip_special_tokens=True))


if __name__ == "__main__":
    main()
