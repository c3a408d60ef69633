"""The kernels that the checks run: compiled together, once for every machine, and loaded from one file.

MAX's interpreter compiles a kernel when an operation first needs it, and most of that time is the same
whatever the kernel is: one by one they take many times as long as all at once. Which ones
the checks need is recorded, step by step, in ``tests/references/kernels.json``; a kernel that is not in it, for
a learner's own way of writing, is compiled when it is met, as MAX does.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from max import _core
from max._interpreter_ops import gc_compile
from max._mlir_context import in_default_mlir_context
from max.driver import Device
from max.engine import Model
from max.graph import Graph, Module

from checker.course.paths import RECORDED_KERNELS

#: The kernels that this process has run or looked for, by MAX's names.
used: set[str] = set()


class _Noting(dict[str, Any]):
    """MAX's table of compiled kernels, noting which are asked for."""

    def get(self, key: str, default: Any = None) -> Any:
        used.add(key)
        return super().get(key, default)


def recorded() -> dict[str, list[str]]:
    """The kernels that the check of each step needs, by the name of the step."""
    return json.loads(RECORDED_KERNELS.read_text())


def install(compiling: Callable[[str], AbstractContextManager[None]]) -> None:
    """From now on, the first kernel that is missing brings all that are recorded; others come one by one.

    Args:
        compiling: opened, with what is being compiled, for as long as that takes.
    """
    families = gc_compile.registered_families()
    for family in families:
        family.cache = _Noting(family.cache)
    compile_one = gc_compile.compile_single_target
    waiting = [True]

    def compile_missing(family: gc_compile.GCOpFamily, key: str, device: Device, build_graph: Any) -> Model:
        if waiting:
            waiting.clear()
            models = load_recorded(compiling)
            for each in families:
                each.cache.update(models)
        if key in family.cache:
            return family.cache[key]
        with compiling(f"the kernel {key}"):
            return compile_one(family, key, device, build_graph)

    gc_compile.compile_single_target = compile_missing


def load_recorded(compiling: Callable[[str], AbstractContextManager[None]]) -> dict[str, Any]:
    """All recorded kernels by name: from this machine's file, which is made if it is missing or cannot be read."""
    names = {name for used in recorded().values() for name in used}
    session = gc_compile.session_for(_cpu())
    path = cache_path("kernels", *sorted(names), suffix=".mef")
    if path and path.is_file():
        try:
            return session.load_all(str(path), weights_registry={})
        except RuntimeError:
            path.unlink(missing_ok=True)
    with compiling(f"the {len(names)} kernels that the checks use"):
        compiled = session.compile(_module(names))
    if path:
        with written(path) as unfinished:
            compiled.export_mef(unfinished)
    return session.init_all(compiled, weights_registry={})


def cache_path(what: str, *made_for: str, suffix: str) -> Path | None:
    """Where compiled code is kept: beside what MAX itself keeps, under a name that says for which MAX and processor.

    None where MAX keeps nothing.
    """
    folder = _core.engine.max_cache_dir()
    if folder is None:
        return None
    told = Path("/proc/cpuinfo")
    flags = [line for line in told.read_text().splitlines() if line.startswith(("flags", "Features"))][:1]
    devices = [device.label for device in gc_compile.DISCOVERED_DEVICES]
    parts = [_core.__version__, platform.machine(), platform.processor(), *flags, *devices, *made_for]
    digest = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
    return Path(folder) / f"gpt2-in-max-{what}-{digest}{suffix}"


@contextmanager
def written(path: Path) -> Iterator[Path]:
    """A file to write that becomes ``path`` when it is whole: another check may read that at any time."""
    unfinished = path.with_suffix(f".{os.getpid()}")
    try:
        yield unfinished
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def _cpu() -> Any:
    return next(device for device in gc_compile.DISCOVERED_DEVICES if device.label == "cpu")


@in_default_mlir_context
def _module(names: set[str]) -> Module:
    """One module with the graphs of these kernels, picked from all that MAX's interpreter knows."""
    module, others = Module(), Module()

    class Picked(Graph):
        def __init__(self, name: str, *arguments: Any, module: Module, **options: Any) -> None:
            super().__init__(name, *arguments, module=module if name in names else others, **options)

    for family in gc_compile.registered_families():
        home = sys.modules[type(family.spec).__module__]
        home.Graph = Picked  # type: ignore[attr-defined]
        try:
            family.build_module_for_device(_cpu(), module)
        finally:
            home.Graph = Graph  # type: ignore[attr-defined]
    return module
