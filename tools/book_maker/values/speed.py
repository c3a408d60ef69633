"""Values of the page on speed: what a processor allows, what each idea gained, and how other libraries compare.

What the page has in view is of one processor, on which every program was timed; its folds have the others.
"""

import re
from operator import itemgetter
from typing import Any

from solutions.llama_config import LlamaConfig
from tools.benchmarks import recorded
from tools.book_maker.values.arithmetic import decode_bytes, llama_weights, matrix_weights, parameters, quantized_bytes
from tools.book_maker.values.book_values import compared, kernels, ladder, llama, peers, sizes, speed

NAME = "Intel(R) Xeon(R) Processor, AVX-512, 2 cores"  # all of it in one run of one day
ZEN_4, ZEN_5 = (f"AMD EPYC (Zen {generation}), AVX-512, 2 cores" for generation in (4, 5))
chosen = peers[NAME]
OURS, PLAIN = "this course, with kernels", "this course"
AFTER = ("1 x 16", "1 x 512")  # one text, by the tokens before it
IN_FLOAT32 = [name for name, weights, *_ in compared["tables"]["libraries"]["rows"] if weights == "float32"]
#: Of the kernels, what was made faster, and the row of the ladder before it.
LADDER = {
    "tiles of 16 queries: step 21": "the formula: all scores in memory",
    "a register tile": "tiles of 16 queries: step 21",
}
OWN = "MAX's own"  # attention without the kernels, by MAX's operations
NOT_TIMED = "\N{EN DASH}"


def short(processor: str) -> str:
    """Return the generation of a processor of AMD's, or the first two words of another's name."""
    generation = re.search(r"Zen \d+", processor)
    return generation[0] if generation else " ".join(processor.replace("(R)", "").split()[:2])


def named(tables: str) -> str:
    """Return tables in which our model without the kernels says so, and a processor has no model number."""
    tables = re.sub(r" \(family \d+, model \d+\)", "", tables)
    return re.sub(r"^\| this course \|", "| this course, without kernels |", tables, flags=re.MULTILINE)


def limits(processor: str = NAME) -> dict[str, float]:
    """Return the fastest matmul of a processor in GFLOP/s, and its fastest reading of a large matrix in GB/s."""
    ground = {row["what"]: row["figure"] for row in kernels[processor]["parts"]["ground"]}
    best = {unit: max(figure for what, figure in ground.items() if what.endswith(unit)) for unit in ("FLOP/s", "GB/s")}
    return {"float32": best["FLOP/s"], "reading": best["GB/s"]} | peers[processor].get("limit", {})


def balance(processor: str = NAME) -> float:
    """Return how many operations a processor can do in the time in which it reads a byte."""
    return limits(processor)["float32"] / limits(processor)["reading"]


def most_tokens(processor: str = NAME) -> float:
    """Return the tokens per second that reading allows after 16 tokens, in float32."""
    return limits(processor)["reading"] * 1e9 / decode_bytes(sizes["gpt2"], 16)


def bounds(*processors: str) -> str:
    """Return a row for each processor: its limits, the tokens per second that reading allows, and what ours writes."""
    rows = []
    for processor in sorted(processors or peers, key=most_tokens, reverse=True):
        most, written = most_tokens(processor), rate(OURS, AFTER[0], processor)
        matmul, reading = (limits(processor)[each] for each in ("float32", "reading"))
        figures = (f"{matmul:.0f}", f"{reading:.1f}", f"{most:.1f}", f"{written:.1f}", f"{written / most:.0%}")
        rows.append(_row(short(processor), *figures))
    return "\n".join(rows)


def older_kernels() -> str:
    """Return a sentence about the processors on which older kernels were timed, if there are any."""
    names = [short(each) for each, result in peers.items() if result.get("note", "").startswith("older kernels")]
    return f"{' and '.join(names)} ran an older, slower version of the kernels." if names else ""


def rate(way: str, work: str = AFTER[0], processor: str = NAME) -> float:
    """Return tokens per second of a library."""
    return peers[processor]["parts"]["generation"][work]["tokens/s"][way]


def prompt(way: str, tokens: int = 512, processor: str = NAME) -> float:
    """Return the milliseconds in which a library reads a prompt."""
    milliseconds: float = peers[processor]["parts"]["forward"][f"1 x {tokens}"]["ms"][way]
    return milliseconds


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


def gains(way: str, other: str, processor: str = NAME) -> list[str]:
    """Return how many times as fast one library writes as another, after 16 and 512 tokens."""
    tables = (peers[processor]["parts"]["generation"][work]["tokens/s"] for work in AFTER)
    return [_times(table[way] / table[other]) if way in table and other in table else NOT_TIMED for table in tables]


def gain(way: str, other: str) -> str:
    """Return the same for the page's processor, as two cells of a table."""
    return " | ".join(gains(way, other))


def cache_gain() -> str:
    """Return how many times as fast the cache of step 14 makes writing, after 16 and 512 tokens, as two cells."""
    rows = speed["tables"]["generation"]["rows"]
    return " | ".join(_times(float(cached) / float(uncached)) for _, cached, uncached in rows)


def linear(column: str, processor: str = NAME) -> str:
    """Return a figure of our linear layers with one row of input, beside MAX's."""
    table = kernels[processor]["recorded"]["tables"]["linear"]
    return table["rows"][0][table["head"].index(column)]


