"""From attention as the formula says to the kernel of play/kernels, an idea at a time, and MAX's own.

``python -m tools.benchmarks.peers.ladder FOLDER``, a job as of the others; all rungs are in this process, in turns.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from max.driver import CPU
from max.dtype import DType
from max.experimental import functional as F
from max.experimental.nn import Module
from max.experimental.tensor import Tensor
from max.graph import DeviceRef, TensorType, default_custom_extensions_scope
from mojo.run import subprocess_run_mojo

from checker.course.steps import ROOT, find_step
from checker.max_adapter import runtime
from checker.max_adapter.hooks import install_hooks
from solutions.solution_01 import GPT2Config
from solutions.solution_02 import causal_mask
from solutions.solution_07 import GPT2MultiHeadAttention
from tools.benchmarks.shapes import DEPTH, HEADS, WIDTH

LAYERS, REF = 12, DeviceRef.CPU()
HERE, KERNELS = ROOT / "tools" / "benchmarks" / "ladder", ROOT / "play" / "kernels"
ALWAYS = {"heads.mojo": {"comptime TINY = 1 << 18": "comptime TINY = 0"}}
LIBRARYS_EXP = {
    "attention.mojo": {
        "BLOCK, LOG2_E, ROWS, WIDTH, Floats, Vector, exp2, sums": "BLOCK, ROWS, WIDTH, Floats, Vector, sums",
        "from std.math import iota, sqrt": "from std.math import exp as exp2, iota, sqrt",
        "comptime KEYS =": "comptime LOG2_E = 1.0\ncomptime KEYS =",
    }
}
OWN = "MAX's own"
RUNGS = {
    "the formula: all scores in memory": ("naive.mojo", {}),
    "an online softmax, without the future": (
        "taught",
        {"step_21.mojo": {"comptime QUERIES = 16": "comptime QUERIES = 1"}},
    ),
    "tiles of 16 queries: step 21": ("taught", {}),
    "a register tile": ("tuned.mojo", ALWAYS | LIBRARYS_EXP),
    "a hand-written `exp2`": ("tuned.mojo", ALWAYS),
    "one thread for small inputs": ("tuned.mojo", {}),
    OWN: ("", {}),
}
SIZES = [(8, 8), (64, 64), (512, 512), (1024, 1024), (1, 1024)]


def texts(kind: str, edits: Any) -> dict[str, str]:
    step = find_step("21")
    solution = step.solution_file.read_text()
    init = (step.kernel_folder / "__init__.mojo").read_text()
    files = {"__init__.mojo": init, "step_21.mojo": solution}
    if kind != "taught":
        line = "from .step_21 import Numbers, Rows, Starts, causal_attention"
        assert line in init
        files["__init__.mojo"] = init.replace(
            line, "from .step_21 import causal_attention\nfrom .taught import Numbers, Rows, Starts"
        )
        files |= {"taught.mojo": solution, "step_21.mojo": (HERE / kind).read_text()}
    if kind == "tuned.mojo":
        files |= {name: (KERNELS / name).read_text() for name in ("heads.mojo", "attention.mojo", "vectors.mojo")}
    for name, changes in edits.items():
        for old, new in changes.items():
            assert files[name].count(old) == 1, (name, old)
            files[name] = files[name].replace(old, new)
    return files


class Cores(Module[..., list[Tensor]]):
    def forward(self, query: Tensor, key: Tensor, value: Tensor, *starts: Tensor) -> list[Tensor]:
        output = TensorType(DType.float32, ["batch", query.shape[2], WIDTH], device=REF)
        return [F.custom("causal_attention", REF, [query, key, value, one], [output])[0] for one in starts]


class Own(Module[..., list[Tensor]]):
    """Step 07's attention between the projections, by MAX's operations; inputs of their own, else MAX runs one."""

    def __init__(self) -> None:
        self.attention = GPT2MultiHeadAttention(GPT2Config())

    def forward(self, *tensors: Tensor) -> list[Tensor]:
        outputs = []
        for query, key, value in zip(tensors[::3], tensors[1::3], tensors[2::3], strict=True):
            total, seq = key.shape[2], query.shape[2]
            mask = causal_mask(total, dtype=DType.float32, device=CPU())[total - seq :]
            outputs.append(self.attention._merge_heads(self.attention._attn(query, key, value, mask)))
        return outputs


class Graph:
    def __init__(self, title: str, scratch: Path) -> None:
        kind, edits = RUNGS[title]
        self.title = title
        types = [TensorType(DType.float32, ["batch", HEADS, axis, DEPTH], REF) for axis in ("seq", "total", "total")]
        if title == OWN:
            self.compiled: Any = Own().compile(*types * LAYERS)
            return
        folder = scratch / "kernels"
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in texts(kind, edits).items():
            (folder / name).write_text(text)
        package = scratch / "kernels.mojoc"
        made = subprocess_run_mojo(["precompile", str(folder), "-o", str(package)], capture_output=True)
        if made.returncode:
            raise SystemExit(f"{title}: {made.stderr.decode()[-3000:]}")
        with default_custom_extensions_scope(package):
            self.compiled = Cores().compile(*types, *[TensorType(DType.int32, ["batch"], REF)] * LAYERS)

    def buffers(self, arrays: list[np.ndarray]) -> list[Any]:
        if self.title == OWN:
            return [runtime.tensor(array).driver_tensor for array in arrays * LAYERS]
        starts = [np.zeros(1, np.int32) for _ in range(LAYERS)]
        return [runtime.tensor(array).driver_tensor for array in (*arrays, *starts)]

    def output(self, arrays: list[np.ndarray]) -> np.ndarray:
        return np.from_dlpack(self.compiled.execute_raw(*self.buffers(arrays))[-1]).copy()

    def seconds(self, arrays: list[np.ndarray], turn: float) -> float:
        given = self.buffers(arrays)
        np.from_dlpack(self.compiled.execute_raw(*given)[-1])
        calls, start = 0, time.perf_counter()
        while not calls or time.perf_counter() - start < turn:
            np.from_dlpack(self.compiled.execute_raw(*given)[-1])
            calls += 1
        return (time.perf_counter() - start) / calls / LAYERS


def expected(query: np.ndarray, key: np.ndarray, value: np.ndarray) -> np.ndarray:
    query, key, value = (array.astype(np.float64) for array in (query, key, value))
    seq, total = query.shape[2], key.shape[2]
    scores = query @ key.swapaxes(-1, -2) / np.sqrt(DEPTH)
    scores[..., np.triu(np.ones((seq, total), bool), total - seq + 1)] = -np.inf
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    result = weights / weights.sum(axis=-1, keepdims=True) @ value
    return result.transpose(0, 2, 1, 3).reshape(1, seq, HEADS * DEPTH)


def climb(rounds: int, turn: float, sizes: list[tuple[int, int]], scratch: Path) -> list[dict[str, Any]]:
    graphs = []
    for number, title in enumerate(RUNGS):
        start = time.perf_counter()
        graphs.append(Graph(title, scratch / str(number)))
        print(f"  compiled {title}: {time.perf_counter() - start:.1f} s", file=sys.stderr, flush=True)
    rows: list[dict[str, Any]] = [{"rung": title, "ms": {}, "all": {}} for title in RUNGS]
    for seq, total in sizes:
        name = f"{seq}" if seq == total else f"{seq} after {total - seq}"
        generator = np.random.default_rng(total)
        arrays = [generator.standard_normal((1, HEADS, n, DEPTH), dtype=np.float32) for n in (seq, total, total)]
        wanted = expected(*arrays)
        for graph in graphs:
            off = np.abs(graph.output(arrays) - wanted).max()
            if not off < 1e-4:
                raise SystemExit(f"{graph.title}: wrong by {off} for {name}")
        times: dict[str, list[float]] = {title: [] for title in RUNGS}
        for at in range(rounds):
            for graph in reversed(graphs) if at % 2 else graphs:
                times[graph.title].append(graph.seconds(arrays, turn))
        for row in rows:
            row["ms"][name] = round(1000 * statistics.median(times[row["rung"]]), 4)
            row["all"][name] = times[row["rung"]]
        print(f"  {name}: " + ", ".join(f"{row['ms'][name]}" for row in rows), file=sys.stderr, flush=True)
    return rows


if __name__ == "__main__":
    install_hooks()
    quick = "quick" in sys.argv
    rows = climb(
        1 if quick else 3, 0.01 if quick else 0.15, [(5, 5), (64, 64), (1, 7)] if quick else SIZES, Path(sys.argv[1])
    )
    Path(sys.argv[2]).write_text(json.dumps(rows))
