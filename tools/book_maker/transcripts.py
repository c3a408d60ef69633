"""Run again what the book shows of terminals and of Python.

A ``console`` block has commands after ``$``, and below each what it printed. It is run in a copy of the course, in
which the learner's files are untouched unless a comment before the block, such as ``<!-- learner: 07 solved -->``, says
otherwise (see ``tools/course_copy.py``). All ``python`` blocks of a chapter are run in one module; what a block printed
is the ``text`` block after it. Times (``1.2 s``) are not compared, and a line ``...`` stands for lines left out.
"""

import json
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path

from play.reading.chapters import SRC, Fault, Fence, fences, python_fences
from tools.course_copy import Course, prepare

LEARNER = re.compile(r"<!--\s*learner:(?P<order>(?:(?!-->).)*)-->\s*\Z", re.DOTALL)
COMMAND = re.compile(r"(?:.*\\\n)*.*\n")  # goes on after a line that ends with a backslash
SECONDS = re.compile(r"\d+(?:\.\d+)?(?= s\b)")
LEFT_OUT = "..."
#: Lines that appear only on a machine that has not compiled this before.
COMPILING = re.compile(
    r"^  (MAX compiles what it has not run on this machine before.*|compiled .* in \d+ s|compiling .*)$"
)
TIMEOUT = 600  # seconds for a chapter's Python blocks, or for one command


@dataclass(frozen=True)
class Difference:
    """A block that shows something other than what is printed now. ``lines`` are what it has to contain."""

    chapter: str
    fence: Fence
    lines: tuple[str, ...]
    insert: bool = False  # a text block is missing after ``fence``, which printed ``lines``

    def __str__(self) -> str:
        """Return the difference as a diff, with its place."""
        shown = [] if self.insert else self.fence.lines
        diff = "\n".join(unified_diff(shown, self.lines, "in the book", "now", lineterm="", n=2))
        where = f"book/src/{self.chapter}:{self.fence.first}"
        return f"{where}: the block shows something other than what is printed now\n{diff}"


def agrees(shown: Sequence[str], now: Sequence[str]) -> bool:
    """Return whether a block shows what was printed: times aside, and any lines for a line ``...``."""
    pattern = "".join(
        r"(?:.*\n)*" if line.strip() == LEFT_OUT else re.escape(SECONDS.sub("#", line.rstrip())) + r"\n"
        for line in shown
    )
    return re.fullmatch(pattern, "".join(f"{SECONDS.sub('#', line.rstrip())}\n" for line in now)) is not None


def shortened(shown: Sequence[str], now: Sequence[str]) -> list[str]:
    """Return what was printed, shortened where the block was: with as many lines at the beginning and at the end."""
    gaps = [at for at, line in enumerate(shown) if line.strip() == LEFT_OUT]
    if len(gaps) != 1 or len(now) < len(shown):
        return list(now)
    last = len(shown) - gaps[0] - 1
    return [*now[: gaps[0]], LEFT_OUT, *now[len(now) - last :]]


def order_before(lines: Sequence[str], fence: Fence) -> str:
    """Return the instruction for the learner's files in the comment right before a block, or nothing."""
    match = LEARNER.search("\n".join(lines[: fence.first - 1]))
    return " ".join(match["order"].split()) if match else ""


def commands(chapter: str, fence: Fence) -> list[tuple[list[str], list[str]]]:
    """Return the commands of a console block, each as its lines and the lines shown below it.

    Raises:
        Fault: the block does not begin with a command.
    """
    before, *parts = re.split(r"^(?=\$ )", fence.text, flags=re.MULTILINE)
    if before or not parts:
        raise Fault(chapter, fence.first, "a console block begins with a command, `$ ./run s07`")
    matches = [COMMAND.match(part) for part in parts]
    return [(match[0].splitlines(), match.string[match.end() :].splitlines()) for match in matches if match]


def printed_by(course: Course, command: list[str]) -> list[str]:
    """Return what a terminal shows of a command in the copy, without lines that depend only on the machine."""
    printed = course.shell("\n".join(command)[2:], timeout=TIMEOUT).replace(str(course.root), "~/gpt2-in-max")
    lines = [line.rstrip() for line in printed.splitlines() if not COMPILING.match(line)]
    while lines and not lines[-1]:
        lines.pop()
    return lines


