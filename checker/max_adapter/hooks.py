"""Make MAX fast: hook into it at several places, here and, for what is kept compiled, in the two stores beside this.

:func:`install_hooks` is called once by each entry point that runs MAX; nothing is patched by an import. It installs
all :data:`HOOKS`, and makes float32 on the CPU the default. Each hook is a trick, and TRICKS.md says what it
buys: ``imports``, ``kernels``, ``graphs``, ``interpreter``, ``operations``, ``inputs``, ``sleep``, ``interrupts``. Most
buy speed; ``imports`` also lets a machine without ``cc`` check steps in Python, and ``interpreter`` refuses numbers of
16 bits. Where another MAX no longer has the place, checks run as it does by itself: slower, but just as right;
:data:`notices` says so.
"""

from __future__ import annotations

import ctypes
import importlib
import logging
import re
import signal
import sys
import threading
from collections.abc import Callable, Collection, Sequence
from contextlib import ExitStack
from functools import cache, partial
from types import ModuleType
from typing import Any

from max.driver import CPU
from max.dtype import DType
from max.experimental.tensor import default_device, default_dtype

from checker.compiling import compiling
from checker.max_adapter.graph_store import install_graphs
from checker.max_adapter.kernel_store import install_kernels
from checker.max_adapter.operations import PRODUCT, gather, gather_nd, multiply

#: Sentences for the learner, one for each hook that does not fit this MAX.
notices: list[str] = []

_defaults = ExitStack()  # MAX sets its defaults by contexts, which stay open here to the end of the process

#: Modules that MAX imports and no check needs, and the functions and classes of each that are only ever called.
#: ``max.experimental.nn`` imports the planning of paged attention, two functions in Mojo for which a process of
#: Mojo's is started, and the code that reads GGUF files. Step 15's compiled claim and the server call the planning.
PLANNING = "max._kv_cache_ops"
LATER = {
    PLANNING: ("mha_decode_num_partitions", "mla_dispatch_args_scalar"),
    "max.graph.weights.loader_wrappers": ("GGUFWeights",),
}


class ImportedWhenCalled(ModuleType):
    """A stand-in for a module, which is imported when one of its functions is called or another name is read."""

    def __init__(self, name: str, callables: Collection[str]) -> None:
        super().__init__(name)
        self._callables = callables

    def __getattr__(self, name: str) -> Any:
        """Return a function that calls the module's own function of this name, or the module's attribute."""
        if name.startswith("__"):
            raise AttributeError(name)
        if name in self._callables:
            return partial(self._call, name)
        return getattr(self._module(), name)

    def _call(self, name: str, *arguments: Any, **options: Any) -> Any:
        return getattr(self._module(), name)(*arguments, **options)

    def _module(self) -> ModuleType:
        """Import the module, and return it."""
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return importlib.import_module(self.__name__)


def import_later() -> None:
    """Put a stand-in in the place of each module of ``LATER`` that has not been imported."""
    for name in LATER.keys() - sys.modules.keys():
        sys.modules[name] = ImportedWhenCalled(name, LATER[name])


def take_interrupts() -> None:
    """Handle Ctrl-C with a function of ours, which raises KeyboardInterrupt like Python's own.

    With Python's own function, ``asyncio.run``, in which every eager operation ends, prepares a message with the
    ``repr`` of the result. For a tensor, that runs hundreds of further operations: a forward pass of attention takes
    half a minute instead of a tenth of a second.
    """
    on_main_thread = threading.current_thread() is threading.main_thread()  # only it may, and only it needs to
    if on_main_thread and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupt)


def _interrupt(signum: int, frame: object) -> None:
    raise KeyboardInterrupt


SET_TIMER_SLACK = 29  # Linux's PR_SET_TIMERSLACK
SLACK = 10_000_000  # nanoseconds


def let_threads_sleep() -> None:
    """Let the thread that MAX starts at its first execution sleep for as long as there is nothing for it to do.

    The thread writes MAX's log, and looks for something to write every tenth of a millisecond. That takes 4 to 8% of a
    core even when nothing runs, and on two cores everything that MAX computes takes up to a quarter longer. Linux lets
    a wait with a time limit end late, by the "timer slack" of its thread, which a thread inherits from the one that
    starts it. So the slack is large for the first execution of a process, and as before afterwards.
    """
    from max.engine import Model

    execute = Model._execute_device_tensors  # on every system, so that a notice comes if another MAX has no such method
    if sys.platform != "linux":
        return
    prctl = ctypes.CDLL(None).prctl

    def first_with_slack(model: Model, arguments: Any) -> Any:
        setattr(Model, "_execute_device_tensors", execute)  # noqa: B010 - only the first execution
        prctl(SET_TIMER_SLACK, ctypes.c_ulong(SLACK), 0, 0, 0)
        try:
            return execute(model, arguments)
        finally:
            prctl(SET_TIMER_SLACK, ctypes.c_ulong(0), 0, 0, 0)  # zero stands for what the thread began with

    setattr(Model, "_execute_device_tensors", first_with_slack)  # noqa: B010 (a type checker takes it for a constant)


