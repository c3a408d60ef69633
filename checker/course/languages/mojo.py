"""Mojo, in which step 21 is written. Nothing here knows its grammar: lines, indentation and brackets are enough.

What is no Mojo only its compiler can say (``checker.mojo``).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import takewhile

from checker.course.languages import Function, Unreadable

TEXT = re.compile(r'"""(?:.|\n)*?"""|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|#[^\n]*')
TOKEN = re.compile(r'"""(?:.|\n)*?"""|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|\w+|[^\w\s]')
HEAD = re.compile(r"(?P<indent> *)(?P<kind>def|fn|struct|trait) (?P<name>\w+)")
CRASH = re.compile(r"At: .*:(?P<line>\d+):\d+: Assert Error: (?P<said>.*)")
DOCSTRING = re.compile(r'\s*"""((?:.|\n)*?)"""')


@dataclass(frozen=True)
class _Block:
    """A function or struct: its qualified name, the lines of its head, and its last line, from 1."""

    name: str
    kind: str
    indent: int
    first: int  # its first decorator, if it has any
    head: int
    body: int  # the first line after the colon that ends its head
    last: int


class Mojo:
    """Reads Mojo."""

    name = "Mojo"
    suffix = ".mojo"
    stop = 'abort("not written yet")'
    loads = "The file compiles."
    look_for = (
        "Look for a loop that never ends: a `while` whose condition stays true, a block that does not advance.",
        "Look for an index outside of its array: a pointer does not know where its numbers end.",
    )

    def refuse(self, source: str, path: str) -> None:
        """Raise Unreadable if the text cannot be a source file at all."""
        if "\0" in source:
            raise Unreadable("The file is not Mojo: it contains null bytes.", "not Mojo")

    def functions(self, source: str) -> dict[str, Function]:
        """Return every function by qualified name, in the order of the file."""
        lines = source.splitlines()
        return {
            block.name: Function(
                block.first, block.head, block.last, self.meaning("\n".join(lines[block.first - 1 : block.last]))
            )
            for block in _blocks(source)
            if block.kind in ("def", "fn")
        }

    def stops(self, source: str, name: str) -> tuple[int, int] | None:
        """Return where a function aborts among its own statements, and how many lines of code it has."""
        (block,) = [block for block in _blocks(source) if block.name == name]
        lines = _without_text(source).splitlines()[block.body - 1 : block.last]
        code = [(number, line) for number, line in enumerate(lines, block.body) if line.strip(' "')]
        indent = min((_indent(line) for _, line in code), default=0)
        own = [(number, line.strip()) for number, line in code if _indent(line) == indent]
        reached = [*takewhile(lambda numbered: not re.match(r"return\b", numbered[1]), own)]
        stop = next((number for number, line in reached if line.startswith("abort(")), None)
        return (stop, len(code)) if stop else None

    def docstring(self, source: str) -> str:
        """Return the text that the file begins with."""
        match = DOCSTRING.match(source)
        return match[1].strip() if match else ""

    def crash(self, printed: str) -> tuple[int, str] | None:
        """Return the line and the reason of a failed assertion: an index or a slice that is out of bounds, say."""
        match = CRASH.match(printed)
        return (int(match["line"]), match["said"].rstrip(".")) if match else None

    def meaning(self, source: str) -> str:
        """Return the tokens of every line with their indentation, without comments and empty lines."""
        code = TEXT.sub(lambda text: "" if text[0].startswith("#") else text[0], source)
        lines = [(_indent(line), TOKEN.findall(line)) for line in code.splitlines()]
        return "\n".join(f"{indent} {' '.join(tokens)}" for indent, tokens in lines if tokens)


def _blocks(source: str) -> list[_Block]:
    """Return the functions and structs of a file, in order."""
    lines = _without_text(source).splitlines()
    blocks: list[_Block] = []
    for number, line in enumerate(lines, start=1):
        match = HEAD.match(line)
        if not match:
            continue
        indent, first = len(match["indent"]), number
        while first > 1 and lines[first - 2].startswith(f"{match['indent']}@"):
            first -= 1
        head = next((at for at in range(number, len(lines)) if lines[at - 1].rstrip().endswith(":")), len(lines))
        within = [*takewhile(lambda line: not line.strip() or _indent(line) > indent, lines[head:])]  # noqa: B023
        last = max((at for at, line in enumerate(within, head + 1) if line.strip()), default=head)
        around = [block for block in blocks if block.indent < indent and block.last >= number]
        name = f"{around[-1].name}.{match['name']}" if around else match["name"]
        blocks.append(_Block(name, match["kind"], indent, first, number, head + 1, last))
    return blocks


def _without_text(source: str) -> str:
    """Return a source in which comments and texts are spaces, on the same lines."""
    return TEXT.sub(lambda text: re.sub(r"[^\n\"]", " ", text[0]), source)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


MOJO = Mojo()
