"""GPT-2 in Modular MAX, from its configuration to a text: python gpt2.py "The whale" --model gpt2-medium

It needs MAX and four packages: pip install max numpy safetensors tokenizers huggingface_hub
It writes one text. What compile_cached returns also takes a batch, with PADDING before shorter prompts.
"""

from __future__ import annotations

import argparse
import os

import numpy as np
from max.driver import CPU, Accelerator
from numpy.random import default_rng

from play.generation.streaming import END_OF_TEXT, new_tokens, pieces_of_text, read_tokenizer
from solutions.arrays import LogitsFunction
from solutions.checkpoint import checkpoint_folder
from solutions.solution_05 import check_token_ids
from solutions.solution_11 import compile_model
from solutions.solution_12 import Sampling
from solutions.solution_13 import load_pretrained
from solutions.solution_14 import compile_cached


def main() -> None:
    """Write a text that begins with a prompt."""
    os.environ.setdefault("MODULAR_TELEMETRY_ENABLED", "false")  # MAX looks at this before it first runs something
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("prompt")
    parser.add_argument("--model", default="gpt2", help="a folder, a published size or a name on the hub")
    parser.add_argument("--device", choices=["cpu", "gpu"], default="cpu")
    parser.add_argument("--max-new-tokens", type=int, default=100)
    parser.add_argument("--temperature", type=float, default=0.8, help="0 is greedy")
    parser.add_argument("--top-k", type=int, default=40, help="choose among the likeliest; 0 is all")
    parser.add_argument("--seed", type=int, help="the same seed gives the same text")
    parser.add_argument("--no-cache", action="store_true", help="run the whole text again for every new token")
    options = parser.parse_args()
    try:
        if options.max_new_tokens < 0:
            raise ValueError(f"--max-new-tokens {options.max_new_tokens} is negative; give 0 or more")
        if options.top_k < 0:
            raise ValueError(f"--top-k {options.top_k} is negative; give 0 for all tokens, or more")
        sampling = Sampling(options.temperature, options.top_k or None)
        rng = default_rng(options.seed)
        device = Accelerator() if options.device == "gpu" else CPU()
        folder = checkpoint_folder(options.model)
        tokenizer = read_tokenizer(folder)
        input_ids = np.array([tokenizer.encode(options.prompt or END_OF_TEXT).ids], dtype=np.int64)
        model = load_pretrained(folder)
        check_token_ids(input_ids, model.config)
    except ValueError as error:
        parser.exit(2, f"{parser.prog}: {error}\n")
    compiled: LogitsFunction = compile_model(model, device) if options.no_cache else compile_cached(model, device)
    print(options.prompt, end="", flush=True)
    tokens = new_tokens(
        compiled, tokenizer, input_ids, options.max_new_tokens, sampling, n_positions=model.config.n_positions, rng=rng
    )
    for piece in pieces_of_text(tokens, tokenizer):
        print(piece, end="", flush=True)
    print()


if __name__ == "__main__":
    main()
