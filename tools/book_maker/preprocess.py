"""mdBook's preprocessor: a book as JSON comes in, the same book with its directives expanded goes out.

mdBook starts it through ``__main__.py`` beside this file. A fault in any chapter stops the build; all faults are
listed, each with its chapter, its line and what to do. ``./run book-check`` lists them without a build.
"""

import json
import sys
from pathlib import Path

from play.book.chapters import SRC, Fault
from tools.book_maker.around import foot_of, map_of
from tools.book_maker.directives import expand
from tools.book_maker.page_faults import page_faults
from tools.book_maker.words import count, report


def check(chapters: list[str]) -> int:
    """Print how long chapters are, and their faults; return the exit status, 1 if there are any."""
    faults: list[Fault] = []
    pages = {}
    for chapter in chapters:
        source = (SRC / chapter).read_text()
        try:
            pages[chapter.removesuffix(".md")] = count(chapter, source, expand(chapter, source, faults))
            faults += page_faults(chapter, source)
        except Fault as fault:  # one that stops the reading
            faults.append(fault)
    found = [*report(pages), *map(str, faults)]
    print("\n".join(found) or "no faults")
    return 1 if found else 0


def _expand(chapter: str, text: str, faults: list[Fault]) -> str:
    """Return a chapter expanded; all its faults are added to ``faults``, including one that stops the reading."""
    try:
        return expand(chapter, text, faults)
    except Fault as fault:
        faults.append(fault)
        return text


def main(arguments: list[str]) -> int:
    """Answer ``supports RENDERER``, or expand the book on standard input; return the exit status, 1 on any fault."""
    if arguments[:1] == ["supports"]:
        return 0 if arguments[1:] == ["html"] else 1
    _, book = json.load(sys.stdin)
    faults: list[Fault] = []
    shown = [item["Chapter"] for item in book["items"] if "Chapter" in item]  # the others are separators
    pages = [(Path(chapter["path"]).stem, chapter["name"]) for chapter in shown]
    for chapter, (page, _) in zip(shown, pages, strict=True):
        title, _, text = _expand(chapter["path"], chapter["content"], faults).partition("\n")
        chapter["content"] = "\n\n".join((title, map_of(page), text, foot_of(page, pages)))
    if faults:
        print("\n".join(map(str, faults)), file=sys.stderr)
        print(f"The book is not built: {len(faults)} faults in its chapters.", file=sys.stderr)
        return 1
    json.dump(book, sys.stdout)
    return 0
