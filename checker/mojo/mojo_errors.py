"""Shorten the errors of Mojo's compiler to the learner's line, with the line to write instead."""

from __future__ import annotations

import re
from collections.abc import Iterator

from checker.course.reading import Location, location_in
from checker.machine import INSTALL_CC
from checker.max_adapter.max_errors import shorten

ERROR = re.compile(r"^(?P<file>[^\s:][^:\n]*):(?P<line>\d+):\d+: error: (?P<message>.*)$", re.MULTILINE)


BY_ITS_NAME = "In Mojo it is imported by its own name."
ONE_NAME = "Mojo's functions take every type of number, under one name."
CONVERT = "A whole number does not become a Float32 by itself: convert it"
VAR = "A name is introduced by var."
LOWEST = "The lowest finite number does for minus infinity, and inf - inf, which is NaN, cannot come of it."
MINUS_INFINITY = (
    r"-\s*(?:Float32|float)\([\"'](?:inf|infinity)[\"']\)|(?:Float32|float)\([\"']-(?:inf|infinity)[\"']\)"
    r"|-\s*(?:math|np|numpy|torch)\.inf\b"
)

#: Habits from other languages: a regular expression for a line, the code that Mojo has for it, and why, in a sentence.
HABITS = (
    (MINUS_INFINITY, "Float32.MIN_FINITE", LOWEST),
    (r"\b(?:math|np|numpy|torch)\.(exp|sqrt|log)\b", r"\1", BY_ITS_NAME),
    (r"\b(?:np|numpy|torch)\.maximum\b|\b(?:np|numpy|torch)\.max\b", "max", "Mojo has it built in."),
    (r"\b_*(exp|sqrt|log)f\b", r"\1", ONE_NAME),
    (r"\bf(max|min)f?\b", r"\1", ONE_NAME),
    (r"\bfloat\(", "Float32(", "Mojo's name of it is Float32."),
    (r"\bsqrt\((len\(\w+\)|[a-z][\w.]*)\)", r"sqrt(Float32(\1))", f"{CONVERT}."),
    (r"([\w.\[\]]+) ?\*\* ?0\.5", r"sqrt(Float32(\1))", f"{CONVERT}, and take its root."),
    (r"^(\s*)(?:const )?(?:float|int|double|auto) (\w+ =)", r"\1var \2", VAR),
    (r"^(\s*)let (\w+)", r"\1var \2", VAR),
    (r"(\w+)\+\+;?$", r"\1 += 1", "There is no ++."),
    (r"(\w+)--;?$", r"\1 -= 1", "There is no --."),
    (r"sync_parallelize\[(\w+)\]\(", r"sync_parallelize(\1, ", "What is run is an argument, not a parameter."),
    (
        r"^(\s*)def (\w+)\((\w+): Int\):",
        r"\1def \2(\3: Int) {imm}:",
        "An inner function says in braces that it reads what is around it.",
    ),
    (r"^(\s*)@parameter\s*$", r"\1# no decorator", "An inner function needs no decorator: take the line away."),
)

#: Habits that count only if the compiler's message fits the regular expression that comes first.
HABITS_BY_MESSAGE = (
    (
        "must be mutable",
        r"^(\s*)([a-z]\w*) ([*/])= (\w+)$",
        r"\1for ref number in \2: number \3= \4",
        "Numbers that lie side by side are changed one by one.",
    ),
    ("implicit declaration", r"^(\s*)(\w+(?:: \w+)? =)", r"\1var \2", VAR),
)

#: Advice on a line without a habit: a regular expression for the compiler's message, and a sentence.
ADVICE = ((r"convert(ed from)? 'Int'", f"{CONVERT}, as in Float32(n)."),)

#: Remedies where the machine is at fault: a regular expression for the message, and what to do.
REMEDIES = (
    (r"No space left|quota exceeded", "Make room on the disk."),
    (r"temporary", "Set TMPDIR to a folder that you may write to."),
    (r"Permission denied|Read-only|Not a directory|File exists|not permitted", "That place must be yours to write to."),
    (r"dynamic library|linking|\bld\b", INSTALL_CC),
    (r"", "Run this again. If that does not help, undo your last change: the compiler may crash over it."),
)
CRASHPAD = re.compile(r"^Failed to initialize Crashpad.*\n", re.MULTILINE)  # which only reports crashes


def fault_of_the_machine(output: str) -> str:
    """Return why Mojo cannot compile anything here, and what to do; nothing if a text is wrong.

    Args:
        output: all that the compiler printed, or the system's own error.
    """
    if ERROR.search(output):
        return ""
    lines = CRASHPAD.sub("", output).strip().splitlines() or ["it ended without a word"]
    remedy = next(remedy for words, remedy in REMEDIES if re.search(words, output))
    reason = lines[0].rpartition(" error: ")[2].rstrip(".")
    return f"Mojo cannot compile here: {shorten(reason)}. {remedy}"


def explain_error(output: str, source: str, file: str) -> tuple[str, Location | None]:
    """Return a sentence on the first error in a file, and the place, with the line to write there if that is known.

    This is for an error in a text: :func:`fault_of_the_machine` has returned nothing.

    Args:
        output: all that the compiler printed.
        source: the text of the learner's file.
        file: the file's name, as the compiler has it.
    """
    errors = [*ERROR.finditer(output)]
    in_file = [error for error in errors if error["file"].rpartition("/")[2] == file]
    if not in_file:
        return f"Mojo: {shorten(errors[0]['message'].rstrip('.'))}. Do the functions still take what they took?", None
    error = in_file[0]
    lines, line, message = source.splitlines(), int(error["line"]), error["message"]
    sentence = f"Mojo: {shorten(message.rstrip('.'))}{'' if message.endswith('?') else '.'}"
    for number in _lines_to_look_at(line, lines):
        code = lines[number - 1].strip()
        instead, advice = _without_habits(code, message)
        if advice:
            return f"{sentence} {advice}", Location(number, code, instead=instead, instead_line=number)
    sentence = " ".join([sentence, *(advice for pattern, advice in ADVICE if re.search(pattern, message))])
    return sentence, location_in(lines, line)


def _without_habits(code: str, message: str) -> tuple[str, str]:
    """Return a line with Mojo's code in place of habits, and the advice on the first habit; nothing if it has none."""
    of_message = [(habit, instead, advice) for words, habit, instead, advice in HABITS_BY_MESSAGE if words in message]
    first_advice = ""
    for habit, instead, advice in (*of_message, *HABITS):
        new_code = re.sub(habit, instead, code)
        if new_code != code and not first_advice:
            first_advice = advice
        code = new_code
    return code, first_advice


def _lines_to_look_at(line: int, lines: list[str]) -> Iterator[int]:
    """Yield the numbers, from 1, of the lines in which a habit may be behind an error on line ``line``.

    They are that line; the line before, which the compiler may have read on; and, if the line hands over a task, the
    lines that define the function it names.
    """
    yield from (number for number in (line, line - 1) if 0 < number <= len(lines))
    here = lines[line - 1] if line <= len(lines) else ""
    if task := re.search(r"sync_parallelize\((\w+)", here):
        yield from (at for at, text in enumerate(lines, start=1) if re.match(rf"\s+def {task[1]}\(", text))
