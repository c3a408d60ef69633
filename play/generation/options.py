"""The options of ``generate``: which model writes, and how."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from checker.device import DeviceKind
from play.mine.choice import OwnSteps


@dataclass(frozen=True)
class WriterOptions:
    """Which model writes, on what, whose steps it runs, and how it chooses tokens."""

    model: str | Path  # a folder, or a name that step 13 knows; or a Llama
    max_new_tokens: int = 100
    temperature: float = 0.8  # 0: the likeliest token
    top_k: int = 40  # 0: all tokens
    seed: int | None = None  # None: one that is drawn
    device: DeviceKind = DeviceKind.CPU
    no_cache: bool = False  # run the whole text again for every new token
    kernels: bool | None = None  # run those of play/kernels; by default, unless ``own``
    quantize: str | None = None  # the format that matrices are rounded to, as in step 22
    dtype: str = "float32"  # what linear layers multiply
    own: OwnSteps | None = None  # run the learner's steps

    @property
    def has_kernels(self) -> bool:
        """Whether there are kernels for it, which multiply by whole matrices on a CPU."""
        return self.device is DeviceKind.CPU and self.quantize is None
