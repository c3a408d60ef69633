"""Who is compared, and in which ways each runs the model: what a user chooses, and what the tables say about it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from checker.numeric.tolerance import TOLERANCE
from tools.benchmarks import comparison
from tools.benchmarks.backends import Workload
from tools.benchmarks.comparison import COMPILED, EAGER, MAX
from tools.benchmarks.kernels.workloads import KERNELS
from tools.benchmarks.peers.environments import executable, root_of

COURSE, HUGGING_FACE, LLAMA_CPP = "course", "hugging-face", "llama.cpp"
PROGRAMS = "tools.benchmarks.peers.programs"
CHECKPOINT = "checkpoint"  # Hugging Face's folder, which this course loads too
HEAD_TOO = "head and embeddings too"
ROUNDED = "8 bits, rounded as they come"
HUGGING_FACES = {f"Hugging Face, {how}": how for how in ("sdpa", EAGER, COMPILED)}
BFLOAT16 = {"AVX-512 BF16", "AMX BF16", "BF16"}  # instructions that multiply such numbers
ALL, LAST = "all tokens", "the last token"
MOST_TOKENS = 1024  # of all sequences of a prompt together: their logits fill 206 MB

#: What starts the program of each peer in its environment; the folder of models follows.
PEERS: dict[str, list[str]] = {
    COURSE: [],
    HUGGING_FACE: ["-m", f"{PROGRAMS}.hugging_face"],
    "ctranslate2": ["-m", f"{PROGRAMS}.with_ctranslate2"],
    LLAMA_CPP: [str(Path(__file__).parent / "programs" / "llama_cpp.mjs"), str(root_of(LLAMA_CPP))],
    "onnxruntime": ["-m", f"{PROGRAMS}.with_onnxruntime"],
    "openvino": ["-m", f"{PROGRAMS}.with_openvino"],
}

#: The largest difference from Hugging Face's logits, in units of their spread, by how weights or cache are kept. In a
#: float32 model a wrong weight is noticed; in a coarser one, only what is worse than its own rounding.
TOLERANCES = {"float32": TOLERANCE, "float16": 1e-3, "bfloat16": 0.05, "int8": 0.05, "Q8_0": 0.02, "Q4_0": 0.2}


@dataclass(frozen=True)
class Way:
    """One row of the tables: a library, and how it runs the model.

    Args:
        title: what the tables call it.
        peer: one of ``PEERS``.
        dtype: the numbers of its weights, as its users call them.
        how: the ``way`` of a workload, for a library that has several.
        format: the export that it loads (``exports.py``).
        weights: what the weights are kept in, in words.
        bits: of a weight, with its share of the scales: GGUF has 16 bits for every 32 weights.
        cache: what keys and values are kept in.
        logits: for which tokens of a prompt a forward pass computes logits.
    """

    title: str
    peer: str
    dtype: str = "float32"
    how: str = ""
    format: str = CHECKPOINT
    weights: str = "float32"
    bits: float = 32
    cache: str = "float32"
    logits: str = ALL

    @property
    def inputs(self) -> str:
        """What the weights are multiplied by, in words."""
        return self.dtype if "float" in self.dtype else ROUNDED

    @property
    def tolerance(self) -> float:
        """The largest difference from Hugging Face's logits that its numbers explain."""
        return max(TOLERANCES[self.dtype], TOLERANCES[self.cache])

    def of(self, workload: Workload) -> Workload:
        """Return a workload as this way runs it."""
        return Workload(workload.part, self.how, workload.batch, workload.length, workload.new_tokens, dtype=self.dtype)


WAYS = (
    Way("this course", COURSE, how=MAX),
    Way("this course, with kernels", COURSE, how=KERNELS),
    *(Way(way, HUGGING_FACE, how=how) for way, how in HUGGING_FACES.items()),
    Way("CTranslate2", "ctranslate2", format="ctranslate2-float32"),
    Way("llama.cpp, F32", LLAMA_CPP, format="gguf-F32", cache="float16", logits=LAST),
    Way("ONNX Runtime", "onnxruntime", format="onnx"),
    Way("OpenVINO", "openvino", format="openvino"),
    *(
        Way(f"{way}, bfloat16", HUGGING_FACE, "bfloat16", how, weights="bfloat16", bits=16, cache="bfloat16")
        for way, how in HUGGING_FACES.items()
    ),
    Way("this course, Q4_0", COURSE, "Q4_0", MAX, weights="4 bits, head too", bits=4.5),
    Way("CTranslate2, int8", "ctranslate2", "int8", format="ctranslate2-int8", weights=f"8 bits, {HEAD_TOO}", bits=8),
    Way("llama.cpp, Q8_0", LLAMA_CPP, "Q8_0", "", "gguf-Q8_0", f"8 bits, {HEAD_TOO}", 8.5, "float16", LAST),
    Way("llama.cpp, Q4_0", LLAMA_CPP, "Q4_0", "", "gguf-Q4_0", f"4 bits, {HEAD_TOO}", 4.5, "float16", LAST),
)


def command(peer: str, folder: Path) -> list[str]:
    """Return what starts the program of a peer, in its environment, with a folder of models."""
    if peer == COURSE:
        return comparison.command(MAX, folder / CHECKPOINT)
    return [str(executable(peer)), *PEERS[peer], str(folder)]


def ways_of(peers: Sequence[str]) -> list[Way]:
    """Return the ways of some peers, in the order of the tables."""
    return [way for way in WAYS if way.peer in peers]


def not_worth_waiting_for(ways: Iterable[Way], instructions: Collection[str]) -> dict[str, str]:
    """Return the titles of the ways that would take hours on a processor with these instructions, and why.

    Torch took 102 seconds in bfloat16 for 512 tokens of GPT-2 small where it took 1.7 in float32 (Zen 3, 2 cores).
    """
    if not BFLOAT16.isdisjoint(instructions):
        return {}
    why = "this processor has no instructions for bfloat16, and torch takes many times as long without them"
    return {way.title: why for way in ways if way.dtype == "bfloat16"}


REFERENCE = ways_of([HUGGING_FACE])[0]  # with which all outputs are compared
