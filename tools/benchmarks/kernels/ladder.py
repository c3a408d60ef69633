"""From attention as the formula says to the kernel of ``play/kernels``, an idea at a time; and how fast memory is read.

A rung is a text in Mojo: step 21's solution, the kernel, or one of them with an idea taken out. Each is compiled into a
library without MAX, and called from here; what it returns is compared with NumPy before it is timed.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np

from checker.course.attempts import Edits, edited
from checker.course.paths import ROOT
from checker.course.steps import find_step
from checker.mojo.building import shared_library
from checker.numeric.tolerance import close
from tools.benchmarks.comparison import WrongOutput
from tools.benchmarks.harness import Row, cores, milliseconds, say, take_turns
from tools.benchmarks.kernels.workloads import DEPTH, HEADS

HERE = Path(__file__).parent
KERNELS = ROOT / "play" / "kernels"
STEP = "step_21"
TAUGHT, NAIVE, TUNED = f"{STEP}.mojo", "naive.mojo", "tuned.mojo"

#: The tuned kernel where even few multiplications wake the other threads, and with the exponential of Mojo's library.
ALWAYS_PARALLEL: Edits = {"comptime TINY = 1 << 18": "comptime TINY = 0"}
LIBRARYS_EXP: Edits = {
    "LOG2_E, ROWS, VECTORS, WIDTH, Floats, Vector, exp2, log2_of": "ROWS, VECTORS, WIDTH, Floats, Vector, log2_of",
    "from std.math import iota, sqrt": "from std.math import exp as exp2, iota, sqrt",
    "comptime BLOCK =": "comptime LOG2_E = 1.0\ncomptime BLOCK =",
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
        """Return the files that make its library.

        Raises:
            ValueError: a file no longer has what is changed.
        """
        files = {TAUGHT: find_step("21").solution_file, "calls.mojo": HERE / "calls.mojo"}
        if self.kernel == NAIVE:
            files[NAIVE] = HERE / NAIVE
        if self.kernel == TUNED:
            files |= {TUNED: HERE / TUNED}
            files |= {name: KERNELS / name for name in ("heads.mojo", "attention.mojo", "vectors.mojo")}
        texts = {name: edited(file.read_text(), self.edits.get(name, {})) for name, file in files.items()}
        for name in files:
            texts[name] = texts[name].replace("from .", "from ")  # files beside each other, not a package
        module = self.kernel.removesuffix(".mojo")
        texts["calls.mojo"] = texts["calls.mojo"].replace("from kernel import", f"from {module} import")
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


class Library:
    """A rung, compiled and loaded."""

    def __init__(self, rung: Rung) -> None:
        self.rung = rung
        self.path = shared_library(rung.texts(), "calls.mojo", rung.title, tell)
        self.function = ctypes.CDLL(str(self.path)).attend
        self.function.restype = None

    def __call__(self, sizes: Sizes, arrays: list[np.ndarray], calls: int) -> np.ndarray:  # -> [1, seq, head * depth]
        """Compute attention several times."""
        output, starts = np.empty((1, sizes.seq, HEADS * DEPTH), np.float32), np.zeros(1, np.int32)
        places = [array.ctypes.data for array in (*arrays, starts, output)]
        self.function(*map(ctypes.c_int64, (*places, HEADS, sizes.seq, sizes.total, DEPTH, calls)))
        return output

    def seconds(self, sizes: Sizes, arrays: list[np.ndarray], calls: int) -> float:
        """Return the seconds of one of several calls."""
        start = time.perf_counter()
        self(sizes, arrays, calls)
        return (time.perf_counter() - start) / calls


def climb(rounds: int, turn: float, all_sizes: tuple[Sizes, ...] = SIZES) -> list[Row]:
    """Time every rung for every size; the rungs take turns.

    Raises:
        WrongOutput: one of them computes something else.
    """
    libraries = [Library(rung) for rung in LADDER]
    rows: list[Row] = [{"rung": rung.title, "ms": {}} for rung in LADDER]
    for sizes in all_sizes:
        arrays = sizes.arrays()
        wanted = expected(*arrays)
        for library in libraries:
            if not close(library(sizes, arrays, 1), wanted):
                raise WrongOutput(f"{library.rung.title}: wrong for {sizes} tokens, and nothing was timed")
        calls = {library: max(1, round(turn / library.seconds(sizes, arrays, 1))) for library in libraries}

        times = take_turns(libraries, rounds, partial(one_turn, sizes, arrays, calls))
        for row, library in zip(rows, libraries, strict=True):
            row["ms"][str(sizes)] = milliseconds(times[library], 4)
        say(f"  {sizes}: " + ", ".join(f"{row['ms'][str(sizes)]} ms" for row in rows))
    return rows


def one_turn(sizes: Sizes, arrays: list[np.ndarray], calls: Mapping[Library, int], library: Library) -> float:
    """Return the seconds of one of a library's calls."""
    return library.seconds(sizes, arrays, calls[library])


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
