"""Compile the graphs and kernels of the checks together, once per machine, and load them from a few files.

MAX compiles a graph's matrix products anew for every graph, and they take most of the time; all graphs in one
module take hardly longer than three of them one by one. ``checker.claims.staging`` compiles the graphs of the solutions
this way, and ``play.staging`` those of the small model. Code that stages one of these graphs finds it (:class:`Part`),
no matter who wrote the module; any other graph is compiled when it is met, and kept by MAX.

MAX sets up all graphs of a file or none, and needs weights for all. Those of graphs that nobody calls are zeros. That
costs little because the references are recorded on a tiny configuration: the weights of all solutions are 0.15 MB and
are made in 0.4 ms, and setting up all graphs takes 0.07 s and 20 MB, where compiling one takes up to a minute. A
model of real size does not belong in the set of a check.

A kernel is what MAX's interpreter compiles when an operation first needs it. Which ones the checks need is recorded,
step by step, in ``tests/references/kernels.json``; what the pages of the book and the known habits need besides is in
it too, as ``book`` and ``habits``. Another kernel, which a learner's own way of writing may need, is compiled when it
is met. Every check loads its kernels anew. Those of the steps that build the model are in a file of their own, which is
loaded in a quarter of the time that one file of all would take.
"""

from __future__ import annotations

import hashlib
import io
import json
import platform
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from max import mlir
from max.driver import CPU, DeviceSpec, accelerator_count, load_devices, scan_available_devices
from max.engine import InferenceSession, Model
from max.graph import Graph, Module, Value

from checker.course.machine import instructions
from checker.course.steps import MODEL, RECORDED_KERNELS, replacing

SETS = ("solutions", "play")

#: What is kept of a set, as JSON: its ``file``, the fingerprints of its ``graphs``, and the type and shape of all their
#: ``weights``, by fingerprint/name.
Index = dict[str, Any]

#: What MAX traces but its compiler then refuses, as the text of a graph shows it, and what to say about it.
REFUSED_BY_THE_COMPILER = {
    r"reduce\.softmax\(%\w+\) \[axis = -(?!1\b)": (
        "MAX compiles no softmax over a negative axis other than -1. Count the axis from the front: with four axes, "
        "-2 is axis 2."
    ),
    r"reduce\.add\(%\w+\) \[axis = \d+\] : \(!mo\.tensor<\[[^\]]*\], bool>": (
        "MAX compiles no sum of booleans. Make numbers of them first: `.cast(DType.float32)`."
    ),
}

#: At the end of MAX's text of a graph that slices or reshapes; it rises each time that the text is asked for.
COUNTER = re.compile(r" \{counter = \d+ : i64\}$")

_only_traced = ContextVar("_only_traced", default=False)
_staged: ContextVar[list[Graph] | None] = ContextVar("_staged", default=None)  # while they are collected


def cache_path(what: str, *made_for: str, suffix: str) -> Path | None:
    """Return the place of a file, under a name that says for which MAX, processor and devices its code was made.

    It is None if MAX keeps nothing.
    """
    from max import _core

    folder = _core.engine.max_cache_dir()
    if folder is None:
        return None
    devices = ["cpu", *["gpu"] * accelerator_count()]
    made_for_all = "\n".join([_core.__version__, platform.machine(), instructions(), *devices, *made_for])
    return Path(folder) / f"gpt2-in-max-{what}-{_digest(made_for_all)}{suffix}"


def fingerprint(graph: Graph) -> str:
    """Return the name of a graph among those compiled together, from MAX's own text of it."""
    text = COUNTER.sub("", repr(graph))
    for library in graph.kernel_libraries_paths:  # in a folder whose name stands for what is in it
        text = text.replace(f"{library.parent.parent}/", "")
    return f"g{_digest(text)}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Part:
    """One graph from a set, in place of what MAX would have compiled."""

    name: str
    of: str
    index: Index
    compile: Callable[[], Any]

    def __getattr__(self, name: str) -> Any:
        """Return this attribute of the compiled graph, for code that does more than run it."""
        return getattr(self.compile(), name)


