"""Run again what the book shows of terminals and of Python.

A ``console`` block has commands after ``$``, and below each what it printed. It is run in a copy of the course, in
which the learner's files are untouched unless a comment before the block, such as ``<!-- learner: 07 solved -->``, says
otherwise (see ``tools/course_copy.py``). All ``python`` blocks of a chapter are run in one module, and each ``mojo``
block is a program; what a block printed is the ``text`` block after it. Times (``1.2 s``) are not compared, and a line
``...`` stands for lines left out.
"""

import re
import tempfile
from collections.abc import Sequence
from difflib import unified_diff
from pathlib import Path

from mojo.run import subprocess_run_mojo

from play.book.chapters import SRC, Fault, Fence, fences, need_max, python_fences
from tools.course_copy import Course, python, set_up_files

LEARNER = re.compile(r"<!--\s*learner:(?P<order>(?:(?!-->).)*)-->\s*\Z", re.DOTALL)
COMMAND = re.compile(r"(?:.*\\\n)*.*\n")  # goes on after a line that ends with a backslash
SECONDS = re.compile(r"\d+(?:\.\d+)?(?= s\b)")
LEFT_OUT = "..."
#: Lines that appear only on a machine that has not compiled this before.
COMPILING = re.compile(r"^  (MAX compiles what it has not run on this machine before.*|compiling .*)$")
END = "\N{SYMBOL FOR END OF TRANSMISSION BLOCK}"  # printed after each Python block
#: Without it, an operation that runs at once takes seconds.
HOOKED = "from checker.max_adapter.hooks import install_hooks; install_hooks()"
TIMEOUT = 600  # seconds for a chapter's Python blocks, or for one command


def agrees(shown: Sequence[str], now: Sequence[str]) -> bool:
    """Return whether a block shows what was printed: times aside, and any lines for a line ``...``."""
    pattern = "".join(
        r"(?:.*\n)*" if line.strip() == LEFT_OUT else re.escape(SECONDS.sub("#", line.rstrip())) + r"\n"
        for line in shown
    )
    return re.fullmatch(pattern, "".join(f"{SECONDS.sub('#', line.rstrip())}\n" for line in now)) is not None


def updated(shown: Sequence[str], now: Sequence[str]) -> list[str]:
    """Return what a block should show: what it does if that agrees; if lines were left out, again as many stay."""
    last_line = max((at for at, line in enumerate(shown, 1) if line.strip()), default=0)
    if agrees(shown[:last_line], now):
        return list(shown)
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


def console_lines(chapter: str, text: str, fence: Fence, course: Course) -> list[str]:
    """Run a console block again; return the lines that it should have."""
    order = order_before(text.splitlines(), fence) or "s01 untouched"
    try:
        set_up_files(course, order)
    except ValueError as error:
        comment = f"the comment `<!-- learner: {order} -->` cannot be followed"
        raise Fault(chapter, fence.first, f"{comment}: {error}") from None
    lines = list[str]()
    for command, shown in commands(chapter, fence):
        lines += [*command, *updated(shown, printed_by(course, command))]
    return lines


def python_output(chapter: str, text: str, course: Course) -> dict[Fence, list[str]]:
    """Run a chapter's Python blocks again, in one module; return what each printed.

    Raises:
        Fault: a block fails, or ends the program.
    """
    blocks = python_fences(chapter, text)
    if not blocks:
        return {}
    course.reset()
    program = [""] * blocks[-1].last  # a line number in it is the chapter's own
    if need_max(blocks):
        program[0] = HOOKED
    for fence in blocks:
        program[fence.first : fence.last - 1] = fence.lines
        program[fence.last - 1] = f"print({END!r}, flush=True)"
    (course.root / chapter).write_text("\n".join(program))
    run = python(course.root, chapter, timeout=TIMEOUT)
    *printed, _ = run.stdout.replace(str(course.root), "~/gpt2-in-max").split(f"{END}\n")
    if len(printed) < len(blocks):
        raise Fault(chapter, blocks[len(printed)].first, f"this Python block fails; correct it:\n{run.stderr}")
    return {fence: lines.splitlines() for fence, lines in zip(blocks, printed, strict=True)}


def mojo_output(chapter: str, fence: Fence, course: Course) -> list[str]:
    """Run a block as a program in Mojo; return what it printed.

    Raises:
        Fault: it does not compile without a warning, or fails.
    """
    program = course.root / "program.mojo"
    program.write_text(fence.text)
    run = subprocess_run_mojo(["run", "--Werror", str(program)], capture_output=True, text=True)
    if run.returncode:
        raise Fault(chapter, fence.first, f"this program in Mojo fails; correct it:\n{run.stderr}")
    return run.stdout.splitlines()


def output_after(fence: Fence, text: str, blocks: Sequence[Fence]) -> Fence | None:
    """Return the text block right after a block, or its fold, which shows what that printed, if there is one."""
    following = next((block for block in blocks if block.first > fence.last), None)
    if following is None or following.info != "text":
        return None
    between = "".join(text.splitlines()[fence.last : following.first - 1]).strip()
    return None if between.removeprefix("</details>") else following


def renewed(chapter: str, text: str, course: Course) -> str:
    """Run again what a chapter shows; return the chapter with every block as it should be.

    Raises:
        Fault: something cannot be run as it is.
    """
    lines, blocks = text.splitlines(), fences(chapter, text)
    printed = python_output(chapter, text, course)
    printed |= {fence: mojo_output(chapter, fence, course) for fence in blocks if fence.info == "mojo"}
    for fence in reversed(blocks):  # from below, so that the lines above keep their numbers
        if fence.info == "console":
            lines[fence.first : fence.last - 1] = indented(console_lines(chapter, text, fence, course), fence)
        elif fence not in printed:
            continue
        elif shown := output_after(fence, text, blocks):
            lines[shown.first : shown.last - 1] = indented(updated(shown.lines, printed[fence]), shown)
        elif printed[fence]:
            lines[fence.last : fence.last] = ["", *indented(["```text", *printed[fence], "```"], fence)]
    return "\n".join(lines) + "\n"


def indented(lines: Sequence[str], fence: Fence) -> list[str]:
    """Return lines as they stand in a block, without blanks at their ends."""
    return [f"{fence.indent}{line}".rstrip() for line in lines]


def changes(chapter: str, text: str, now: str) -> str:
    """Return what differs in a chapter, and the command that accepts it."""
    diff = unified_diff(text.splitlines(True), now.splitlines(True), f"book/src/{chapter}", "what is printed now", n=2)
    return f"{''.join(diff)}\nIf that is right: ./run book-update {chapter.removesuffix('.md')}"


def update(names: Sequence[str]) -> int:
    """Run chapters again and rewrite them. Return the exit status, 1 if anything is left to do."""
    status = 0
    with tempfile.TemporaryDirectory() as folder:
        course = Course(Path(folder) / "course")
        for chapter in names:
            path = SRC / chapter
            text = path.read_text()
            try:
                now = renewed(chapter, text, course)
            except Fault as fault:
                print(fault)
                status = 1
                continue
            if now == text:
                print(f"book/src/{chapter}: everything is as it is printed now")
            elif path.read_text() != text:
                print(f"book/src/{chapter} was changed in the meantime and is left as it is; run this again")
                status = 1
            else:
                path.write_text(now)
                print(f"book/src/{chapter}: rewritten")
    return status
