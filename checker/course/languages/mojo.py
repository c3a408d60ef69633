"""Read a file in Mojo, by lines, indentation and brackets.

Whether a text is Mojo, only its compiler can say (``checker.mojo``).
"""

from __future__ import annotations

import re

from checker.course.languages.language import TEXT, Function, Language
from checker.course.reading import Unreadable
from checker.course.source import Source

TOKEN = re.compile(r'"""(?:.|\n)*?"""|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|\w+|[^\w\s]')
HEAD = re.compile(r"(?P<indent> *)(?P<kind>def|fn|struct|trait) (?P<name>\w+)")
CRASH = re.compile(r"At: .*:(?P<line>\d+):\d+: Assert Error: (?P<said>.*)")
DOCSTRING = re.compile(r'\s*"""((?:.|\n)*?)"""')


class Mojo(Language):
    """Reads Mojo."""

    name = "Mojo"
    is_run = False
    suffix = ".mojo"
    stop_statement = 'std.os.abort("not written yet")'  # by its whole name, it needs no import
    claim_that_it_loads = "The file compiles."
    look_for_loop = (
        "Look for a loop that never ends: a `while` whose condition stays true, a block that does not advance."
    )
    look_for_wait = "Look for input(), sleep, or a lock."
    look_for_exit = "Look for an exit."
    look_for_crash = "Look for an index outside of its array: a pointer does not know where its numbers end."
    look_for_abort = look_for_crash

    def refuse(self, source: Source, path: str) -> None:
        """Raise Unreadable if the text cannot be a source file."""
        if "\0" in source.text:
            raise Unreadable("The file is not Mojo: it contains null bytes.", "not Mojo")

    def functions(self, source: Source) -> dict[str, Function]:
        """Return every function by qualified name, in the order of the file."""
        code = without_comments_and_strings(source.text).split("\n")
        functions: dict[str, Function] = {}
        around: list[tuple[int, int, str]] = []  # functions and structs: indentation, last line, qualified name
        for number, line in enumerate(code, start=1):
            match = HEAD.match(line)
            if not match:
                continue
            indent, first = len(match["indent"]), number
            while first > 1 and code[first - 2].startswith(f"{match['indent']}@"):
                first -= 1
            head = _end_of_head(code, number)
            is_one_line = not code[head - 1].rstrip().endswith(":")
            last = head if is_one_line else _end_of_block(code, head, indent)
            owner = next((name for outer, end, name in reversed(around) if outer < indent and end >= number), "")
            name = f"{owner}.{match['name']}" if owner else match["name"]
            around.append((indent, last, name))
            if match["kind"] in ("def", "fn"):
                if is_one_line:
                    size, stop_line = _size_and_stop_line([code[head - 1].rpartition(":")[2].strip()], head)
                else:
                    size, stop_line = _size_and_stop_line(code[head:last], head + 1)
                meaning = self.meaning(Source("\n".join(source.lines[first - 1 : last])))
                functions[name] = Function(
                    first=first, def_line=number, last=last, size=size, stop_line=stop_line, meaning=meaning
                )
        return functions

    def docstring(self, source: Source) -> str:
        """Return the text in triple quotes that the file begins with, or nothing."""
        match = DOCSTRING.match(source.text)
        return match[1].strip() if match else ""

    def read_crash(self, line: str) -> tuple[int, str] | None:
        """Return the line and the reason of a failed assertion, such as a bound, if a printed line tells of one."""
        match = CRASH.match(line)
        return (int(match["line"]), match["said"].rstrip(".")) if match else None

    def meaning(self, source: Source) -> str:
        """Return the tokens and the indentation of every line, without comments and empty lines."""
        code = TEXT.sub(lambda text: "" if text[0].startswith("#") else text[0], source.text)
        lines = [(_indent(line), TOKEN.findall(line)) for line in code.split("\n")]
        return "\n".join(f"{indent} {' '.join(tokens)}" for indent, tokens in lines if tokens)


def _end_of_head(code: list[str], number: int) -> int:
    """Return the last line of the head that begins on line ``number``: all brackets are closed there."""
    still_open = 0
    for at, line in enumerate(code[number - 1 :], number):
        still_open += sum(map(line.count, "([{")) - sum(map(line.count, ")]}"))
        if still_open <= 0:
            return at
    return len(code)


def _end_of_block(code: list[str], head: int, indent: int) -> int:
    """Return the last line, counted from 1, of the block behind line ``head``, whose lines are indented further."""
    last = head
    for number, line in enumerate(code[head:], head + 1):
        if not line.strip():
            continue
        if _indent(line) <= indent:
            break
        last = number
    return last


def _size_and_stop_line(body: list[str], first: int) -> tuple[int, int | None]:
    """Return how many lines of code a function has, and the line of its stop statement, if it has one."""
    code = [(number, line) for number, line in enumerate(body, first) if line.strip(' "')]
    indent = min((_indent(line) for _, line in code), default=0)
    returns = next((number for number, line in code if re.match(r" *return\b", line)), first + len(body))
    stops = (number for number, line in code if _indent(line) == indent and re.match(r"\s*(std\.os\.)?abort\(", line))
    size = sum(not re.match(r" *print\(", line) for _, line in code)
    return size, next((number for number in stops if number < returns), None)


def without_comments_and_strings(source: str) -> str:
    """Return a source with spaces in place of comments and string literals; all lines stay."""
    return TEXT.sub(lambda text: re.sub(r"[^\n\"]", " ", text[0]), source)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


MOJO = Mojo()
