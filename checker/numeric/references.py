"""The numbers that claims compare with: recorded from Hugging Face, or drawn anew at every check."""

from __future__ import annotations

import math
import zlib
from collections.abc import Collection, Mapping
from pathlib import Path

import numpy as np

Array = np.ndarray
FEW = 3


class Reference(dict[str, Array]):
    """The arrays of one file under ``tests/references/``, by name.

    ``weights`` holds the arrays recorded as ``weights/NAME``, in the layout of MAX's ``Linear`` (``[out, in]``);
    ``config`` the whole numbers and floats recorded as ``config/NAME``.
    """

    def __init__(self, path: Path) -> None:
        with np.load(path) as file:
            super().__init__({name: file[name] for name in file.files})
        for array in self.values():
            array.setflags(write=False)  # a function that changes its argument gets an error
        self.weights = self._arrays_under("weights/")
        self.config = {name: value.item() for name, value in self._arrays_under("config/").items()}

    def _arrays_under(self, prefix: str) -> dict[str, Array]:
        """Return the arrays whose names begin with a prefix, by the rest of the name."""
        return {name.removeprefix(prefix): array for name, array in self.items() if name.startswith(prefix)}


def seeded_weights(shapes: Mapping[str, tuple[int, ...]], seed: int = 0) -> dict[str, Array]:
    """Return the same float32 weights on every machine, for models too large to record.

    Each tensor is drawn from a seed made of its name and of ``seed``, so it does not matter which others are drawn, nor
    in which order; NumPy promises that ``RandomState`` never changes its stream. Matrices keep the variance of their
    input (their last axis), biases are small, and gains (the weights with one axis) lie around one; nothing is zero or
    one.
    """
    weights = {}
    for name, shape in shapes.items():
        spread = np.sqrt(3 / shape[-1]) if len(shape) > 1 else 0.3
        draw = np.random.RandomState(zlib.crc32(name.encode(), seed)).random_sample(shape)
        gain = len(shape) == 1 and name.endswith("weight")
        weights[name] = ((2 * draw - 1) * spread + gain).astype(np.float32)
    return weights


class Draw:
    """Draws the numbers that a claim asks for; the same seed draws the same numbers again.

    Args:
        seed: the seed.
        avoided: whole numbers that are not drawn if another will do, such as the sizes of the recording: code with
            one of them written into it would be right with it.

    Attributes:
        drawn: the sizes and numbers drawn so far, by name.
    """

    def __init__(self, seed: int, avoided: Collection[int] = ()) -> None:
        self.seed, self.avoided = seed, avoided
        self.start_over()

    def start_over(self) -> None:
        """Forget the numbers that were drawn, so that the same are drawn once more."""
        self.drawn = dict[str, int | float]()
        self._random = np.random.default_rng(self.seed)

    @property
    def words(self) -> str:
        """The sizes and numbers that were drawn, in words: ``batch = 3, n_embd = 28``."""
        return ", ".join(f"{name} = {value:.4g}" for name, value in self.drawn.items())

    def whole(self, name: str, low: int, high: int, *, times: int = 1) -> int:
        """Return a whole number from ``low`` to ``high``, both included; neither it nor ``times`` it is avoided."""
        every = range(low, high + 1)
        others = [size for size in every if {size, times * size}.isdisjoint(self.avoided)]
        value = int(self._random.choice(others or every))
        self.drawn[name] = value
        return value

    def number(self, name: str, low: float, high: float) -> float:
        """Return one of :data:`FEW` numbers between two positive ones, at equal ratios.

        MAX compiles an RMS norm anew for every epsilon, for a minute on a slow machine.
        """
        place = (self._random.integers(FEW) + 0.5) / FEW
        value = float(f"{low * (high / low) ** place:.3g}")
        self.drawn[name] = value
        return value

    def array(self, *shape: int, dtype: type[np.floating] = np.float32) -> Array:
        """Return read-only numbers; each row along the last axis has a random spread, from 0.03 to 2."""
        spread = 10 ** self._random.uniform(-1.5, 0.3, (*shape[:-1], 1))
        return _read_only((self._random.standard_normal(shape) * spread).astype(dtype))

    def ids(self, below: int, *shape: int) -> Array:
        """Return read-only whole numbers from 0 up to ``below``, which is excluded."""
        return _read_only(self._random.integers(below, size=shape))

    def coins(self, *shape: int) -> Array:
        """Return True or False for each element, equally likely."""
        return _read_only(self._random.random(shape) < 0.5)

    def weights(self, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, Array]:
        """Return float32 weights, by name."""
        return seeded_weights(shapes, self.seed)

    def settings(self, least_width: int = 2) -> dict[str, int | float]:
        """Return the settings of a small GPT-2, by the names of ``GPT2Config``.

        Args:
            least_width: the least ``n_embd`` that may be drawn. A layer norm of two channels gives 1 and -1 whatever
                the channels are, so gradients through it are rounding alone.
        """
        heads, layers = self.whole("n_head", 1, 6), self.whole("n_layer", 1, 2)
        width = heads * self.whole("n_embd / n_head", max(2, math.ceil(least_width / heads)), 8, times=heads)
        del self.drawn["n_embd / n_head"]
        self.drawn["n_embd"] = width
        return {
            "n_embd": width,
            "n_head": heads,
            "n_layer": layers,
            "vocab_size": self.whole("vocab_size", 20, 60),
            "n_positions": self.whole("n_positions", 8, 20),
            "n_inner": self.whole("n_inner", 6, 40),
            "layer_norm_epsilon": self.number("layer_norm_epsilon", 1e-6, 1e-1),
        }


def _read_only(array: Array) -> Array:
    array.setflags(write=False)
    return array
