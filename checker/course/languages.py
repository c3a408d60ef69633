"""The languages that the file of a step can be written in, as far as a file is read without running it.

In comes the text of a file; out go its functions and their lines, what it means, and why it cannot be read. Of Mojo,
lines, indentation and brackets are enough; what is no Mojo only its compiler can say (``checker.mojo``).
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from checker.course.reading import Location, Unreadable
from checker.course.source import FunctionNode, Source


@dataclass(frozen=True)
class Function:
    """A function of a file: its lines, counted from 1, from its first decorator on.

    Attributes:
        first: the line that it begins with.
        defined: the line of its ``def``.
        last: the line that it ends with.
        size: how much code it has; this only tells whether it is more than a skeleton has.
        stop: the line of the statement that marks a blank, if it can be reached.
        means: equal for two functions that differ in comments and layout alone.
    """

    first: int
    defined: int
    last: int
    size: int
    stop: int | None
    means: str


# ---------------------------------------------------------------- Python


def _of_this_function(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and all below it, but for what is inside of an inner function."""
    yield node
    if not isinstance(node, FunctionNode | ast.Lambda):
        for child in ast.iter_child_nodes(node):
            yield from _of_this_function(child)


#: What an older Python cannot read, as a pattern in the line, and the Python that can.
NEWER = (
    (r"^\s*type \w+ *[=\[]|^\s*(?:def|class) \w+\[", (3, 12)),
    (r"(?<!['\"\w])f(['\"]).*\{[^}]*\1", (3, 12)),
    (r"^\s*except \w[\w.]*,", (3, 14)),
    (r"(?<!['\"\w])t['\"]", (3, 14)),
)


#: What a blank raises when it is called. A blank that raised nothing could not be told from a wrong answer.
NotWritten = NotImplementedError


class Python:
    """Reads Python.

    Attributes:
        name: as it is written.
        is_run: whether its file has to run to say which names it has.
        suffix: of its files.
        stop: the statement that marks a blank.
        loads: the claim that the file can be loaded, which a verdict refutes where it cannot.
        look_for_loop, look_for_wait: what to look for in a file that never ends, and computes or only waits.
        look_for_exit, look_for_abort, look_for_crash: what to look for in a file whose process has exited, or was ended
            by SIGABRT or another signal.
    """

    name = "Python"
    is_run = True
    suffix = ".py"
    stop = f"raise {NotWritten.__name__}"
    loads = "The file can be imported."
    look_for_loop = "Look for a loop that never ends."
    look_for_wait = "Look for sleep, a lock, or another call that waits."  # input() is refused: nobody could answer
    look_for_exit = "Look for os._exit, or an exit in C code."
    look_for_abort = "Look for os.abort, or an index outside of its table, at which MAX may crash."
    look_for_crash = "Look for ctypes, or an index outside of its table, at which MAX may crash."

    def refuse(self, source: Source, path: str) -> None:
        """Raise Unreadable if the text is not Python."""
        try:
            source.compiled(path)
            self.meaning(source)  # which nests deeper than what is compiled
        except SyntaxError as error:
            where = f"Line {error.lineno}: {error.msg}." if error.lineno else f"{error.msg}."
            words = f"{where} {_newer_than_this(error.text or '')}".strip()
            raise Unreadable(words, "not Python", location=_location_of(error), refuted="The file is Python.") from None
        except ValueError as error:  # a null byte
            raise Unreadable(f"The file is not Python: {error}.", "not Python") from None
        except (RecursionError, MemoryError):
            raise Unreadable(
                "The file nests too deeply for Python to read. Break it into shorter expressions.", "not Python"
            ) from None

    def functions(self, source: Source) -> dict[str, Function]:
        """Return every function by qualified name, outermost first; one stops at the skeleton's own statement."""
        functions, stop = {}, ast.dump(ast.parse(self.stop).body[0])
        for name, node in source.function_nodes.items():
            functions[name] = Function(
                first=min(part.lineno for part in (node, *node.decorator_list)),
                defined=node.lineno,
                last=node.end_lineno or node.lineno,
                size=len(node.body),
                stop=_stop_of(node, stop),
                means=ast.dump(node),
            )
        return functions

    def docstring(self, source: Source) -> str:
        """Return what the file says of itself."""
        return ast.get_docstring(source.tree) or ""

    def crash(self, line: str) -> tuple[int, str] | None:
        """Return the line and the reason, if a printed line tells why the process is about to end: in Python, none."""
        return None

    def meaning(self, source: Source) -> str:
        """Return a text that is equal for two files that differ in comments and layout alone: the syntax tree."""
        return ast.dump(source.tree)


def _stop_of(node: FunctionNode, stop: str) -> int | None:
    """Return the line of the skeleton's statement, unless something before it returns: then it guards the end."""
    for statement in node.body:
        if ast.dump(statement) == stop:
            return statement.lineno
        if any(isinstance(part, ast.Return) for part in _of_this_function(statement)):
            return None
    return None


