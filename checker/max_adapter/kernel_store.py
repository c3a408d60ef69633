"""The kernels of MAX's interpreter that the checks use, compiled together once per machine and loaded from two files.

A kernel is compiled by MAX's interpreter when an operation first needs it. The kernels that the checks need are
recorded, step by step, in ``tests/references/kernels.json``, with those that the pages of the book and the known habits
need besides, as ``book`` and ``habits``. Another kernel, which a learner's own way of writing may need, is compiled
when it is met. Every check loads its kernels anew. The kernels of the steps that build the model are in a file of their
own, which is loaded in a quarter of the time that one file of all would take.

A trick, the hook ``kernels``: MAX's own way to compile a kernel looks here first.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from max.driver import CPU
from max.graph import Graph, Module

from checker.compiling import compiling
from checker.course.steps import MODEL, RECORDED_KERNELS, steps_up_to
from checker.files import remove_unused, replacing, use_if_kept
from checker.max_adapter.runtime import ALL_KEPT, cache_path

RMS_NORM = re.compile(r"rms_norm_cpu_0_float32_eps([0-9a-f]{8})_wo00000000_mbc0$")  # its bytes


def recorded_kernels() -> dict[str, list[str]]:
    """Return the kernels that each check needs, by the name of the step; ``book`` and ``habits`` add some."""
    return json.loads(RECORDED_KERNELS.read_text())


def kernel_groups() -> dict[str, set[str]]:
    """Return the recorded kernels by file: the ``model``'s, and those that all others add, nearly as many again."""
    used = recorded_kernels()
    model = {kernel for step in steps_up_to(MODEL) for kernel in used.get(step.name, ())}
    every = {kernel for kernels in used.values() for kernel in kernels}
    return {"model": model, "later": every - model}


def install_kernels() -> None:
    """Let MAX's interpreter load the recorded kernels (:class:`KeptKernels`)."""
    from max._interpreter_ops import gc_compile

    kept_kernels = KeptKernels(gc_compile.compile_single_target)
    gc_compile.compile_single_target = kept_kernels.load_or_compile


class KeptKernels:
    """Stands in for the function of MAX's that compiles a missing kernel.

    All recorded kernels of a group are loaded when the first of them is needed; others are compiled one by one. If the
    recorded kernels cannot be compiled or loaded after all, MAX compiles each by itself.

    Args:
        compile_one: MAX's own function.

    Attributes:
        not_loaded: the groups of recorded kernels of which none was needed so far.
    """

    def __init__(self, compile_one: Callable[..., Any]) -> None:
        self.compile_one = compile_one
        self.not_loaded = list(kernel_groups().values())

    def load_or_compile(self, family: Any, key: str, device: Any, build_graph: Any) -> Any:
        """Return the kernel ``key`` of one of MAX's families."""
        group = next((group for group in self.not_loaded if key in group), None)
        if group is not None:
            self.not_loaded.remove(group)  # it is tried once
            with suppress(Exception):  # whatever goes wrong, MAX can still compile the one that is missing
                add_to_max(load_kernels(group))
        if key in family.cache:
            return family.cache[key]
        with compiling(f"the kernel {key}"):
            return self.compile_one(family, key, device, build_graph)


def add_to_max(kernels: Mapping[str, Any]) -> None:
    """Let every family of MAX's interpreter find these kernels, which are given by name."""
    from max._interpreter_ops import gc_compile

    for family in gc_compile.registered_families():
        family.cache.update(kernels)


def load_kernels(names: set[str]) -> dict[str, Any]:
    """Return kernels by their names, from this machine's file, which is made if it is missing or cannot be read."""
    from max._interpreter_ops import gc_compile

    session = gc_compile.session_for(CPU())
    path = cache_path("kernels", *sorted(names), suffix=".mef")
    if path and use_if_kept(path):
        try:
            return session.load_all(str(path), weights_registry={})
        except RuntimeError:
            path.unlink(missing_ok=True)
    with compiling(f"{len(names)} kernels that the checks use"):
        compiled = session.compile(_module_of(names))
    if path:
        with replacing(path) as unfinished:
            compiled.export_mef(unfinished)
        remove_unused(path.parent, ALL_KEPT)
    return session.init_all(compiled, weights_registry={})


def _module_of(names: set[str]) -> Module:
    """Return one module with the graphs of some kernels, picked from all that MAX's interpreter knows."""
    from max._interpreter_ops import gc_compile, rms_norm_gc
    from max._mlir_context import ensure_default_mlir_context

    epsilons = [match[1] for name in names if (match := RMS_NORM.match(name))]
    scalars: Any = [(struct.unpack("<f", bytes.fromhex(epsilon))[0], 0.0) for epsilon in epsilons]
    rms_norm_gc._SWEPT_SCALARS = scalars  # MAX lists two epsilons of its own
    with ensure_default_mlir_context():  # an operation may run on a thread without one
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


class _NotingTable(dict[str, Any]):
    """MAX's table of compiled kernels, which notes the names that are looked up."""

    def __init__(self, table: Mapping[str, Any], used: set[str]) -> None:
        super().__init__(table)
        self.used = used

    def get(self, key: str, default: Any = None) -> Any:
        """Note the name, and return the kernel, or the default."""
        self.used.add(key)
        return super().get(key, default)


def note_used() -> set[str]:
    """Return a set to which the name of each kernel is added that this process looks up from now on."""
    from max._interpreter_ops import gc_compile

    used = set[str]()
    for family in gc_compile.registered_families():
        family.cache = _NotingTable(family.cache, used)
    return used