def linear_share() -> float:
    """Return the share of the fastest reading that our linear layers reach with one row of input."""
    return float(linear("kernel, GB/s")) / limits()["reading"]


def q4_bytes() -> int:
    """Return how many bytes of weights a token reads in 4 bits: all but the table of positions."""
    return quantized_bytes(sizes["gpt2"], 18) - 4 * parameters(sizes["gpt2"])["wpe"]


def ideas() -> str:
    """Return the table of what each idea gained on every processor."""
    rows = [
        [f"{idea}, {work.split()[-1]}", *(gains(way, other, each)[at] for each in peers)]
        for idea, way, other in (
            ("`play/kernels`", OURS, PLAIN),
            ("bfloat16", "this course, bfloat16", OURS),
            ("4 bits", "this course, Q4_0", OURS),
        )
        for at, work in enumerate(AFTER)
    ]
    layers = (_times(float(linear("kernel / MAX", each))) for each in peers)
    rows.append(["linear layers", *layers])
    rows += [[way, *(_rung(way, each) for each in peers)] for way in LADDER]
    head = ["times as fast", *map(short, peers)]
    return "\n".join([_row(*head), _row("---", *["--:"] * len(peers)), *(_row(*row) for row in rows)])


def one_text(*ways: str) -> str:
    """Return a row for each way, the slowest after 16 tokens first: tokens per second, and a prompt of 512 tokens."""
    tables = chosen["recorded"]["tables"]
    rates, seconds = ({way: cells for way, *cells in tables[part]["rows"]} for part in ("generation", "forward"))
    at = tables["forward"]["head"].index("512") - 1
    return named("\n".join(_row(way, *rates[way][:2], seconds[way][at]) for way in sorted(ways, key=rate)))


def by_processor(work: str, what: str) -> str:
    """Return a table of what every library writes, by processor, below ``what``; the best in float32 are bold.

    A library that got faster from 16 tokens to 512, where it reads more, was disturbed, and counts as not timed.
    """
    rates = {
        each: result["parts"]["generation"][work]["tokens/s"]
        for each, result in peers.items()
        if work in result["parts"]["generation"]
    }

    def cell(way: str, processor: str) -> str:
        written = rates[processor]
        few, many = (peers[processor]["parts"]["generation"][each]["tokens/s"].get(way, 0) for each in AFTER)
        if way not in written or many > few:
            return NOT_TIMED
        best = max(written.get(each, 0) for each in IN_FLOAT32)
        return f"**{written[way]:.0f}**" if way in IN_FLOAT32 and written[way] == best else f"{written[way]:.0f}"

    rows = [[way, *(cell(way, each) for each in rates)] for way, *_ in compared["tables"]["libraries"]["rows"]]
    timed = [_row(*row) for row in rows if {*row[1:]} != {NOT_TIMED}]
    return named("\n".join([_row(what, *map(short, rates)), _row("---", *["--:"] * len(rates)), *timed]))


def closest() -> str:
    """Return how close to the limit a pass gets, in percent by tokens: a row for ours, and one for the best other."""
    others = [way for way in IN_FLOAT32 if not way.startswith(PLAIN)]
    best = (max(row["share"][way] for way in others if way in row["share"]) for row in _prompts())
    ours = (row["share"][OURS] for row in _prompts())
    rows = {OURS: ours, "the best other library in float32": best}
    return "\n".join(_row(name, *(f"{share:.0f}" for share in shares)) for name, shares in rows.items())


def prompts() -> str:
    """Return the table of prompts, with the milliseconds that the limit allows in float32."""
    least = (row["share"][OURS] * row["ms"][OURS] / 100 for row in _prompts())
    row = _row("the limit in float32", *(f"{milliseconds:.3g}" for milliseconds in least))
    return f"{named(recorded.table(chosen['recorded'], 'forward'))}\n{row}"


def libraries() -> str:
    """Return the table of what libraries compute with: a row for all that do the same."""
    made = compared["tables"]["libraries"]
    alike: dict[tuple[str, ...], list[str]] = {}
    for name, *does in made["rows"]:
        alike.setdefault(tuple(does), []).append(name)
    rows = [made["head"], made["rule"], *(["; ".join(names), *does] for does, names in alike.items())]
    return "\n".join(_row(*row) for row in rows)


def leads() -> dict[str, float]:
    """Return in how many cases, a processor and a prompt each, ours is first in float32, and how far behind at most."""
    cases = [result["parts"]["generation"][work]["tokens/s"] for result in peers.values() for work in AFTER]
    ahead = [max(rates.get(way, 0) for way in IN_FLOAT32) / rates[OURS] for rates in cases]
    return {"first": ahead.count(1), "cases": len(cases), "percent": 100 * max(ahead) - 100}


def _prompts() -> list[dict[str, Any]]:
    rows = (row for row in chosen["parts"]["forward"].values() if row["batch"] == 1)
    return sorted(rows, key=itemgetter("length"))


def _rung(way: str, processor: str) -> str:
    return _times(ladder(processor)[LADDER[way]] / ladder(processor)[way])


def _times(ratio: float) -> str:
    return f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.1f}"


def _row(*texts: str) -> str:
    return f"| {' | '.join(texts)} |"
