"""From attention as the formula says to the kernel of ``play/kernels``, an idea at a time; and how fast memory is read.

A rung is a text in Mojo: step 21's solution, the kernel, or one of them with an idea taken out. Each is an operation in
a graph of MAX, whose threads are awake; what it returns is compared with NumPy before it is timed.
"""

from __future__ import annotations

import ctypes
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from checker.course.attempts import Edits, edited
from checker.course.paths import ROOT
from checker.course.steps import find_step
from checker.mojo.building import shared_library
from checker.numeric.tolerance import close
from tools.benchmarks.comparison import WrongOutput
from tools.benchmarks.harness import Row, cores, milliseconds, say, take_turns
from tools.benchmarks.kernels.workloads import DEPTH, HEADS, WIDTH

HERE = Path(__file__).parent
LAYERS = 12  # of GPT-2 small
KERNELS = ROOT / "play" / "kernels"
TAUGHT, NAIVE, TUNED = "taught.mojo", "naive.mojo", "tuned.mojo"

#: The tuned kernel where even few multiplications wake the other threads, and with the exponential of Mojo's library.
ALWAYS_PARALLEL: Edits = {"comptime TINY = 1 << 18": "comptime TINY = 0"}
LIBRARYS_EXP: Edits = {
    "BLOCK, LOG2_E, ROWS, WIDTH, Floats, Vector, exp2, log2_of": "BLOCK, ROWS, WIDTH, Floats, Vector, log2_of",
    "from std.math import iota, sqrt": "from std.math import exp as exp2, iota, sqrt",
    "comptime KEYS =": "comptime LOG2_E = 1.0\ncomptime KEYS =",
}


@dataclass(frozen=True)
class Rung:
    """A text that computes attention.

    Args:
        title: what the table calls it.
        kernel: the file with its ``causal_attention``.
        edits: by file, what is changed.
    """

    title: str
    kernel: str
    edits: Mapping[str, Edits] = field(default_factory=dict)

    def texts(self) -> dict[str, str]:
        """Return the files of its package: step 21's, with another file in the place of the learner's.

        Raises:
            ValueError: a file no longer has what is changed.
        """
        step = find_step("21")
        files = {"__init__.mojo": step.kernel_folder / "__init__.mojo", TAUGHT: step.solution_file}
        if self.kernel != TAUGHT:
            files["step_21.mojo"] = HERE / self.kernel
        if self.kernel == TUNED:
            files |= {name: KERNELS / name for name in ("heads.mojo", "attention.mojo", "vectors.mojo")}
        texts = {name: edited(file.read_text(), self.edits.get(name, {})) for name, file in files.items()}
        if self.kernel == TAUGHT:
            texts["step_21.mojo"] = texts.pop(TAUGHT)
        return texts


LADDER = (
    Rung("the formula: all scores in memory", NAIVE),
    Rung("an online softmax, without the future", TAUGHT, {TAUGHT: {"comptime QUERIES = 16": "comptime QUERIES = 1"}}),
    Rung("tiles of 16 queries: step 21", TAUGHT),
    Rung("a register tile", TUNED, {"attention.mojo": LIBRARYS_EXP, "heads.mojo": ALWAYS_PARALLEL}),
    Rung("an `exp2` of its own", TUNED, {"heads.mojo": ALWAYS_PARALLEL}),
    Rung("one thread where there is little to do", TUNED),
)


@dataclass(frozen=True)
class Sizes:
    """New tokens, and all of them."""

    seq: int
    total: int

    def __str__(self) -> str:
        return f"{self.seq}" if self.seq == self.total else f"{self.seq} after {self.total - self.seq}"

    def arrays(self) -> list[np.ndarray]:  # [1, head, seq, depth], twice [1, head, total, depth]
        """Return queries, keys and values."""
        generator = np.random.default_rng(self.total)
        shapes = [(1, HEADS, length, DEPTH) for length in (self.seq, self.total, self.total)]
        return [generator.standard_normal(shape, dtype=np.float32) for shape in shapes]


SIZES = (Sizes(8, 8), Sizes(64, 64), Sizes(512, 512), Sizes(1024, 1024), Sizes(1, 1024))
QUICK_SIZES = (Sizes(5, 5), Sizes(1, 7))


def expected(query: np.ndarray, key: np.ndarray, value: np.ndarray) -> np.ndarray:  # -> [1, seq, head * depth]
    """Compute attention as the formula says, in double precision."""
    query, key, value = (array.astype(np.float64) for array in (query, key, value))
    seq, total = query.shape[2], key.shape[2]
    scores = query @ key.swapaxes(-1, -2) / np.sqrt(DEPTH)
    scores[..., np.triu(np.ones((seq, total), bool), total - seq + 1)] = -np.inf
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    result = weights / weights.sum(axis=-1, keepdims=True) @ value
    return result.transpose(0, 2, 1, 3).reshape(1, seq, HEADS * DEPTH)


