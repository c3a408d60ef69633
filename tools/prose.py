"""Find phrases that are not plain American English, in pages, docstrings and messages.

The list is our own: each phrase was in this repository once, and stopped a reader. ``codespell`` finds typos; this
finds habits.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from checker.course.paths import ROOT, TESTS, relative_path
from tools.book_maker.chapters import prose

#: A phrase, as a regular expression, and what to write instead.
PHRASES = {
    r"\b[Ww]hoever\b": "say who: you, a reader, code that …",
    r"\b[Ww]hence\b|\b[Ww]hither\b": "where … from; where",
    r"\bbelongs? into\b": "belongs in",
    r"\bin small(?=[.,;:]|$)": "on a smaller scale",
    r"\b[Ww]hat comes of\b|\bsays what came of\b": "the result",
    r"\balso (when|where|if)\b": "even when, even where",
    r"\bnot-a-number\b|\bis not a number either\b": "NaN",
    r"\bequal blocks\b": "identical blocks",
    r"\bcolour|\bbehaviour|\bneighbour|\bnormalis|\bcentre\b|\blearnt\b": "American spelling",
    r"\bMoby-Dick\b": "Moby Dick",
    r"\d ?\N{NO-BREAK SPACE}%|\d %": "no space before %",
    r"\b(bits|bytes|numbers?|rows?|columns?|tokens|vectors?|arrays|parameters|weights|keys?|values?) an? "
    r"(token|channel|block|layer|head|row|column|byte|number|word|request|sequence|step)\b": "per, no distributive a",
    r"\bsaid in a sentence\b": "the error says why",
    r"\bhow well it would come\b": "how likely it is to come",
    r"\bnothing depends on it\b": "optional",
    r"\b(the|that) guide\b": "name it, on the page about errors elsewhere",
}
PAGES = ("book/src/*.md", "*.md", "models/*/*.md", ".github/**/*.md")
CODE = (
    "checker/**/*.py",
    "play/**/*.py",
    "tools/**/*.py",
    "solutions/*.py",
    f"{TESTS.name}/*.py",
    f"{TESTS.name}/attempts/*.py",
)
QUOTED = {"tools/prose.py", "book/src/errors_elsewhere.md"}  # they quote what not to write


@dataclass(frozen=True)
class Stray:
    """A phrase that was found: where, what, and what to write instead."""

    path: str
    line: int
    phrase: str
    instead: str

    def __str__(self) -> str:
        """Return it as a line that an editor can follow."""
        return f"{self.path}:{self.line}: {self.phrase!r}: {self.instead}"


def strays_in(lines: Iterator[tuple[int, str]], path: str) -> Iterator[Stray]:
    """Yield the phrases in some lines of a file."""
    for number, line in lines:
        for pattern, instead in PHRASES.items():
            for found in re.finditer(pattern, line):
                yield Stray(path, number, found[0], instead)


def sentences(source: str) -> Iterator[tuple[int, str]]:
    """Yield the docstrings, comments and messages of a module, line by line."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield from enumerate(node.value.splitlines(), start=node.lineno)
    for number, line in enumerate(source.splitlines(), start=1):
        comment = re.search(r"(?:^|\s)#:? (.*)", line)
        if comment:
            yield number, comment[1]


def without_code(line: str) -> str:
    """Return a line of Markdown without its code, formulas, directives and link targets."""
    return re.sub(r"`[^`]*`|\$[^$]*\$|\{\{.*?\}\}|\]\([^)]*\)|<[^>]*>", " ", line)


def strays() -> list[Stray]:
    """Return every phrase of the list that occurs in a page, a docstring, a comment or a message."""
    found: list[Stray] = []
    for pattern in (*PAGES, *CODE):
        for path in sorted(ROOT.glob(pattern)):
            name = relative_path(path)
            if name in QUOTED:
                continue
            text = path.read_text(encoding="utf-8")
            if path.suffix == ".py":
                found += strays_in(sentences(text), name)
            else:
                found += strays_in(((number, without_code(line)) for number, line in prose(name, text)), name)
    return found


def report() -> int:
    """Print what was found; return 1 if there is anything."""
    found = strays()
    for stray in found:
        print(stray)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(report())
