"""The static verdict: what can be said of a learner's file without running it."""

from __future__ import annotations

import ast
from pathlib import Path

from checker.course.blanks import Unwritten, find_blanks, unwritten
from checker.course.steps import Step
from checker.session.printer import Printer


def readable_source(path: Path, printer: Printer) -> str | None:
    """The source of a file that is Python; otherwise say what is wrong with it."""
    try:
        source = path.read_text(encoding="utf-8")
        ast.parse(source, str(path))
        return source
    except FileNotFoundError:
        printer.line("The file is missing. `./run skeletons` writes it anew.")
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        printer.line(f"The file is not UTF-8 text: byte {error.start} is {byte:#04x}. Save it as UTF-8.")
    except SyntaxError as error:
        printer.row("no", "", "The file is Python.")
        printer.line()
        printer.line(f"Line {error.lineno}: {error.msg}." if error.lineno else f"{error.msg}.")
        _point_at(error, printer)
    except ValueError as error:  # a null byte
        printer.line(f"The file is not Python: {error}.")
    return None


def _point_at(error: SyntaxError, printer: Printer) -> None:
    if not error.text:
        return
    text = error.text.rstrip("\n")
    indent = len(text) - len(text.lstrip())
    printer.code(text.strip())
    printer.code(" " * max(0, (error.offset or 1) - 1 - indent) + "^")


def still_to_write(step: Step, source: str, printer: Printer) -> list[str] | None:
    """Say which blanks are still to write and return their labels; None when that is all of them."""
    solution = step.solution_file.read_text()
    blanks = find_blanks(solution)
    missing = unwritten(ast.parse(source), solution)
    for one in missing:
        printer.row("to write", one.blank.label, _what_to_do(one))
    if len(missing) < len(blanks):
        return [one.blank.label for one in missing]
    printer.line()
    count = f"{len(blanks)} blanks are" if len(blanks) > 1 else "One blank is"
    printer.line(f"{count} to write. Put code in the place of one `raise NotImplementedError`, and {printer.again}.")
    return None


def _what_to_do(one: Unwritten) -> str:
    if one.line is None:
        return f"there is no {one.blank.function} in the file any more; ./run skeletons shows what belongs there"
    if one.started:
        return f"line {one.line} still says raise NotImplementedError: delete that line"
    return f"line {one.line}: {one.blank.words}"
