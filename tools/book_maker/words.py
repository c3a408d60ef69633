"""How long the pages of the book are, in words: what a reader has in view, and what is folded.

A word is anything between spaces that has a letter or a digit. In a page's source, a directive is one word, and the
caption of a figure is prose. In a rendered page, a directive is what it becomes, but for drawings and the skeleton.
"""

import re
from collections.abc import Mapping
from dataclasses import astuple, dataclass

from play.book.chapters import fences

FOLD = re.compile(r"(</?details\b[^>]*>|<summary>.*?</summary>)", re.DOTALL)
DROPPED = re.compile(r"<!--.*?-->|<svg.*?</svg>|<section class=\"panel\".*?</section>", re.DOTALL)
NO_WORDS = re.compile(r"</?[a-z][^<>]*>|\]\([^)]*\)|^\s*```.*?$", re.MULTILINE)
DIRECTIVE = re.compile(r"\{\{(?:(?:figure|widget)[^:}]*:(?P<caption>.*?)|.*?)\}\}")


@dataclass(frozen=True)
class WordCount:
    """The words of a page, or how many it may have: two numbers of its source in view, two of it as rendered."""

    prose: int
    with_tables_and_code: int
    rendered: int
    folded: int

    def exceed(self, limit: "WordCount") -> bool:
        """Return whether there are more of any kind than a limit allows."""
        return any(now > most for now, most in zip(astuple(self), astuple(limit), strict=True))


LIMIT = WordCount(1_200, 2_000, 2_600, 1_500)
LIMITS = {
    **dict.fromkeys(("cheat_sheet", "glossary", "troubleshooting"), WordCount(2_000, 2_000, 2_600, 1_500)),
    "setup": WordCount(400, 2_000, 2_600, 1_500),
    "speed": WordCount(1_200, 2_000, 2_600, 1_800),
    "classroom": WordCount(600, 2_000, 2_600, 1_500),
}
#: All pages together: their source in view without and with tables and code, and what is rendered, folds included.
BOOK_PROSE, BOOK_SOURCE, BOOK_RENDERED = 46_200, 75_000, 140_000


def count(chapter: str, source: str, rendered: str) -> WordCount:
    """Return the words of a page, from its source and from what its directives make of it."""
    plain = DIRECTIVE.sub(lambda match: match["caption"] or "1", source)
    code = {number for fence in fences(chapter, plain) for number in range(fence.first, fence.last + 1)}
    lines = enumerate(plain.splitlines(), 1)
    prose = "\n".join("" if number in code or line.startswith("|") else line for number, line in lines)
    return WordCount(_count(prose)[0], _count(plain)[0], *_count(rendered))


def _count(text: str) -> tuple[int, int]:
    """Return how many words a text has in view, and how many in its folds, whose summaries are in view."""
    depth, words = 0, [0, 0]
    for part in FOLD.split(DROPPED.sub(" ", text)):
        depth += part.startswith("<details") - part.startswith("</details")
        folded = depth > part.startswith("<summary")
        words[folded] += sum(any(map(str.isalnum, word)) for word in NO_WORDS.sub(" ", part).split())
    return words[0], words[1]


def report(pages: Mapping[str, WordCount]) -> list[str]:
    """Print a table of pages and their sum; return which are too long."""
    total = WordCount(*map(sum, zip(*map(astuple, pages.values()), strict=True)))
    book = WordCount(BOOK_PROSE, BOOK_SOURCE, BOOK_RENDERED - total.folded, BOOK_RENDERED)
    faults = []
    print(f"{'words':<20} {'prose':>7} {'source':>7} {'rendered':>9} {'folded':>7}")
    for page, words in {**pages, "together": total}.items():
        over = words.exceed(book if page == "together" else LIMITS.get(page, LIMIT))
        prose, source, rendered, folded = astuple(words)
        mark = "  over" if over else ""
        print(f"{page:<20} {prose:>7,} {source:>7,} {rendered:>9,} {folded:>7,}{mark}")
        if over:
            faults.append(f"{page} has too many words: shorten it, fold what no reader needs at once, or drop it")
    return faults
