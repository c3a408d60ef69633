"""The graphs of the checks and of the small model, compiled together once per machine and loaded from a few files.

MAX compiles a graph's matrix products anew for every graph, and they take most of the time; all graphs in one
module take hardly longer than three of them one by one. ``checker.child.warm_checks`` compiles the graphs of the
solutions this way, and ``play.warm_model`` those of the small model. Code that needs one of these graphs finds it
(:class:`Part`), whoever wrote the module; any other graph is compiled when it is met, and kept by MAX.

MAX sets up all graphs of a file or none, and needs weights for all. The weights of graphs that nobody calls are zeros,
which costs little: the references are recorded on a tiny configuration, so the weights of all solutions are 0.15 MB and
made in 0.4 ms, and setting up all graphs takes 0.07 s and 20 MB, where compiling one takes up to a minute. A model of
real size does not belong in the set of a check.

A trick, the hook ``graphs``: MAX's own way to compile a graph looks here first.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
from max import mlir
from max.driver import DeviceSpec, load_devices, scan_available_devices
from max.engine import InferenceSession, Model
from max.graph import Graph, Module, Value

from checker.files import remove_unused, replacing, use_if_kept
from checker.max_adapter.runtime import ALL_KEPT, cache_key, cache_path
from checker.max_adapter.tracing import AbandonedGraphError, GraphMode, current_mode

SETS = ("solutions", "play")

#: The index of a set, as JSON: its ``file`` and the ``digest`` of that file, the fingerprints of its ``graphs``, and
#: the type and shape of all their ``weights``, by fingerprint/name.
Index = dict[str, Any]

#: Operations that MAX traces but its compiler then refuses, as the text of a graph shows them, and what to say.
REFUSED_BY_THE_COMPILER = {
    r"reduce\.softmax\(%\w+\) \[axis = -(?!1\b)": (
        "MAX compiles no softmax over a negative axis other than -1. Count the axis from the front: with four axes, "
        "-2 is axis 2."
    ),
    r"reduce\.add\(%\w+\) \[axis = \d+\] : \(!mo\.tensor<\[[^\]]*\], bool>": (
        "MAX compiles no sum of booleans. Make numbers of them first: `.cast(DType.float32)`."
    ),
}

#: A counter at the end of MAX's text of a graph that slices or reshapes: it rises each time that the text is read.
COUNTER = re.compile(r" \{counter = \d+ : i64\}$")


def fingerprint(graph: Graph) -> str:
    """Return the name of a graph among those compiled together, from MAX's own text of it."""
    text = COUNTER.sub("", repr(graph))
    for library in graph.kernel_libraries_paths:  # in a folder whose name is made of its contents
        text = text.replace(f"{library.parent.parent}/", "")
    return f"g{cache_key(text)}"


@dataclass(frozen=True)
class Part:
    """One graph from a set, in place of the graph that MAX would have compiled.

    Attributes:
        name: the name of the graph.
        set_name: the name of the set.
        index: the index of the set.
        compile_alone: has MAX compile the graph by itself.
    """

    name: str
    set_name: str
    index: Index
    compile_alone: Callable[[], Any]

    @cached_property
    def compiled_alone(self) -> Any:
        """The graph as MAX compiles it by itself, which it does once at most."""
        return self.compile_alone()

    def export_mef(self, path: str | Path) -> None:
        """Write the graph, compiled alone, to a file, for code that does more than run it."""
        self.compiled_alone.export_mef(path)


class KeptGraphs:
    """Stands in for two methods of MAX's sessions: a graph that was compiled together with others is loaded.

    If it cannot be used after all, MAX compiles the graph itself.

    Args:
        compile_any: MAX's own method that compiles.
        init_any: MAX's own method that sets up what is compiled.
    """

    def __init__(self, compile_any: Callable[..., Any], init_any: Callable[..., Any]) -> None:
        self.compile_any, self.init_any = compile_any, init_any

    def compile_or_find(self, session: InferenceSession, model: Any, **options: Any) -> Any:
        """Return the part of a set that a graph is; have MAX compile any other model."""
        if not isinstance(model, Graph):
            return self.compile_any(session, model, **options)
        if current_mode() is GraphMode.COLLECT:
            raise AbandonedGraphError(model)
        name = fingerprint(model)
        for set_name in SETS:
            index = _read_index(set_name)
            if index and name in index["graphs"]:
                return Part(name, set_name, index, partial(self.compile_alone, session, model, **options))
        return self.compile_alone(session, model, **options)

    def compile_alone(self, session: InferenceSession, graph: Graph, **options: Any) -> Any:
        """Have MAX compile a graph, unless the compiler would refuse it, or nothing is to be compiled."""
        refused = why_the_compiler_refuses(graph)  # the compiler would refuse it only after minutes, and without words
        if refused:
            raise TypeError(refused)
        if current_mode() is GraphMode.TRACE:
            raise AbandonedGraphError(graph)
        return self.compile_any(session, graph, **options)

    def init_part(
        self, session: InferenceSession, compiled: Any, *, weights_registry: Mapping[str, Any] | None = None
    ) -> dict[str, Model]:
        """Set up a part from the file of its set; have MAX set up anything else."""
        if not isinstance(compiled, Part):
            return self.init_any(session, compiled, weights_registry=weights_registry)
        kinds = compiled.index["weights"]
        weights: dict[str, Any] = {name: np.zeros(shape, dtype) for name, (dtype, shape) in kinds.items()}
        weights |= {f"{compiled.name}/{name}": value for name, value in (weights_registry or {}).items()}
        try:
            models = self.init_any(session, session.compile(Path(compiled.index["file"])), weights_registry=weights)
            return {compiled.name: models[compiled.name]}
        except Exception:  # graphs are compiled as they are met; if the file is damaged, all are from now on
            if not _is_whole(compiled.index):
                _forget(compiled.set_name)
            return self.init_any(session, compiled.compiled_alone, weights_registry=weights_registry)


