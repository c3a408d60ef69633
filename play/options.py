"""The options that say which model a command runs, how, and by whose steps."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from checker.device import DeviceKind
from checker.errors import UserError
from play.mine.choice import OwnSteps


@dataclass(frozen=True)
class ModelOptions:
    """Which model runs, on what, how, and by whose steps; what a command does not ask for has its default.

    Raises:
        UserError: matrices are to be rounded on a GPU.
    """

    model: str | Path  # a folder, or a name that step 13 knows; or a Llama
    device: DeviceKind = DeviceKind.CPU
    own: OwnSteps | None = None  # run the learner's steps
    kernels: bool | None = None  # run those of play/kernels; by default, unless ``own``
    quantize: str | None = None  # the format that matrices are rounded to, as in step 22; the texts may change
    dtype: str = "float32"  # what linear layers multiply; in bfloat16 the texts may change, too

    def __post_init__(self) -> None:
        if self.quantize and self.device is not DeviceKind.CPU:
            raise UserError("--quantize runs on the CPU; leave --device gpu away")

    @property
    def has_kernels(self) -> bool:
        """Whether ``play.kernels`` has what multiplies by its matrices: on a CPU, by those that are not rounded."""
        return self.device is DeviceKind.CPU and self.quantize is None
