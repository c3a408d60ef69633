"""Use MAX: convert arrays, gather operations into a graph or run each at once, open a device, name compiled files.

``python -m checker.max_adapter.runtime gpu`` says whether there is a GPU: if not, the exit status is 2.
"""

from __future__ import annotations

import hashlib
import platform
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from pathlib import Path

import numpy as np
from max.driver import CPU, Accelerator, Device, accelerator_count
from max.experimental import functional as F
from max.experimental.tensor import Tensor

from checker.device import DeviceKind
from checker.errors import UserError
from checker.machine import instruction_line

#: All compiled files and their indexes, also of another MAX or an older version of the course.
ALL_KEPT = "gpt2-in-max-*.*"

_eagerly = ContextVar("_eagerly", default=False)


def tensor(array: np.ndarray) -> Tensor:
    """Return a MAX tensor with a copy of ``array``; ``Tensor(array)`` would compile a graph for it."""
    return Tensor.from_dlpack(np.array(array, order="C"))


@contextmanager
def lazily() -> Iterator[None]:
    """While this is open, gather operations into one graph, unless each is to run at once (:func:`eagerly`)."""
    with nullcontext() if _eagerly.get() else F.lazy():
        yield


@contextmanager
def eagerly() -> Iterator[None]:
    """While this is open, run every operation at once: slower, but an error comes from the line that is to blame."""
    before = _eagerly.set(True)
    try:
        yield
    finally:
        _eagerly.reset(before)


def start_threads() -> None:
    """Run one small operation: at the first one, MAX starts its threads and loads its engine, which takes 0.1 s."""
    number = tensor(np.ones([1, 1], dtype=np.float32))
    with F.lazy():
        twice = number + number
    np.from_dlpack(twice)


def open_device(kind: str) -> Device:
    """Return MAX's device of a kind, for which claims and blocks of the book may give the plain word.

    Raises:
        UserError: the word is another, or there is no accelerator that MAX can use.
    """
    match kind:
        case DeviceKind.CPU:
            return CPU()
        case DeviceKind.GPU if accelerator_count():
            return Accelerator()
    raise UserError(f"there is no device '{kind}' that MAX can use here; choose from {', '.join(devices())}")


def uses_tf32(device: DeviceKind) -> bool:
    """Return whether products of float32 matrices keep 10 bits of each factor on a device; MAX has no switch for it."""
    return device is DeviceKind.GPU and accelerator_count() > 0 and Accelerator().api == "cuda"


def devices() -> list[DeviceKind]:
    """Return the devices for which a compiled verdict is possible."""
    return [DeviceKind.CPU, DeviceKind.GPU] if accelerator_count() else [DeviceKind.CPU]


def cache_path(what: str, *made_for: str, suffix: str) -> Path | None:
    """Return the place of a compiled file, whose name stands for the MAX, processor and devices that it is made for.

    The place is None if MAX keeps no compiled files.
    """
    from max import _core

    folder = _core.engine.max_cache_dir()
    if folder is None:
        return None
    all_devices = [DeviceKind.CPU, *[DeviceKind.GPU] * accelerator_count()]
    made_for_all = "\n".join([_core.__version__, platform.machine(), instruction_line(), *all_devices, *made_for])
    return Path(folder) / f"gpt2-in-max-{what}-{cache_key(made_for_all)}{suffix}"


def cache_key(text: str) -> str:
    """Return a short name that stands for a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


if __name__ == "__main__":
    try:
        open_device(sys.argv[1])
    except ValueError as error:
        print(error)
        sys.exit(2)
