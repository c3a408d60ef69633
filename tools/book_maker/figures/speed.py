"""Figure of the page on speed: how fast the libraries write, in one row each."""

from statistics import median

from tools.benchmarks.peers.catalog import REFERENCE, WAYS
from tools.book_maker.drawing.svg import Drawing
from tools.book_maker.values.book_values import times_as_fast


def writing(draw: Drawing) -> None:
    """Tokens per second of each library as a multiple of Hugging Face's: 4 bits write fastest."""
    titles = [way.title for way in WAYS if "bfloat16" not in way.title]
    values = [(title, median(times_as_fast(title, REFERENCE.title))) for title in titles]
    draw.bars(0, 0, 410, values, labels=190)
