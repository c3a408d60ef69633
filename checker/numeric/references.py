"""Hugging Face's recorded numbers, as the claims read them."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np

Array = np.ndarray


class Reference(dict[str, Array]):
    """The arrays of one file under ``tests/references/``, by name.

    ``weights`` holds those recorded as ``weights/NAME``, in the layout of MAX's ``Linear``
    (``[out, in]``); ``config`` the whole numbers and floats recorded as ``config/NAME``.
    """

    def __init__(self, path: Path) -> None:
        with np.load(path) as file:
            super().__init__({name: file[name] for name in file.files})
        for array in self.values():
            array.setflags(write=False)  # a function that changes what it is given is told so
        self.weights = self._below("weights/")
        self.config = {name: value.item() for name, value in self._below("config/").items()}

    def _below(self, prefix: str) -> dict[str, Array]:
        return {name.removeprefix(prefix): array for name, array in self.items() if name.startswith(prefix)}


def seeded_weights(shapes: Mapping[str, tuple[int, ...]], seed: int = 0) -> dict[str, Array]:
    """Return the same float32 weights on every machine, for models too large to record.

    Each tensor is drawn from a seed made of its name and of ``seed``, so order and company do not matter; NumPy
    promises that ``RandomState`` never changes its stream. Matrices keep the variance of what they
    multiply (their last axis is the input), biases are small, and gains (the weights with one axis)
    lie around one; nothing is zero or one.
    """
    weights = {}
    for name, shape in shapes.items():
        spread = np.sqrt(3 / shape[-1]) if len(shape) > 1 else 0.3
        draw = np.random.RandomState(zlib.crc32(name.encode(), seed)).random_sample(shape)
        gain = len(shape) == 1 and name.endswith("weight")
        weights[name] = ((2 * draw - 1) * spread + gain).astype(np.float32)
    return weights
