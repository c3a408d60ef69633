"""mdBook's preprocessor: a book as JSON comes in, the same book with its directives expanded goes out.

mdBook starts it in ``book/`` as ``python maker``, which is ``__main__.py`` beside this file. A fault in any
chapter stops the build; all faults are told, each with its chapter, its line and what to do. The same without a
build, for those who write: ``python -m tools.book_maker.preprocess step_07``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

from tools.book_maker.chapters import SRC, Fault, find_chapter
from tools.book_maker.directives import expand

Chapter = dict[str, Any]


def chapters_of(items: list[Any]) -> Iterator[Chapter]:
    """Every chapter among the items of a book, those within others too; separators and titles are none."""
    for item in items:
        if isinstance(item, dict) and "Chapter" in item:
            yield item["Chapter"]
            yield from chapters_of(item["Chapter"]["sub_items"])


def check(names: list[str]) -> int:
    """Tell the faults of the chapters that are named."""
    faults: list[Fault] = []
    for name in names:
        try:
            chapter = find_chapter(name)
            expand(chapter, (SRC / chapter).read_text(), faults)
        except (Fault, ValueError) as error:
            faults.append(error if isinstance(error, Fault) else Fault(name, 0, str(error)))
    print("\n".join(map(str, faults)) or "no faults")
    return 1 if faults else 0


def main(arguments: list[str]) -> int:
    """Answer ``supports RENDERER``, check named chapters, or expand the book on standard input.

    Exit status 1 on any fault.
    """
    if arguments[:1] == ["supports"]:
        return 0 if arguments[1:] == ["html"] else 1
    if arguments:
        return check(arguments)
    _, book = json.load(sys.stdin)
    faults: list[Fault] = []
    for chapter in chapters_of(book["items"]):
        if chapter["path"] is None:
            continue  # a chapter that is announced but not written
        try:
            chapter["content"] = expand(chapter["path"], chapter["content"], faults)
        except Fault as fault:
            faults.append(fault)
    if faults:
        print("\n".join(map(str, faults)), file=sys.stderr)
        print(f"The book is not built: {len(faults)} faults in its chapters.", file=sys.stderr)
        return 1
    json.dump(book, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
