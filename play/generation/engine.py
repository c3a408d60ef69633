"""A checkpoint, its tokenizer, and the compiled model that continues a text."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
from max.driver import Device
from max.experimental.tensor import Tensor
from numpy.random import default_rng

from checker.compiling import compiling
from checker.course.steps import SMALL_MODEL
from checker.device import DeviceKind
from checker.max_adapter.runtime import open_device
from play.generation.streaming import new_tokens, pieces_of_text
from play.kernels.modules import compile_with_kernels
from play.startup import check_bfloat16
from play.tokens import encode, load_tokenizer
from solutions.arrays import LogitsFunction
from solutions.checkpoint import checkpoint_folder, read_checkpoint, read_config
from solutions.quantized import quantize_weights, quantized_model
from solutions.solution_11 import MaxGPT2LMHeadModel, compile_model
from solutions.solution_12 import Sampling
from solutions.solution_13 import convert_checkpoint, load_pretrained
from solutions.solution_14 import compile_cached


class LastLogits(MaxGPT2LMHeadModel):
    """A head for the last position alone, whose logits are all that generation needs, at a fraction of the work."""

    def __init__(self, model: MaxGPT2LMHeadModel) -> None:
        self.config, self.transformer, self.lm_head = model.config, model.transformer, model.lm_head

    def forward(self, input_ids: Tensor) -> Tensor:  # [batch, seq] -> [batch, 1, vocab]
        """Apply the head to the last token."""
        return self.lm_head(self.transformer(input_ids)[:, -1:])


def load_quantized(folder: Path, format: str) -> MaxGPT2LMHeadModel:
    """Load a checkpoint, and round its matrices to a format, ``Q8_0`` or ``Q4_0``."""
    return quantized_model(read_config(folder), quantize_weights(convert_checkpoint(read_checkpoint(folder)), format))


def compile_whole(model: MaxGPT2LMHeadModel, device: Device) -> LogitsFunction:
    """Compile the model without a cache for a device."""
    return compile_model(LastLogits(model), device)


class Writer:
    """Continues a text with the model of a checkpoint, compiled for one device.

    Args:
        name_or_folder: the checkpoint.
        device: for which it is compiled.
        cache: run only the new tokens, as in step 14; without it, every new token runs the whole text again.
        kernels: run attention and linear layers by the kernels of ``play.kernels``, where :func:`usable_kernels` says
            that they run; the text is the same.
        quantize: the format that matrices are rounded to, as in step 22, on the CPU alone; the text may change.
        dtype: what linear layers multiply, ``float32`` or ``bfloat16``, in which the text may change.

    Raises:
        ValueError: the checkpoint cannot be found or read, has no tokenizer, or there is no such device; or numbers
            are to be rounded to bfloat16 without the kernels or on a processor that cannot.
    """

    def __init__(
        self,
        name_or_folder: str | Path = SMALL_MODEL,
        device: DeviceKind = DeviceKind.CPU,
        *,
        cache: bool = True,
        kernels: bool = False,
        quantize: str | None = None,
        dtype: str = "float32",
    ) -> None:
        if dtype == "bfloat16":
            check_bfloat16(kernels)
        folder = checkpoint_folder(name_or_folder)
        self.tokenizer = load_tokenizer(folder)
        model = load_quantized(folder, quantize) if quantize else load_pretrained(folder)
        self.config = model.config
        target = open_device(device)
        with_kernels = partial(compile_with_kernels, bfloat16=dtype == "bfloat16")
        compile_it = with_kernels if kernels else compile_cached if cache else compile_whole
        with compiling(f"the model for {device}" + (" with the kernels of play/kernels, 2 of 2" if kernels else "")):
            self.model: LogitsFunction = compile_it(model, target)

    def encode(self, text: str) -> np.ndarray:  # -> [1, seq]
        """Return the tokens of a text; for an empty one, return the token that separates texts."""
        return encode(self.tokenizer, text, self.config)

    def write(self, prompt: str, sampling: Sampling, seed: int, max_new_tokens: int) -> Iterator[str]:
        """Yield the text that follows a prompt in pieces of whole characters, each as soon as it is known.

        Raises:
            ValueError: the prompt has a token that the model does not know.
        """
        tokens = new_tokens(
            self.model,
            self.tokenizer,
            self.encode(prompt),
            max_new_tokens,
            sampling,
            n_positions=self.config.n_positions,
            rng=default_rng(seed),
        )
        return pieces_of_text(tokens, self.tokenizer)
