"""What Mojo's compiler says, cut to the learner's line, with the line to write instead."""

from __future__ import annotations

import re
from collections.abc import Iterator

from checker.course.languages import Location
from checker.max_adapter.messages import shortened

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

#: How a line is written by people who are used to another language, as a regular expression, what Mojo has for it, and
#: why, in a sentence.
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

#: The same of a line to which the compiler objects in certain words, a regular expression before the others.
HABITS_BY_MESSAGE = (
    (
        "must be mutable",
        r"^(\s*)([a-z]\w*) ([*/])= (\w+)$",
        r"\1for ref number in \2: number \3= \4",
        "Numbers that lie side by side are changed one by one.",
    ),
    ("implicit declaration", r"^(\s*)(\w+(?:: \w+)? =)", r"\1var \2", VAR),
)

#: What helps with a line that is none of these: what the compiler says of it, and a sentence.
ADVICE = ((r"convert(ed from)? 'Int'", f"{CONVERT}, as in Float32(n)."),)


def in_words(output: str, source: str, file: str) -> tuple[str, Location | None]:
    """Return a sentence about the first error in a file, and the place, with what to write there if that is known.

    Args:
        output: all that the compiler said.
        source: the text of the learner's file.
        file: its name, as the compiler has it.
    """
    errors = [*ERROR.finditer(output)]
    own = next((error for error in errors if error["file"].rpartition("/")[2] == file), None)
    if own is None:
        first = errors[0]["message"] if errors else " ".join(output.split()) or "it said nothing"
        return f"Mojo: {shortened(first.rstrip('.'))}. Do the functions still take what they took?", None
    lines, line = source.splitlines(), int(own["line"])
    sentence = f"Mojo: {shortened(own['message'].rstrip('.'))}{'' if own['message'].endswith('?') else '.'}"
    for number in _looked_at(line, lines):
        code = written = lines[number - 1].strip()
        said = ""
        of_message = [row for message, *row in HABITS_BY_MESSAGE if message in own["message"]]
        for habit, instead, advice in (*of_message, *HABITS):
            before, written = written, re.sub(habit, instead, written)
            if written != before:
                said = said or advice
        if said:
            return f"{sentence} {said}", Location(number, code, instead=written, instead_line=number)
    sentence = " ".join([sentence, *(advice for said, advice in ADVICE if re.search(said, own["message"]))])
    place = Location(line, lines[line - 1].strip()) if 0 < line <= len(lines) else None
    return sentence, place


def _looked_at(line: int, lines: list[str]) -> Iterator[int]:
    """Yield the lines, from 1, in which a habit may be behind an error.

    They are the error's own; the one before, whose end the compiler may have read as going on; and where a task is
    handed over, the function that it names.
    """
    yield from (number for number in (line, line - 1) if 0 < number <= len(lines))
    here = lines[line - 1] if line <= len(lines) else ""
    if task := re.search(r"sync_parallelize\((\w+)", here):
        yield from (at for at, text in enumerate(lines, start=1) if re.match(rf"\s+def {task[1]}\(", text))
