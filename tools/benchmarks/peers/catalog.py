"""Who is compared, and in which ways each runs the model: what a user chooses, and what the tables say about it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from tools.benchmarks.comparison import Way
from tools.benchmarks.preparing import COURSE, CTRANSLATE2, HUGGING_FACE, LLAMA_CPP
from tools.benchmarks.workers import BFLOAT16, COMPILED, EAGER, KERNELS

RECORDED = "recorded"  # the library of a way that is no longer run, whose figures stay
ALL, LAST = "all tokens", "the last token"
EIGHT_BITS = "8 bits, rounded as they come"
HEAD_TOO = "head and embeddings too"


@dataclass(frozen=True)
class Peer(Way):
    """One row of the tables: a library, and how it runs the model. Its tolerance is a share of the logits' spread.

    Args:
        weights: what its weights are kept in, in words.
        inputs: what they are multiplied by, in words.
        bits: of a weight, with its share of the scales: GGUF has 16 bits for every 32 weights.
        cache: what keys and values are kept in.
        logits: for which tokens of a prompt a forward pass computes logits.
    """

    weights: str = "float32"
    inputs: str = "float32"
    bits: float = 32
    cache: str = "float32"
    logits: str = ALL


HUGGING_FACES = {f"Hugging Face, {how}": how for how in ("sdpa", EAGER, COMPILED)}
_in_half = partial(Peer, library=RECORDED, weights=BFLOAT16, inputs=BFLOAT16, bits=16, cache=BFLOAT16)
_llama = partial(Peer, library=LLAMA_CPP, cache="float16", logits=LAST)
_rounded = partial(_llama, inputs=EIGHT_BITS)

WAYS: tuple[Peer, ...] = (
    Peer("this course", COURSE),
    Peer("this course, with kernels", COURSE, how=KERNELS),
    *(Peer(title, HUGGING_FACE, how=how) for title, how in HUGGING_FACES.items()),
    Peer("CTranslate2", CTRANSLATE2),
    _llama("llama.cpp, F32", dtype="F32", tolerance=1e-3),
    Peer("ONNX Runtime", RECORDED),
    Peer("OpenVINO", RECORDED),
    Peer("this course, bfloat16", COURSE, BFLOAT16, KERNELS, 0.05, BFLOAT16, BFLOAT16, 16),
    *(_in_half(f"{title}, {BFLOAT16}") for title in HUGGING_FACES),
    Peer("this course, Q4_0", COURSE, "Q4_0", tolerance=0.2, weights="4 bits, head too", inputs=EIGHT_BITS, bits=4.5),
    Peer("CTranslate2, int8", CTRANSLATE2, "int8", "", 0.05, f"8 bits, {HEAD_TOO}", EIGHT_BITS, 8),
    _rounded("llama.cpp, Q8_0", dtype="Q8_0", tolerance=0.02, weights=f"8 bits, {HEAD_TOO}", bits=8.5),
    _rounded("llama.cpp, Q4_0", dtype="Q4_0", tolerance=0.2, weights=f"4 bits, {HEAD_TOO}", bits=4.5),
)
REFERENCE = next(way for way in WAYS if way.library == HUGGING_FACE)  # with which all outputs are compared
