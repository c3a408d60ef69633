"""MAX as the claims use it: everything that this course knows about running it fast is here.

Importing this module imports MAX and prepares it for a check:

* Eager operations run through MAX's interpreter instead of being compiled one by one, and its kernels are
  compiled all at once (``checker/kernels.py``).
* Ctrl-C has a handler of ours. With Python's own, ``asyncio.run``, in which every eager operation
  ends, prepares a message with the ``repr`` of the result, which for a tensor runs hundreds of
  further operations: a forward pass of attention takes half a minute instead of a tenth of a second.
* Modules are built under ``F.lazy()`` and their random weights replaced before anyone computes them,
  and a whole forward pass is one graph, in a third of the time of one graph an operation.
* What MAX has to compile, and for how long, is told to whoever asks (:data:`listeners`).
"""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np

from checker.claims import Refusal, article

os.environ.setdefault("MAX_EAGER_EXECUTOR", "interpreter")


def _interrupt(signum: int, frame: object) -> None:
    raise KeyboardInterrupt


if (
    threading.current_thread() is threading.main_thread()
    and signal.getsignal(signal.SIGINT) is signal.default_int_handler
):
    signal.signal(signal.SIGINT, _interrupt)

from max.driver import CPU, Accelerator, Device, accelerator_count  # noqa: E402
from max.dtype import DType  # noqa: E402
from max.experimental import executor  # noqa: E402
from max.experimental import functional as F  # noqa: E402
from max.experimental.nn import Module  # noqa: E402
from max.experimental.tensor import Tensor, TensorType, default_device, default_dtype  # noqa: E402

from checker import graphs, kernels  # noqa: E402

LONGEST_LIST = 200  # characters of parameter names

#: Called with ``(what, None)`` when MAX starts to compile something and ``(what, seconds)`` after.
listeners: list[Callable[[str, float | None], None]] = []


@contextmanager
def compiling(what: str):
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


logging.getLogger("max").setLevel(logging.ERROR)  # it warns of every process that compiles, and advises 9 minutes more
kernels.install(compiling)
graphs.install()
_defaults = ExitStack()  # grading is float32 on the CPU; where there is an accelerator, MAX's own is bfloat16 on that
_defaults.enter_context(default_device(CPU()))
_defaults.enter_context(default_dtype(DType.float32))
executor.set_default_executor(_Executor())


def tensor(array: np.ndarray) -> Tensor:
    """A MAX tensor with a copy of ``array``; ``Tensor(array)`` would compile a graph for it."""
    return Tensor.from_dlpack(np.array(array, order="C"))


def begin() -> None:
    """Run one small operation: MAX starts its threads and loads its engine at the first, in a tenth of a second."""
    one = np.ones([1, 1], dtype=np.float32)
    np.from_dlpack(run(lambda x: x + x, one))


def build(kind: Callable[..., Any], *arguments: Any, weights: Mapping[str, np.ndarray] | None = None) -> Any:
    """An instance of the learner's class, with ``weights`` copied in by name.

    Without weights, an ``__init__`` that is still partly to write is no obstacle: what it sets
    before the blank is there, so the other methods can be tried.

    Raises:
        Refusal: a weight has no place in the module, or a place of another shape.
    """
    if weights is None and isinstance(kind, type):
        instance: Any = object.__new__(kind)
        try:
            with F.lazy():
                instance.__init__(*arguments)
        except NotImplementedError:
            pass
        return instance
    with F.lazy():
        instance = kind(*arguments)
    for name, array in (weights or {}).items():
        load(instance, name, array)
    return instance


def load(module: Module[..., Any], name: str, array: np.ndarray) -> None:
    """Put one weight into the place that its dotted name says."""
    owner: Any = module
    *path, leaf = name.split(".")
    for part in path:
        owner = owner[int(part)] if part.isdigit() and not hasattr(owner, part) else getattr(owner, part, None)
    old = getattr(owner, leaf, None)
    if not isinstance(old, Tensor):
        if leaf == "bias" and owner is not None:
            hint = " Was it made with bias=False?"
        else:
            there = ", ".join(name for name, _ in module.parameters)
            hint = f" It has {there}." if there and len(there) < LONGEST_LIST else ""
        raise Refusal(f"{type(module).__name__} has no {name}, which Hugging Face's checkpoint does have.{hint}")
    shape = tuple(int(size) for size in old.shape)
    if shape != array.shape:
        raise Refusal(f"{name} has the shape {list(shape)}, and must have {list(array.shape)}.")
    setattr(owner, leaf, tensor(array))


def run(function: Callable[..., Any], *arrays: np.ndarray) -> Any:
    """Call the learner's function on tensors, as one graph; the result is a tensor.

    Raises:
        Refusal: the result is something else.
    """
    with F.lazy():
        result = function(*map(tensor, arrays))
    if not isinstance(result, Tensor):
        name = getattr(function, "__qualname__", type(function).__name__)
        name = "It" if "<" in name else name  # a claim's own lambda says nothing to a learner
        missing = " Is there a `return`?" if result is None else ""
        raise Refusal(f"{name} returns {article(type(result).__name__)}, and must return a Tensor.{missing}")
    return result


def compiled(
    module: Module[..., Any], *shapes: Sequence[str | int], device: str, dtype: DType = DType.float32
) -> Callable[..., Any]:
    """The module compiled into one graph, as a function of arrays; names in ``shapes`` are symbolic."""
    target = open_device(device)
    if device != "cpu":
        module.to(target)
    types = [TensorType(dtype, list(shape), device=target) for shape in shapes]
    with compiling(f"your module for {device}"):
        graph = module.compile(*types)

    def call(*arrays: np.ndarray) -> Any:
        return graph(*(tensor(array).to(target) for array in arrays)).to(CPU())

    return call


def open_device(name: str) -> Device:
    """``cpu`` or ``gpu`` as MAX's device.

    Raises:
        ValueError: another name, or no accelerator that MAX can use.
    """
    if name == "cpu":
        return CPU()
    if name == "gpu" and accelerator_count():
        return Accelerator()
    raise ValueError(f"there is no device {name!r} that MAX can use here; there are {', '.join(devices())}")


def devices() -> list[str]:
    """The devices that a compiled verdict can be had for."""
    return ["cpu", "gpu"] if accelerator_count() else ["cpu"]