class StagedError(Exception):
    """A graph was staged, which is all that was wanted."""


@contextmanager
def only_traced() -> Iterator[None]:
    """While this is open, raise StagedError where MAX would begin to compile a graph.

    A graph that has been compiled together with others is found all the same. Without the hook, MAX compiles.
    """
    before = _only_traced.set(True)
    try:
        yield
    finally:
        _only_traced.reset(before)


def install_graphs() -> None:
    """Let MAX's sessions load any graph that was compiled together with others.

    If the kept graphs cannot be used after all, MAX compiles the graph itself.
    """
    compile_any, init_any = InferenceSession.compile_reusing_mefs, InferenceSession.init_all

    def compile_or_find(session: InferenceSession, model: Any, **options: Any) -> Any:
        if not isinstance(model, Graph):
            return compile_any(session, model, **options)
        if (staged := _staged.get()) is not None:
            staged.append(model)
            raise StagedError  # ends the claim that staged it
        name = fingerprint(model)
        for of in SETS:
            if (index := _read_index(of)) and name in index["graphs"]:
                return Part(name, of, index, cache(lambda: compile_any(session, model, **options)))
        if refused := refused_by_the_compiler(model):  # it would say so itself after minutes, and in no words
            raise TypeError(refused)
        if not _only_traced.get():
            return compile_any(session, model, **options)
        raise StagedError

    def init_part(
        session: InferenceSession, compiled: Any, *, weights_registry: Mapping[str, Any] | None = None
    ) -> dict[str, Model]:
        if not isinstance(compiled, Part):
            return init_any(session, compiled, weights_registry=weights_registry)
        kinds = compiled.index["weights"]
        weights: dict[str, Any] = {name: np.zeros(shape, dtype) for name, (dtype, shape) in kinds.items()}
        weights |= {f"{compiled.name}/{name}": value for name, value in (weights_registry or {}).items()}
        try:
            models = init_any(session, session.compile(Path(compiled.index["file"])), weights_registry=weights)
            return {compiled.name: models[compiled.name]}
        except Exception:  # the file was cut short, say: its graphs are compiled as they are met, until all are again
            if file := _index_file(compiled.of):
                file.unlink(missing_ok=True)
            _read_index.cache_clear()
            return init_any(session, compiled.compile(), weights_registry=weights_registry)

    InferenceSession.compile_reusing_mefs = compile_or_find  # type: ignore[method-assign, assignment]
    InferenceSession.init_all = init_part  # type: ignore[method-assign, assignment]


def refused_by_the_compiler(graph: Graph) -> str:
    """Return why the compiler would refuse a graph, as far as that is known, or nothing."""
    text = repr(graph)
    return next((words for pattern, words in REFUSED_BY_THE_COMPILER.items() if re.search(pattern, text)), "")


def _index_file(of: str) -> Path | None:
    return cache_path(f"graphs-{of}", suffix=".json")


@cache
def _read_index(of: str) -> Index | None:
    """Return what is in this machine's copy of a set, if it has been compiled."""
    file = _index_file(of)
    try:
        index = json.loads(file.read_text()) if file else {"file": ""}
    except (OSError, ValueError):
        return None
    return index if Path(index["file"]).is_file() else None


def compile_set(of: str, stage: Callable[[], None]) -> None:
    """Compile together what ``stage`` would have compiled, unless this machine has it already or keeps nothing."""
    staged, file, index = staged_by(stage), _index_file(of), _read_index(of)
    if file and not (index and {*index["graphs"]} >= {*map(fingerprint, staged)}):
        compile_together(staged, file)


