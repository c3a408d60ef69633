"""Prepare MAX for the checks and for the finished model; convert arrays, choose devices, tell of compiling.

:func:`prepare` is called once by each entry point that runs MAX; nothing is patched by an import. It sees to it that

* eager operations run through MAX's interpreter instead of being compiled one by one, and its kernels are
  compiled all at once (``kernels``), as are the graphs of the solutions (``graphs``);
* Ctrl-C has a handler of ours. With Python's own, ``asyncio.run``, in which every eager operation
  ends, prepares a message with the ``repr`` of the result, which for a tensor runs hundreds of
  further operations: a forward pass of attention takes half a minute instead of a tenth of a second;
* what MAX has to compile, and for how long, is told to all :data:`listeners`.
"""

from __future__ import annotations

import logging
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache
from typing import Any

import numpy as np
from max.driver import CPU, Accelerator, Device, accelerator_count
from max.dtype import DType
from max.experimental import executor
from max.experimental import functional as F
from max.experimental.tensor import Tensor, default_device, default_dtype

from checker.max_adapter import graphs, kernels

#: Called with ``(what, None)`` when MAX starts to compile something and ``(what, seconds)`` after.
listeners: list[Callable[[str, float | None], None]] = []

_defaults = ExitStack()


@cache
def prepare() -> None:
    """Prepare MAX in this process; a second call does nothing."""
    logging.getLogger("max").setLevel(logging.ERROR)  # it warns of every process that compiles, at every operation
    on_main_thread = threading.current_thread() is threading.main_thread()
    if on_main_thread and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupt)
    kernels.install(compiling)
    graphs.install()
    # Grading is float32 on the CPU; where there is an accelerator, MAX's own defaults are bfloat16 on that.
    _defaults.enter_context(default_device(CPU()))
    _defaults.enter_context(default_dtype(DType.float32))
    executor.set_default_executor(_Executor())


def _interrupt(signum: int, frame: object) -> None:
    raise KeyboardInterrupt


@contextmanager
def compiling(what: str) -> Iterator[None]:
    """Tell the listeners that something is being compiled while this is open."""
    start = time.perf_counter()
    for listener in listeners:
        listener(what, None)
    try:
        yield
    finally:
        for listener in listeners:
            listener(what, time.perf_counter() - start)


class _Executor(executor.InterpreterExecutor):
    """The interpreter; what it refuses (a bfloat16 cast, say) is compiled, and said to be."""

    def execute(self, graph: Any, inputs: Sequence[Any]) -> Sequence[Any]:
        try:
            return super().execute(graph, inputs)
        except executor.UnsupportedGraphError:
            with compiling("an operation for which MAX's interpreter has no kernel (this takes longer)"):
                return executor.CompilingExecutor().execute(graph, inputs)


def tensor(array: np.ndarray) -> Tensor:
    """Return a MAX tensor with a copy of ``array``; ``Tensor(array)`` would compile a graph for it."""
    return Tensor.from_dlpack(np.array(array, order="C"))


def start_threads() -> None:
    """Run one small operation: MAX starts its threads and loads its engine at the first, in a tenth of a second."""
    one = tensor(np.ones([1, 1], dtype=np.float32))
    with F.lazy():
        two = one + one
    np.from_dlpack(two)


def open_device(name: str) -> Device:
    """Return ``cpu`` or ``gpu`` as MAX's device.

    Raises:
        ValueError: another name, or no accelerator that MAX can use.
    """
    if name == "cpu":
        return CPU()
    if name == "gpu" and accelerator_count():
        return Accelerator()
    raise ValueError(f"there is no device {name!r} that MAX can use here; there are {', '.join(devices())}")


def devices() -> list[str]:
    """Return the devices that a compiled verdict can be had for."""
    return ["cpu", "gpu"] if accelerator_count() else ["cpu"]
