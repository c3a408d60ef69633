"""What is recorded of SmolLM2."""

from play.book.chapters import SRC
from tools.book_maker.values import smollm2


def test_the_page_shows_the_first_block_of_the_file():
    assert f'"{smollm2.RECORDED["block"]}"' in (SRC / "step_26.md").read_text()
