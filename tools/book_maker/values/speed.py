"""Values of the page on speed: the limits of one processor, on which every program was timed, and each idea's gain.

The page's tables of several processors and libraries are no longer computed: they are in ``peers.json``.
"""

import re

from solutions.llama_config import LlamaConfig
from tools.book_maker.values.arithmetic import decode_bytes, llama_weights, matrix_weights, parameters, quantized_bytes
from tools.book_maker.values.book_values import kernels, ladder, llama, peers, sizes, speed

NAME = "Intel(R) Xeon(R) Processor, AVX-512, 2 cores"  # all of it in one run of one day
ZEN_3 = "AMD EPYC (Zen 3), AVX2, 2 cores"
ZEN_4 = "AMD EPYC (Zen 4), AVX-512, 2 cores"
ZEN_5 = "AMD EPYC (Zen 5), AVX-512, 2 cores"
chosen = peers[NAME]
OURS, PLAIN = "this course, with kernels", "this course"
AFTER = ("1 x 16", "1 x 512")  # one text, by the tokens before it
OWN = "MAX's own"  # attention without the kernels, by MAX's operations


def short(processor: str) -> str:
    """Return the generation of a processor of AMD's, or the first two words of another's name."""
    generation = re.search(r"Zen \d+", processor)
    return generation[0] if generation else " ".join(processor.replace("(R)", "").split()[:2])


def named(tables: str) -> str:
    """Return tables in which our model without the kernels says so, and a processor has no model number."""
    tables = re.sub(r" \(family \d+, model \d+\)", "", tables)
    return re.sub(r"^\| this course \|", "| this course, without kernels |", tables, flags=re.MULTILINE)


def limits() -> dict[str, float]:
    """Return the fastest matmul of the processor in GFLOP/s, and its fastest reading of a large matrix in GB/s."""
    ground = {row["what"]: row["figure"] for row in kernels[NAME]["parts"]["ground"]}
    best = {unit: max(figure for what, figure in ground.items() if what.endswith(unit)) for unit in ("FLOP/s", "GB/s")}
    return {"float32": best["FLOP/s"], "reading": best["GB/s"]} | chosen.get("limit", {})


def balance() -> float:
    """Return how many operations the processor can do in the time in which it reads a byte."""
    return limits()["float32"] / limits()["reading"]


def most_tokens() -> float:
    """Return the tokens per second that reading allows after 16 tokens, in float32."""
    return limits()["reading"] * 1e9 / decode_bytes(sizes["gpt2"], 16)


def rate(way: str, work: str = AFTER[0]) -> float:
    """Return tokens per second of a library."""
    tokens: float = chosen["parts"]["generation"][work]["tokens/s"][way]
    return tokens


def prompt(way: str, tokens: int = 512) -> float:
    """Return the milliseconds in which a library reads a prompt."""
    milliseconds: float = chosen["parts"]["forward"][f"1 x {tokens}"]["ms"][way]
    return milliseconds


def best_is_ahead(processor: str, tokens: int = 512) -> float:
    """Return by how many percent the fastest library in float32 is ahead of this course in reading a prompt."""
    milliseconds = peers[processor]["parts"]["forward"][f"1 x {tokens}"]["ms"]
    fewer_bits = ("bfloat16", "int8", "Q8_0", "Q4_0")
    best = min(time for way, time in milliseconds.items() if not way.endswith(fewer_bits))
    return 100 * (float(milliseconds[OURS]) / best - 1)


def slower_in_q4_1() -> float:
    """Return how many times as long llama.cpp reads a prompt per weight of SmolLM2, in Q4_1, as of GPT-2, in Q4_0.

    It computes the head for the last token alone, so only the weights of the layers count.
    """
    gpt2, llama_config = sizes["gpt2"], LlamaConfig()
    of_gpt2 = matrix_weights(gpt2) - gpt2.vocab_size * gpt2.n_embd
    of_llama = llama_weights(llama_config) - llama_config.vocab_size * llama_config.hidden_size
    (measured,) = (result for processor, result in llama.items() if short(processor) == short(NAME))
    taken: float = measured["parts"]["smollm2"]["first token after 512"]["llama.cpp, 4 bits"]
    return (taken / of_llama) / (prompt("llama.cpp, Q4_0") / of_gpt2)


def saved() -> float:
    """Return the seconds that our attention saves of a prompt of 1024 tokens, in all layers."""
    times = ladder(NAME)
    return sizes["gpt2"].n_layer * (times[OWN] - times["a register tile"]) / 1000


def gains(way: str, other: str) -> list[str]:
    """Return how many times as fast one library writes as another, after 16 and 512 tokens."""
    return [_times(rate(way, work) / rate(other, work)) for work in AFTER]


def gain(way: str, other: str) -> str:
    """Return the same as two cells of a table."""
    return " | ".join(gains(way, other))


def cache_gain() -> str:
    """Return how many times as fast the cache of step 14 makes writing, after 16 and 512 tokens, as two cells."""
    rows = speed["tables"]["generation"]["rows"]
    return " | ".join(_times(float(cached) / float(uncached)) for _, cached, uncached in rows)


def linear(column: str) -> str:
    """Return a figure of our linear layers with one row of input, beside MAX's."""
    table = kernels[NAME]["recorded"]["tables"]["linear"]
    return table["rows"][0][table["head"].index(column)]


def q4_bytes() -> int:
    """Return how many bytes of weights a token reads in 4 bits: all but the table of positions."""
    return quantized_bytes(sizes["gpt2"], 18) - 4 * parameters(sizes["gpt2"])["wpe"]


def _times(ratio: float) -> str:
    return f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.1f}"