def console_difference(chapter: str, text: str, fence: Fence, course: Course) -> Difference | None:
    """Run a console block again; return the difference, if there is one."""
    order = order_before(text.splitlines(), fence) or "s01 untouched"
    try:
        prepare(course, order)
    except ValueError as error:
        comment = f"the comment `<!-- learner: {order} -->` cannot be followed"
        raise Fault(chapter, fence.first, f"{comment}: {error}") from None
    wanted, same = list[str](), True
    for command, shown in commands(chapter, fence):
        while shown and not shown[-1].strip():
            shown.pop()
        now = printed_by(course, command)
        fits = agrees(shown, now)
        same = same and fits
        wanted += [*command, *(shown if fits else shortened(shown, now))]
    return None if same else Difference(chapter, fence, tuple(wanted))


def python_differences(chapter: str, text: str, found: list[Fence], course: Course) -> list[Difference]:
    """Run a chapter's Python blocks again, in one module.

    Raises:
        Fault: a block fails, or the blocks end without an answer.
    """
    blocks = python_fences(chapter, text)
    if not blocks:
        return []
    course.reset()
    lines = [{"line": fence.first + 1, "source": fence.text} for fence in blocks]
    program, job = Path(__file__).with_name("blocks.py"), json.dumps({"path": str(SRC / chapter), "blocks": lines})
    run = course.python("-P", str(program), input=job, timeout=TIMEOUT)
    try:
        answers = json.loads(run.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        raise Fault(chapter, blocks[0].first, f"the Python blocks ended without an answer:\n{run.stderr}") from None
    differences = []
    for fence, answer in zip(blocks, answers, strict=False):
        if "error" in answer:
            raise Fault(chapter, fence.first, f"this Python block fails; correct it:\n{answer['error']}")
        now = [line.rstrip() for line in answer["printed"].replace(str(course.root), "~/gpt2-in-max").splitlines()]
        shown = output_of(text, found, fence)
        if not agrees(shown.lines if shown else [], now):
            wanted = shortened(shown.lines, now) if shown else now
            differences.append(Difference(chapter, shown or fence, tuple(wanted), insert=shown is None))
    return differences


def output_of(text: str, found: list[Fence], fence: Fence) -> Fence | None:
    """Return the text block right after a Python block, which shows what that printed, if there is one."""
    following = next((block for block in found if block.first > fence.last), None)
    if following is None or following.info != "text":
        return None
    return None if "".join(text.splitlines()[fence.last : following.first - 1]).strip() else following


def differences(chapter: str, course: Course) -> list[Difference]:
    """Return everything in a chapter that is no longer what is printed, from top to bottom.

    Raises:
        Fault: something cannot be run as it is.
    """
    text = (SRC / chapter).read_text()
    found = fences(chapter, text)
    different = python_differences(chapter, text, found, course)
    for fence in found:
        if fence.info == "console" and (difference := console_difference(chapter, text, fence, course)):
            different.append(difference)
    return sorted(different, key=lambda difference: difference.fence.first)


def rewritten(text: str, different: Sequence[Difference]) -> str:
    """Return the chapter with every block as it should be."""
    lines = text.splitlines()
    for difference in sorted(different, key=lambda difference: difference.fence.first, reverse=True):
        fence = difference.fence
        new = [f"{fence.indent}{line}".rstrip() for line in difference.lines]
        if difference.insert:
            lines[fence.last : fence.last] = ["", f"{fence.indent}```text", *new, f"{fence.indent}```"]
        else:
            lines[fence.first : fence.last - 1] = new
    return "\n".join(lines) + "\n"


def update(names: Sequence[str], *, rewrite: bool) -> int:
    """Run chapters again; rewrite them or print what differs. Return the exit status, 1 if anything is left to do."""
    status = 0
    with tempfile.TemporaryDirectory() as folder:
        course = Course(Path(folder) / "course")
        for chapter in names:
            path = SRC / chapter
            read = path.read_text()
            try:
                different = differences(chapter, course)
            except Fault as fault:
                print(fault)
                status = 1
                continue
            if not different:
                print(f"book/src/{chapter}: everything is as it is printed now")
            elif not rewrite:
                print(*different, f"If that is right: ./run book-update {chapter[:-3]}", sep="\n\n")
                status = 1
            elif path.read_text() != read:
                print(f"book/src/{chapter} was changed in the meantime and is left as it is; run this again")
                status = 1
            else:
                path.write_text(rewritten(read, different))
                print(f"book/src/{chapter}: {len(different)} blocks rewritten")
    return status
