"""Figure of the page on speed: how fast the libraries write, slowest first, and what memory allows."""

from tools.book_maker.drawing.svg import Drawing
from tools.book_maker.values.speed import AFTER, OURS, PLAIN, most_tokens, rate

OTHERS = ("Hugging Face, sdpa", "llama.cpp, F32", "OpenVINO", "ONNX Runtime", "OpenVINO, bfloat16", "llama.cpp, Q4_0")
#: What our rows are called here.
COURSE = {
    PLAIN: "this course, without kernels",
    OURS: "this course, with kernels",
    "this course, bfloat16": "this course, bfloat16",
    "this course, Q4_0": "this course, 4 bits",
}


def writing(draw: Drawing) -> None:
    """Tokens per second: in float32, no program passes what memory allows; with fewer bits, some do."""
    bars = [(name, rate(name, AFTER[0]), "query") for name in (*OTHERS, "CTranslate2")]
    bars += [(name, rate(way, AFTER[0]), "accent") for way, name in COURSE.items()]
    bars.append(("the limit in float32", most_tokens(), "key"))
    names, rates, kinds = zip(*sorted(bars, key=lambda bar: bar[1]), strict=True)
    draw.bars(0, 0, 410, list(zip(names, rates, strict=True)), spec=".0f", labels=200, kinds=kinds)
