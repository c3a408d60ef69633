"""Mojo, in which step 21 is written. Nothing here knows its grammar: lines, indentation and brackets are enough.

What is no Mojo only its compiler can say (``checker.mojo``).
"""

from __future__ import annotations

import re
from itertools import takewhile

from checker.course.languages import Function, Unreadable

TEXT = re.compile(r'"""(?:.|\n)*?"""|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|#[^\n]*')
TOKEN = re.compile(r'"""(?:.|\n)*?"""|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|\w+|[^\w\s]')
HEAD = re.compile(r"(?P<indent> *)(?P<kind>def|fn|struct|trait) (?P<name>\w+)")
CRASH = re.compile(r"At: .*:(?P<line>\d+):\d+: Assert Error: (?P<said>.*)")
DOCSTRING = re.compile(r'\s*"""((?:.|\n)*?)"""')


class Mojo:
    """Reads Mojo; ``Python`` beside it says what each attribute and method means."""

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
        """Return every function by qualified name, in the order of the file; one stops if it aborts."""
        lines, code = source.splitlines(), _without_text(source).splitlines()
        read: dict[str, Function] = {}
        around: list[tuple[int, int, str]] = []  # functions and structs: indentation, last line, qualified name
        for number, line in enumerate(code, start=1):
            match = HEAD.match(line)
            if not match:
                continue
            indent, first = len(match["indent"]), number
            while first > 1 and code[first - 2].startswith(f"{match['indent']}@"):
                first -= 1
            head = next((at for at in range(number, len(code)) if code[at - 1].rstrip().endswith(":")), len(code))
            within = [*takewhile(lambda line: not line.strip() or _indent(line) > indent, code[head:])]  # noqa: B023
            last = max((at for at, text in enumerate(within, head + 1) if text.strip()), default=head)
            owner = next((name for outer, end, name in reversed(around) if outer < indent and end >= number), "")
            name = f"{owner}.{match['name']}" if owner else match["name"]
            around.append((indent, last, name))
            if match["kind"] in ("def", "fn"):
                means = self.meaning("\n".join(lines[first - 1 : last]))
                read[name] = Function(first, number, last, *_written(code[head:last], head + 1), means)
        return read

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


def _written(body: list[str], first: int) -> tuple[int, int | None]:
    """Return how many lines of code a function has, and the line at which it aborts among its own statements."""
    code = [(number, line) for number, line in enumerate(body, first) if line.strip(' "')]
    indent = min((_indent(line) for _, line in code), default=0)
    own = [(number, line.strip()) for number, line in code if _indent(line) == indent]
    reached = takewhile(lambda numbered: not re.match(r"return\b", numbered[1]), own)
    return len(code), next((number for number, line in reached if line.startswith("abort(")), None)


def _without_text(source: str) -> str:
    """Return a source in which comments and texts are spaces, on the same lines."""
    return TEXT.sub(lambda text: re.sub(r"[^\n\"]", " ", text[0]), source)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


MOJO = Mojo()
