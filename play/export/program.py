"""GPT-2 in Modular MAX, from its configuration to a text: python gpt2.py "The whale" --model gpt2."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from typing import Any

import numpy as np
from max.driver import CPU, Accelerator
from numpy.random import default_rng
from tokenizers import Tokenizer
from tokenizers.decoders import DecodeStream

from solutions.checkpoint import checkpoint_folder
from solutions.solution_12 import Model, Sampling, generate_tokens
from solutions.solution_13 import load_pretrained
from solutions.solution_14 import compile_cached


def stream_text(model: Model, tokenizer: Tokenizer, input_ids: np.ndarray, options: Any, context: int) -> Iterator[str]:
    """Yield the text that follows the tokens [1, seq] of a prompt, in pieces of whole characters, as it comes."""
    sampling, rng = Sampling(options.temperature, options.top_k or None), default_rng(options.seed)
    decoder = DecodeStream(skip_special_tokens=True)
    for _ in range(options.max_new_tokens):
        input_ids = generate_tokens(model, input_ids, 1, sampling, rng, n_positions=context)
        if input_ids[0, -1] == (tokenizer.token_to_id("<|endoftext|>") or 0):
            break
        if piece := decoder.step(tokenizer, int(input_ids[0, -1])):
            yield piece


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
    options = parser.parse_args()
    try:
        folder = checkpoint_folder(options.model)
        model = load_pretrained(folder)
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        input_ids = np.array([tokenizer.encode(options.prompt or "<|endoftext|>").ids], dtype=np.int64)
        compiled = compile_cached(model, Accelerator() if options.device == "gpu" else CPU())
        print(end=options.prompt, flush=True)
        for piece in stream_text(compiled, tokenizer, input_ids, options, model.config.n_positions):
            print(end=piece, flush=True)
        print()
    except ValueError as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