class Graph:
    """As many cores as GPT-2 small has layers, all by a rung, one after the other in a graph of MAX."""

    def __init__(self, rung: Rung) -> None:
        from max.dtype import DType
        from max.experimental import functional as F
        from max.experimental.nn import Module
        from max.experimental.tensor import Tensor
        from max.graph import DeviceRef, TensorType, default_custom_extensions_scope

        from checker.max_adapter.runtime import compiling
        from play.kernels.operations import package

        ref = DeviceRef.CPU()

        class Cores(Module[..., list[Tensor]]):
            def forward(self, query: Tensor, key: Tensor, value: Tensor, *starts: Tensor) -> list[Tensor]:
                output = TensorType(DType.float32, ["batch", query.shape[2], WIDTH], device=ref)
                return [F.custom("causal_attention", ref, [query, key, value, one], [output])[0] for one in starts]

        types = [TensorType(DType.float32, ["batch", HEADS, axis, DEPTH], ref) for axis in ("seq", "total", "total")]
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch) / "kernels"
            folder.mkdir()
            for name, text in rung.texts().items():
                (folder / name).write_text(text)
            with default_custom_extensions_scope(package(folder)), compiling(f"a graph of: {rung.title}"):
                compiled: Any = Cores().compile(*types, *[TensorType(DType.int32, ["batch"], ref)] * LAYERS)
        self.rung, self.compiled = rung, compiled

    def __call__(self, arrays: list[np.ndarray]) -> np.ndarray:  # -> [1, seq, head * depth]
        """Return what the last core computes."""
        return np.from_dlpack(self.compiled.execute_raw(*buffers(arrays))[-1])  # which waits for it

    def seconds(self, arrays: list[np.ndarray], calls: int) -> float:
        """Return the seconds of one core, over several calls."""
        given = buffers(arrays)
        start = time.perf_counter()
        for _ in range(calls):
            np.from_dlpack(self.compiled.execute_raw(*given)[-1])
        return (time.perf_counter() - start) / calls / LAYERS


def buffers(arrays: list[np.ndarray]) -> list[Any]:
    """Return queries, keys and values as MAX takes them, and for each core where the sequence begins.

    These are inputs of their own: of two equal operations on equal inputs, MAX runs one.
    """
    from checker.max_adapter.runtime import tensor

    starts = [np.zeros(1, np.int32) for _ in range(LAYERS)]
    return [tensor(array).driver_tensor for array in (*arrays, *starts)]


def climb(rounds: int, turn: float, all_sizes: tuple[Sizes, ...] = SIZES) -> list[Row]:
    """Time every rung for every size; the rungs take turns.

    Raises:
        WrongOutput: one of them computes something else.
    """
    from checker.max_adapter.runtime import prepare

    prepare()
    graphs = [Graph(rung) for rung in LADDER]
    rows: list[Row] = [{"rung": rung.title, "ms": {}} for rung in LADDER]
    for sizes in all_sizes:
        arrays = sizes.arrays()
        wanted = expected(*arrays)
        for graph in graphs:
            if not close(graph(arrays), wanted):
                raise WrongOutput(f"{graph.rung.title}: wrong for {sizes} tokens, and nothing was timed")
        calls = {graph: max(1, round(turn / graph.seconds(arrays, 1) / LAYERS)) for graph in graphs}
        times = take_turns(graphs, rounds, partial(one_turn, arrays, calls))
        for row, graph in zip(rows, graphs, strict=True):
            row["ms"][str(sizes)] = milliseconds(times[graph], 4)
        say(f"  {sizes}: " + ", ".join(f"{row['ms'][str(sizes)]} ms" for row in rows))
    return rows


def one_turn(arrays: list[np.ndarray], calls: Mapping[Graph, int], graph: Graph) -> float:
    """Return the seconds of one of a graph's cores."""
    return graph.seconds(arrays, calls[graph])


def tell(what: str, seconds: float | None) -> None:
    """Say what Mojo compiles."""
    if seconds is None:
        say(f"  Mojo is compiling: {what}")


def reading(rounds: int, turn: float, count: int) -> dict[int, list[float]]:
    """Return the seconds in which one thread reads ``count`` numbers, and those of one thread per core, by threads."""
    path = shared_library({"reading.mojo": (HERE / "reading.mojo").read_text()}, "reading.mojo", "a reader", tell)
    read = ctypes.CDLL(str(path)).read
    read.restype = None
    numbers = np.ones(count, np.float32)

    def seconds(threads: int, calls: int) -> float:
        sums = np.zeros(threads, np.float32)
        start = time.perf_counter()
        for _ in range(calls):
            read(*map(ctypes.c_int64, (numbers.ctypes.data, count, threads, sums.ctypes.data)))
        return (time.perf_counter() - start) / calls

    calls = {threads: max(1, round(turn / seconds(threads, 1))) for threads in dict.fromkeys((1, cores()))}
    return take_turns(calls, rounds, lambda threads: seconds(threads, calls[threads]))
