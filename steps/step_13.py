"""Step 13: pretrained weights, from a Hugging Face checkpoint into the model."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from solutions.checkpoint import (
    CONV1D,
    HEAD,
    MASK_BUFFERS,
    WTE,
    Weights,
    check_weights,
    checkpoint_folder,
    empty_model,
    read_checkpoint,
    read_config,
)
from solutions.solution_11 import MaxGPT2LMHeadModel


def name_in_model(name: str) -> str:
    """Return the name that a tensor of a checkpoint has in the model.

    The published checkpoints leave the prefix ``transformer.`` out; newer ones have it. The head has none in either.
    """
    # TODO: Add the prefix where it is missing. (1 line)
    raise NotImplementedError


def tensor_in_model(name: str, tensor: np.ndarray) -> np.ndarray:  # Conv1D's [in, out] -> [out, in]; others as they are
    """Return a tensor of a checkpoint in the layout of the model; its name tells whether it is a Conv1D's weight."""
    # TODO: Give a Conv1D's weights the layout of Linear, contiguous in memory. (1 line)
    raise NotImplementedError


def convert_checkpoint(checkpoint: Weights) -> Weights:
    """Return the weights under the names, and in the layout, of ``MaxGPT2LMHeadModel``.

    The head is tied: it has the weights of ``wte``, unless the checkpoint has a head of its own. Nothing is dropped but
    the mask buffers, and a weight that is missing stays missing: ``check_weights`` says so.
    """
    # TODO: Drop the mask buffers, give every weight its name and layout in the model, then tie the head. (4 lines)
    raise NotImplementedError


def load_pretrained(name_or_folder: str | Path) -> MaxGPT2LMHeadModel:
    """Load GPT-2 from a folder, a published size or a name on the hub; raise ValueError if it does not fit."""
    folder = checkpoint_folder(name_or_folder)
    model = empty_model(read_config(folder))
    # TODO: Give the model the weights of the checkpoint, once they are known to fit. (4 lines)
    raise NotImplementedError
