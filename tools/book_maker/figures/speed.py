"""Figure of the page on speed: how fast the libraries write, slowest first."""

from statistics import median

from tools.book_maker.drawing.svg import Drawing
from tools.book_maker.values.book_values import compared, times_as_fast


def writing(draw: Drawing) -> None:
    """Tokens per second of each library as a multiple of Hugging Face's: 4 bits write fastest."""
    titles = [title for title, *_ in compared["tables"]["libraries"]["rows"] if "bfloat16" not in title]
    values = [(title, median(times_as_fast(title, "Hugging Face, eager"))) for title in titles]
    draw.bars(0, 0, 410, sorted(values, key=lambda value: value[1]), labels=190)