def install_graphs() -> None:
    """Let MAX's sessions load any graph that was compiled together with others.

    Two functions take the place of the methods, since Python hands the session to a function of its class, and not to a
    method of another object.
    """
    kept_graphs = KeptGraphs(InferenceSession.compile_reusing_mefs, InferenceSession.init_all)

    def compile_reusing_mefs(session: InferenceSession, model: Any, **options: Any) -> Any:
        return kept_graphs.compile_or_find(session, model, **options)

    def init_all(session: InferenceSession, compiled: Any, **options: Any) -> Any:
        return kept_graphs.init_part(session, compiled, **options)

    InferenceSession.compile_reusing_mefs = compile_reusing_mefs  # type: ignore[method-assign, assignment]
    InferenceSession.init_all = init_all  # type: ignore[method-assign, assignment]


def why_the_compiler_refuses(graph: Graph) -> str:
    """Return why the compiler would refuse a graph, if that is known; else nothing."""
    text = repr(graph)
    return next((words for pattern, words in REFUSED_BY_THE_COMPILER.items() if re.search(pattern, text)), "")


def _index_file(set_name: str) -> Path | None:
    return cache_path(f"graphs-{set_name}", suffix=".json")


@cache
def _read_index(set_name: str) -> Index | None:
    """Return the index of a set, if this machine has compiled it."""
    file = _index_file(set_name)
    if file is None:
        return None
    try:
        index = json.loads(file.read_text())
    except (OSError, ValueError):
        return None
    is_index = isinstance(index, dict) and index.keys() >= {"file", "digest", "graphs", "weights"}
    return index if is_index and use_if_kept(file) and use_if_kept(Path(index["file"])) else None


def _forget(set_name: str) -> None:
    """Remove the index of a set: until the set is compiled again, none of its graphs is found."""
    file = _index_file(set_name)
    if file:
        file.unlink(missing_ok=True)
        _read_index.cache_clear()


def _digest_of(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _is_whole(index: Index) -> bool:
    """Return whether the file of a set is as it was written: it may have been cut short."""
    try:
        return _digest_of(Path(index["file"])) == index["digest"]
    except OSError:
        return False


def compile_set(set_name: str, graphs: Iterable[Graph]) -> None:
    """Compile together the graphs of a set, unless this machine has them already or keeps nothing."""
    file = _index_file(set_name)
    if file is None:
        return
    by_name = {fingerprint(graph): graph for graph in graphs}
    index = _read_index(set_name)
    if index is None or not by_name.keys() <= {*index["graphs"]}:
        compile_together(by_name, file)


def compile_together(graphs: Mapping[str, Graph], index: Path) -> None:
    """Compile graphs, given by name, in one module, and write it to a file, and its index to the file ``index``."""
    weights = dict[str, tuple[str, list[int]]]()
    for name, graph in graphs.items():
        weights |= _rename_weights(graph, name)
    libraries = dict.fromkeys(library for graph in graphs.values() for library in graph.kernel_libraries_paths)
    module = _move_into_one_module(graphs)
    session = InferenceSession(devices=load_devices(_all_devices()))
    compiled = session.compile(module, custom_extensions=[*libraries])
    names = sorted(graphs)
    file = index.with_name(f"{index.stem}-{cache_key(' '.join(names))}.mef")
    with replacing(file) as unfinished:
        compiled.export_mef(unfinished)
    index_entry = {"file": str(file), "digest": _digest_of(file), "graphs": names, "weights": weights}
    with replacing(index) as unfinished:
        unfinished.write_text(json.dumps(index_entry))
    remove_unused(file.parent, ALL_KEPT)


def _rename_weights(graph: Graph, name: str) -> dict[str, tuple[str, list[int]]]:
    """Put the ``name`` of a graph before the names of its weights; return their types and shapes by new name."""
    from max import _core

    kinds = dict[str, tuple[str, list[int]]]()
    for weight in _weights(graph._mlir_op):
        weight_name = f"{name}/{weight.attributes['name'].value}"
        weight.attributes["name"] = mlir.StringAttr.get(weight_name)
        kind = Value.from_mlir(_core.Value._from_cmlir(weight.result)).tensor.type
        kinds[weight_name] = kind.dtype.name, [int(size) for size in kind.shape]
    return kinds


def _weights(operation: Any) -> Iterator[Any]:
    """Yield the operations inside another one that stand for weights."""
    for region in operation.regions:
        for block in region.blocks:
            for inner in block.operations:
                if inner.operation.name == "mo.constant.external":
                    yield inner
                yield from _weights(inner)


def _move_into_one_module(graphs: Mapping[str, Graph]) -> Module:
    """Return one module into which graphs were moved, under the names that are given."""
    from max import _core
    from max._mlir_context import default_mlir_context

    module = mlir.Module.create(mlir.Location.unknown())
    for name, graph in graphs.items():
        graph._mlir_op.attributes["sym_name"] = mlir.StringAttr.get(name)
        module.body.append(graph._mlir_op)
    code = io.BytesIO()  # from the one Python interface of MAX's graphs to the other
    module.operation.write_bytecode(code)
    return Module(_core.Operation.from_bytecode(code.getvalue(), default_mlir_context()))


def _all_devices() -> list[DeviceSpec]:
    """Return this machine's devices. With an accelerator, MAX need not count the CPU among them."""
    devices, cpu = scan_available_devices(), DeviceSpec.cpu()
    return devices if cpu in devices else [*devices, cpu]