class InterpretOrCompile:
    """Runs eager operations by MAX's interpreter; compiles those that it has no kernel for, and tells the listeners.

    Numbers of 16 bits are refused: compiling their small graphs one by one takes minutes, and the result is too coarse
    to be right.

    Args:
        executor: MAX's module of that name.
    """

    def __init__(self, executor: Any) -> None:
        self.interpreter, self.compiler = executor.InterpreterExecutor(), executor.CompilingExecutor()
        self.unsupported: type[Exception] = executor.UnsupportedGraphError

    def execute(self, graph: Any, inputs: Sequence[Any]) -> Sequence[Any]:
        """Return the results of a graph; MAX calls this."""
        try:
            return self.interpreter.execute(graph, inputs)
        except self.unsupported as refused:
            words = str(refused)
        small = re.search("b?float16", words)
        if small:
            raise TypeError(f"{small[0]} is right to 3 digits, and the check compares 5: compute in float32")
        if "ReduceAddOp" in words and "_bool'" in words:  # the compiler fails on it, after half a minute
            raise TypeError("MAX adds up numbers and no booleans; F.where of two plain numbers gives booleans too")
        with compiling("an operation that MAX's interpreter cannot run"):
            return self.compiler.execute(graph, inputs)


def interpret() -> None:
    """Run eager operations by MAX's interpreter; by default, MAX also compiles each in background processes."""
    from max.experimental import executor

    executor.set_default_executor(InterpretOrCompile(executor))


def interpret_more() -> None:
    """Let MAX's interpreter run operations that MAX would compile: products with weights in blocks, and some lookups.

    MAX's own product rounds the inputs, so its numbers differ from these by about 1%. These products, and operations of
    a library of one's own, are not looked up in MAX's library either, which takes up to a second in every process; the
    compiler will do that.
    """
    from max import _interpreter
    from max._core.dialects import mo
    from max._interpreter_ops import handlers
    from max.graph import KernelLibrary

    known = handlers._MO_OP_HANDLERS
    is_known, verify_any = _interpreter._is_interpretable_custom, KernelLibrary.verify_custom_op

    def is_interpretable(op: Any) -> bool:
        return bool(PRODUCT.fullmatch(op.symbol)) or is_known(op)

    def verify(library: KernelLibrary, op: Any) -> None:
        if not (library.library_paths() or PRODUCT.fullmatch(op.attributes["symbol"].value)):
            verify_any(library, op)

    _interpreter._is_interpretable_custom = is_interpretable
    KernelLibrary.verify_custom_op = verify  # type: ignore[method-assign, assignment]
    for op, handle in ((mo.CustomOp, multiply), (mo.GatherOp, gather), (mo.GatherNdOp, gather_nd)):
        handlers.register_op_handler(op)(partial(handle, known[op]))


def add_inputs_one_by_one() -> None:
    """Give a graph of eager operations its inputs without describing all of them again for each.

    Every weight that is read eagerly becomes an input of the graph. For each input, MAX describes all inputs anew:
    their types, names and parameters, 52 times for a model of four blocks, which is half of its forward pass. Only the
    last description is read, which ``Graph.output`` and the removal of unused inputs make of the complete graph.
    """
    from max.experimental import _passes
    from max.graph import Value
    from max.graph.graph import _location

    describe_all = _passes.add_input

    def add_input(graph: Any, type: Any) -> Any:
        block = _passes._graph_block(graph)
        if list(type.parameters) or len(block.arguments) != len(graph.inputs):
            return describe_all(graph, type)  # a symbolic size has to be declared; a chain is not an input
        with graph:
            value = Value.from_mlir(block.add_argument(type.to_mlir(), _location()))
        graph.inputs = (*graph.inputs, value)
        return value

    _passes.add_input = add_input


#: The hooks: the name of each → the function that installs it, which raises an error if MAX lacks the place for it.
HOOKS: dict[str, Callable[[], None]] = {
    "imports": import_later,
    "kernels": install_kernels,
    "graphs": install_graphs,
    "interpreter": interpret,
    "operations": interpret_more,
    "inputs": add_inputs_one_by_one,
    "sleep": let_threads_sleep,
    "interrupts": take_interrupts,
}


@cache
def install_hooks() -> None:
    """Install all hooks, and set MAX's defaults for a check; a second call does nothing."""
    logging.getLogger("max").setLevel(logging.ERROR)  # MAX warns at every operation of every process that compiles
    for name, install in HOOKS.items():
        try:
            install()
        except Exception as error:  # whatever it is, checks are right without the hook
            words = " ".join(f"{type(error).__name__}: {error}".split())
            notices.append(f"The hook for {name} does not fit this MAX ({words}): checks are slower, but as right.")
    # A check computes in float32 on the CPU. With an accelerator, MAX's own defaults are bfloat16 on that device.
    _defaults.enter_context(default_device(CPU()))
    _defaults.enter_context(default_dtype(DType.float32))