def compile_together(graphs: Iterable[Graph], index: Path) -> None:
    """Compile graphs in one module, into which they move; ``index`` will say where it is, and what is in it."""
    from max import _core
    from max._mlir_context import default_mlir_context

    module, names, weights, libraries = mlir.Module.create(mlir.Location.unknown()), [], {}, dict[Path, None]()
    for name, graph in {fingerprint(graph): graph for graph in graphs}.items():
        for weight in _weights(graph._mlir_op):
            own = f"{name}/{weight.attributes['name'].value}"
            weight.attributes["name"] = mlir.StringAttr.get(own)
            kind = Value.from_mlir(_core.Value._from_cmlir(weight.result)).tensor.type
            weights[own] = kind.dtype.name, [int(size) for size in kind.shape]
        graph._mlir_op.attributes["sym_name"] = mlir.StringAttr.get(name)
        module.body.append(graph._mlir_op)
        names.append(name)
        libraries |= dict.fromkeys(graph.kernel_libraries_paths)
    code = io.BytesIO()  # from the one Python interface of MAX's graphs to the other
    module.operation.write_bytecode(code)
    operation = _core.Operation.from_bytecode(code.getvalue(), default_mlir_context())
    devices = scan_available_devices()  # with an accelerator, the CPU need not be among them
    if (cpu := DeviceSpec.cpu()) not in devices:
        devices.append(cpu)
    session = InferenceSession(devices=load_devices(devices))
    compiled = session.compile(Module(operation), custom_extensions=[*libraries])
    file = index.with_name(f"{index.stem}-{_digest(' '.join(sorted(names)))}.mef")
    with replacing(file) as unfinished:
        compiled.export_mef(unfinished)
    with replacing(index) as unfinished:
        unfinished.write_text(json.dumps({"file": str(file), "graphs": sorted(names), "weights": weights}))


def _weights(operation: Any) -> Iterator[Any]:
    """Yield the operations inside another one that stand for weights."""
    for region in operation.regions:
        for block in region.blocks:
            for inner in block.operations:
                if inner.operation.name == "mo.constant.external":
                    yield inner
                yield from _weights(inner)


def staged_by(stage: Callable[[], None]) -> list[Graph]:
    """Return the graphs that ``stage`` would have compiled, without compiling any: it meets a StagedError for each."""
    staged: list[Graph] = []
    before = _staged.set(staged)
    try:
        stage()
    finally:
        _staged.reset(before)
    return staged


# ---------------------------------------------------------------- kernels

Compiling = Callable[[str], AbstractContextManager[None]]

#: The kernels that this process has run or looked for, by MAX's names.
used_kernels: set[str] = set()


class _Noting(dict[str, Any]):
    """MAX's table of compiled kernels, noting which are asked for."""

    def get(self, key: str, default: Any = None) -> Any:
        used_kernels.add(key)
        return super().get(key, default)


def recorded_kernels() -> dict[str, list[str]]:
    """Return the kernels that each check needs, by the name of the step; ``book`` and ``habits`` add some."""
    return json.loads(RECORDED_KERNELS.read_text())


def kernel_groups() -> dict[str, set[str]]:
    """Return the recorded kernels by file: of the ``model``, and those that all others add, nearly as many again."""
    used = recorded_kernels()
    model = {kernel for name in used if name.startswith("step") and name <= MODEL for kernel in used[name]}
    return {"model": model, "later": {kernel for kernels in used.values() for kernel in kernels} - model}


def install_kernels(compiling: Compiling) -> None:
    """Load the recorded kernels of a group when the first of them is missing; compile others one by one.

    If the recorded ones cannot be compiled or loaded after all, MAX compiles each by itself.

    Args:
        compiling: entered, with what is being compiled, for as long as that takes.
    """
    from max._interpreter_ops import gc_compile

    families = gc_compile.registered_families()
    tables = [_Noting(family.cache) for family in families]
    compile_one = gc_compile.compile_single_target
    waiting = list(kernel_groups().values())

    def compile_missing(family: Any, key: str, device: Any, build_graph: Any) -> Any:
        for group in [group for group in waiting if key in group]:
            waiting.remove(group)
            with suppress(Exception):  # whatever goes wrong, MAX can still compile the one that is missing
                models = load_kernels(group, compiling)
                for each in families:
                    each.cache.update(models)
        if key in family.cache:
            return family.cache[key]
        with compiling(f"the kernel {key}"):
            return compile_one(family, key, device, build_graph)

    for family, table in zip(families, tables, strict=True):
        family.cache = table
    gc_compile.compile_single_target = compile_missing


def load_kernels(names: set[str], compiling: Compiling) -> dict[str, Any]:
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