def _newer_than_this(code: str) -> str:
    """Return that a line is written for a newer Python than the one that runs, if it seems to be; else nothing."""
    needed = max((version for pattern, version in NEWER if re.search(pattern, code)), default=(3, 0))
    if needed <= sys.version_info[:2]:
        return ""
    here, there = (".".join(map(str, version)) for version in (sys.version_info[:2], needed))
    return f"Python {here} runs here, and this is syntax of Python {there}."


def _location_of(error: SyntaxError) -> Location | None:
    if not error.lineno:
        return None
    text = error.text or ""
    column = max(0, (error.offset or 1) - 1 - _indent(text)) if text else None
    return Location(error.lineno, text.strip(), column)


# ---------------------------------------------------------------- Mojo

TEXT = re.compile(r'"""(?:.|\n)*?"""|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|#[^\n]*')
TOKEN = re.compile(r'"""(?:.|\n)*?"""|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|\w+|[^\w\s]')
HEAD = re.compile(r"(?P<indent> *)(?P<kind>def|fn|struct|trait) (?P<name>\w+)")
CRASH = re.compile(r"At: .*:(?P<line>\d+):\d+: Assert Error: (?P<said>.*)")
DOCSTRING = re.compile(r'\s*"""((?:.|\n)*?)"""')


class Mojo:
    """Reads Mojo; ``Python`` beside it says what each attribute and method means."""

    name = "Mojo"
    is_run = False
    suffix = ".mojo"
    stop = 'std.os.abort("not written yet")'  # by its whole name, it needs no import
    loads = "The file compiles."
    look_for_loop = (
        "Look for a loop that never ends: a `while` whose condition stays true, a block that does not advance."
    )
    look_for_wait = "Look for input(), sleep, or a lock."
    look_for_exit = "Look for an exit."
    look_for_crash = "Look for an index outside of its array: a pointer does not know where its numbers end."
    look_for_abort = look_for_crash

    def refuse(self, source: Source, path: str) -> None:
        """Raise Unreadable if the text cannot be a source file at all."""
        if "\0" in source.text:
            raise Unreadable("The file is not Mojo: it contains null bytes.", "not Mojo")

    def functions(self, source: Source) -> dict[str, Function]:
        """Return every function by qualified name, in the order of the file; one stops if it aborts."""
        code = _without_text(source.text).split("\n")
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
                    size, stop = _size_and_stop([code[head - 1].rpartition(":")[2].strip()], head)
                else:
                    size, stop = _size_and_stop(code[head:last], head + 1)
                means = self.meaning(Source("\n".join(source.lines[first - 1 : last])))
                functions[name] = Function(first=first, defined=number, last=last, size=size, stop=stop, means=means)
        return functions

    def docstring(self, source: Source) -> str:
        """Return the text that the file begins with."""
        match = DOCSTRING.match(source.text)
        return match[1].strip() if match else ""

    def crash(self, line: str) -> tuple[int, str] | None:
        """Return the line and the reason of a failed assertion: an index or a slice that is out of bounds, say."""
        match = CRASH.match(line)
        return (int(match["line"]), match["said"].rstrip(".")) if match else None

    def meaning(self, source: Source) -> str:
        """Return the tokens of every line with their indentation, without comments and empty lines."""
        code = TEXT.sub(lambda text: "" if text[0].startswith("#") else text[0], source.text)
        lines = [(_indent(line), TOKEN.findall(line)) for line in code.split("\n")]
        return "\n".join(f"{indent} {' '.join(tokens)}" for indent, tokens in lines if tokens)


def _end_of_head(code: list[str], number: int) -> int:
    """Return the number of the line on which the head ends that begins on line ``number``: all brackets are closed."""
    still_open = 0
    for at, line in enumerate(code[number - 1 :], number):
        still_open += sum(map(line.count, "([{")) - sum(map(line.count, ")]}"))
        if still_open <= 0:
            return at
    return len(code)


def _end_of_block(code: list[str], head: int, indent: int) -> int:
    """Return the number, from 1, of the last line of the block that follows line ``head``: it is indented further."""
    last = head
    for number, line in enumerate(code[head:], head + 1):
        if not line.strip():
            continue
        if _indent(line) <= indent:
            break
        last = number
    return last


def _size_and_stop(body: list[str], first: int) -> tuple[int, int | None]:
    """Return how many lines of code a function has, and the line at which it aborts among its own statements."""
    code = [(number, line) for number, line in enumerate(body, first) if line.strip(' "')]
    indent = min((_indent(line) for _, line in code), default=0)
    returns = next((number for number, line in code if re.match(r" *return\b", line)), first + len(body))
    stops = (number for number, line in code if _indent(line) == indent and re.match(r"\s*(std\.os\.)?abort\(", line))
    return len(code), next((number for number in stops if number < returns), None)


def _without_text(source: str) -> str:
    """Return a source in which comments and texts are spaces, on the same lines."""
    return TEXT.sub(lambda text: re.sub(r"[^\n\"]", " ", text[0]), source)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


Language = Python | Mojo
PYTHON, MOJO = Python(), Mojo()
