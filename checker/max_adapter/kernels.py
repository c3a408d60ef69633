"""Compile the kernels that the checks run together, once per machine, and load them from two files.

MAX's interpreter compiles a kernel when an operation first needs it, and most of that time is the same whatever the
kernel is: one by one they take many times as long as all at once. Which ones the checks need is recorded, step by step,
in ``tests/references/kernels.json``; what the pages of the book and the known habits need besides is in it too, as
``book`` and ``habits``. Another kernel, which a learner's own way of writing may need, is compiled when it is met.

Every check loads its kernels anew. Those of the steps that build the model are in a file of their own, which is loaded
in a quarter of the time that one file of all would take.

The interpreter has no kernel for products with weights in blocks, nor one that looks up rows by unsigned numbers:
:func:`install_operations` makes up for that.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from functools import partial
from typing import Any

import numpy as np
from max.driver import CPU, Buffer
from max.dtype import DType
from max.graph import Graph, Module

from checker.course.steps import MODEL, RECORDED_KERNELS, replacing
from checker.max_adapter.graphs import cache_path

Compiling = Callable[[str], AbstractContextManager[None]]
Run = Callable[[Any, Sequence[Any]], Sequence[Any]]  # of the interpreter: an operation and its inputs -> its results

#: The kernels that this process has run or looked for, by MAX's names.
used: set[str] = set()


class _Noting(dict[str, Any]):
    """MAX's table of compiled kernels, noting which are asked for."""

    def get(self, key: str, default: Any = None) -> Any:
        used.add(key)
        return super().get(key, default)


def recorded() -> dict[str, list[str]]:
    """Return the kernels that each check needs, by the name of the step; ``book`` and ``habits`` add some."""
    return json.loads(RECORDED_KERNELS.read_text())


def groups() -> dict[str, set[str]]:
    """Return the recorded kernels by file: of the ``model``, and those that all others add, nearly as many again."""
    used = recorded()
    model = {kernel for name in used if name.startswith("step") and name <= MODEL for kernel in used[name]}
    return {"model": model, "later": {kernel for kernels in used.values() for kernel in kernels} - model}


def install(compiling: Compiling) -> None:
    """Load the recorded kernels of a group when the first of them is missing; compile others one by one.

    If the recorded ones cannot be compiled or loaded after all, MAX compiles each by itself.

    Args:
        compiling: entered, with what is being compiled, for as long as that takes.
    """
    from max._interpreter_ops import gc_compile

    families = gc_compile.registered_families()
    tables = [_Noting(family.cache) for family in families]
    compile_one = gc_compile.compile_single_target
    waiting = list(groups().values())

    def compile_missing(family: Any, key: str, device: Any, build_graph: Any) -> Any:
        for group in [group for group in waiting if key in group]:
            waiting.remove(group)
            with suppress(Exception):  # whatever goes wrong, MAX can still compile the one that is missing
                models = load(group, compiling)
                for each in families:
                    each.cache.update(models)
        if key in family.cache:
            return family.cache[key]
        with compiling(f"the kernel {key}"):
            return compile_one(family, key, device, build_graph)

    for family, table in zip(families, tables, strict=True):
        family.cache = table
    gc_compile.compile_single_target = compile_missing


def load(names: set[str], compiling: Compiling) -> dict[str, Any]:
    """Return these kernels by name, from this machine's file.

    The file is made if it is missing or cannot be read.
    """
    from max._interpreter_ops import gc_compile

    session = gc_compile.session_for(CPU())
    path = cache_path("kernels", *sorted(names), suffix=".mef")
    if path and path.is_file():
        try:
            return session.load_all(str(path), weights_registry={})
        except RuntimeError:
            path.unlink(missing_ok=True)
    with compiling(f"{len(names)} kernels that the checks use"):
        compiled = session.compile(_module(names))
    if path:
        with replacing(path) as unfinished:
            compiled.export_mef(unfinished)
    return session.init_all(compiled, weights_registry={})


def _module(names: set[str]) -> Module:
    """Return one module with the graphs of these kernels, picked from all that MAX's interpreter knows."""
    from max._interpreter_ops import gc_compile
    from max._mlir_context import ensure_default_mlir_context

    with ensure_default_mlir_context():  # an operation may run on a thread that has none
        module, others = Module(), Module()
        for family in gc_compile.registered_families():
            family.build_module_for_device(CPU(), module)
        # A family builds all of its kernels, a thousand in all, in a second. MAX cannot take a graph out of a
        # module, but can move it to another one, after a graph that is there.
        with Graph("first", input_types=[], module=others) as first:
            first.output()
        for graph in list(module.mlir_module.body):
            if graph.sym_name not in names:
                graph.move_after(others.mlir_module.body[0])
    return module


#: What stands in a graph for ``F.qmatmul``: MAX first brings weights in blocks into an order of its own.
PRODUCT = re.compile(r"vroom_(q\w+?)_(repack_weights|matmul)")


def install_operations() -> None:
    """Let MAX's interpreter run what it would compile: products with weights in blocks, and rows by unsigned numbers.

    MAX's own product rounds what it multiplies the weights by, so its numbers differ from these by about 1%. Nor are
    these products looked up in MAX's library, which takes half a second in every graph; the compiler will do that.
    """
    from max import _interpreter
    from max._core.dialects import mo
    from max._interpreter_ops import handlers
    from max.graph import KernelLibrary

    known = handlers._MO_OP_HANDLERS
    run_custom, gathering = known[mo.CustomOp], {op: known[op] for op in (mo.GatherOp, mo.GatherNdOp)}
    is_known, verify_any = _interpreter._is_interpretable_custom, KernelLibrary.verify_custom_op

    def is_interpretable(op: Any) -> bool:
        return bool(PRODUCT.fullmatch(op.symbol)) or is_known(op)

    def verify(library: KernelLibrary, op: Any) -> None:
        if not PRODUCT.fullmatch(op.attributes["symbol"].value):
            verify_any(library, op)

    _interpreter._is_interpretable_custom = is_interpretable
    KernelLibrary.verify_custom_op = verify  # type: ignore[method-assign, assignment]
    handlers.register_op_handler(mo.CustomOp)(partial(_multiply, run_custom))
    for op, run in gathering.items():
        handlers.register_op_handler(op)(partial(_gather, run))


def _multiply(run_custom: Run, op: Any, inputs: Sequence[Any]) -> Sequence[Any]:
    """Multiply rows by weights in blocks, in NumPy."""
    product = PRODUCT.fullmatch(op.symbol)
    if not product:
        return run_custom(op, inputs)
    if product[2] == "repack_weights":
        return inputs
    import gguf

    rows, blocks = map(np.from_dlpack, inputs)
    weights = gguf.dequantize(blocks, gguf.GGMLQuantizationType[product[1].upper()])
    return [Buffer.from_numpy(rows @ weights.T)]


def _gather(run: Run, op: Any, inputs: Sequence[Any]) -> Sequence[Any]:
    """Look up rows by any whole numbers, such as the uint32 offsets of step 15's requests."""
    rows, numbers = inputs
    if numbers.dtype not in (DType.int32, DType.int64):  # the only ones that there are kernels for
        numbers = Buffer.from_numpy(numbers.to_numpy().astype(np.int64))
    return run(op, [rows, numbers])
