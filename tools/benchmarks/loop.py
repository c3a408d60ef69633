"""Time the learner's loop: how long each verdict takes in a terminal, under ``watch`` and on the page.

In a terminal, a figure is the time from starting the check to the line that carries the verdict, and the import of MAX
is timed beside it. Under ``watch`` it begins with the save, on the page with the request that a Ctrl-Enter makes; both
have a child ready by then, because between a verdict and the next save there is a pause, as there is for a learner.
"""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from checker.course.paths import ROOT
from checker.course.skeletons import expected
from checker.course.steps import Step, find_step
from tools.benchmarks import harness
from tools.benchmarks.harness import Column, Result, seconds, table, take_turns, task_arguments
from tools.course_copy import Course

STEP = find_step("s07")
CHECK = task_arguments(STEP.task)
NUMBERS = "Pass: the outputs"  # the line of the numeric verdict
ALL = "Pass ("  # the last line of a pass
SPOILED = ("scores = scores + causal_mask", "_ = scores + causal_mask")
NAMED = "There is no causal mask"
WAITS = "q quit"  # the end of the line with which `watch` says what the keys do
LINK = re.compile(r"(http://127\.0\.0\.1:\d+/)#key=(\S+)")  # of the page: its address, and its key
PAUSE = 3.0  # seconds between a verdict and the next save
PARTS = ("check", "watch", "page")
IMPORT = "MAX is imported"
COLUMNS = (
    Column("until", "what"),
    Column("seconds", "seconds", ".2f"),
    Column("times the import of MAX", "times", ".1f"),
    Column("worst", "worst", ".2f"),
)
Timer = Callable[[], float]
SaveAndCheck = Callable[[str, str], float]  # times from a text that is saved to the words that end the wait

# ---------------------------------------------------------------- a check in a process of its own


def seconds_until(words: str, arguments: list[str], course: Path, **environment: str) -> float:
    """Return the time from starting Python with ``arguments`` to the line that has ``words``, or to its end.

    Raises:
        RuntimeError: it ended without saying the words.
    """
    start, line = time.perf_counter(), [sys.executable, *arguments]
    learners = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | environment
    with subprocess.Popen(line, cwd=course, env=learners, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        taken = wait_for(words, process.stdout, start) if words else None
        process.stdout.read()  # the rest, so that it ends by itself
    return taken or time.perf_counter() - start


def wait_for(words: str, lines: Iterable[str], start: float) -> float:
    """Return the seconds from ``start`` to the first line that has ``words``.

    Raises:
        RuntimeError: there is none.
    """
    if any(words in line for line in lines):
        return time.perf_counter() - start
    raise RuntimeError(f"nothing said {words!r}")


def course_with(source: str, folder: Path) -> Path:
    """Make a copy of the course in which the learner's file of step 07 is ``source``."""
    Course(folder).write(STEP.task, source)
    return folder


def spoiled(solution: str) -> str:
    """Return a solution of step 07 that forgets the causal mask."""
    assert solution.count(SPOILED[0]) == 1
    return solution.replace(*SPOILED)


def checks(folder: Path) -> dict[str, Timer]:
    """Return what is timed of step 07's check."""
    right = STEP.solution_file.read_text()
    solved, wrong = course_with(right, folder / "solved"), course_with(spoiled(right), folder / "spoiled")
    untouched = course_with(STEP.learner_file.read_text(), folder / "untouched")
    return {
        IMPORT: partial(seconds_until, "", ["-c", "from max.experimental.nn import Linear"], solved),
        "the static verdict": partial(seconds_until, "", CHECK, untouched),
        "the numeric verdict on a right answer": partial(seconds_until, NUMBERS, CHECK, solved),
        "the mistake in a wrong answer is named": partial(seconds_until, NAMED, CHECK, wrong),
        "the compiled verdict on a right answer": partial(seconds_until, ALL, CHECK, solved),
    }


# ---------------------------------------------------------------- watch and the page


@contextlib.contextmanager
def watched(course: Path) -> Iterator[SaveAndCheck]:
    """Have ``watch`` follow step 07 in a terminal; yield what saves a text and waits for words."""
    terminal, end = pty.openpty()
    learners = os.environ | {"PYTHONPATH": str(course), "TERM": "xterm", "NO_COLOR": "1", "COLUMNS": "200"}
    line = [sys.executable, *task_arguments("watch"), STEP.task]
    process = subprocess.Popen(line, cwd=course, env=learners, stdin=end, stdout=end, stderr=end)
    os.close(end)

    screen = ""

    def wait_until_shown(words: str) -> None:
        nonlocal screen
        while words not in screen:
            screen += os.read(terminal, 4096).decode(errors="replace")

    def save(source: str, words: str) -> float:
        nonlocal screen
        screen, start = "", time.perf_counter()
        (course / "steps" / STEP.learner_file.name).write_text(source)
        wait_until_shown(words)
        taken = time.perf_counter() - start
        wait_until_shown(WAITS)
        return taken

    try:
        wait_until_shown(WAITS)
        yield save
    finally:
        process.terminate()
        process.wait()
        os.close(terminal)


@contextlib.contextmanager
def served(course: Path) -> Iterator[SaveAndCheck]:
    """Serve the book of a copy of the course; yield what asks for a check of a text, as the page does."""
    (course / "book").mkdir()
    for part in ("src", "theme", "book.toml"):
        (course / "book" / part).symlink_to(ROOT / "book" / part)
    learners, line = os.environ | {"PYTHONPATH": str(course)}, [sys.executable, *task_arguments("book"), "--no-open"]
    server = subprocess.Popen(line, cwd=course, env=learners, stderr=subprocess.PIPE, text=True)
    assert server.stderr is not None
    try:
        address, key = next(found.groups() for found in map(LINK.search, server.stderr) if found)
        file, headers = f"{address}api/steps/{STEP.name}", {"Authorization": f"Bearer {key}"}

        def check(source: str, words: str) -> float:
            with urllib.request.urlopen(urllib.request.Request(file, headers=headers)) as answer:
                body = json.dumps({"text": source, "replaces": json.load(answer)["version"]}).encode()
            start = time.perf_counter()
            with urllib.request.urlopen(urllib.request.Request(f"{file}/check", body, headers)) as records:
                taken = wait_for(words, (record.decode() for record in records), start)
                records.read()
            return taken

        yield check
    finally:
        server.terminate()
        server.communicate()


def saves(prefix: str, time_it: SaveAndCheck) -> dict[str, Timer]:
    """Return what is timed of step 07 where a save begins a check; no text comes twice."""

    def new(source: str, words: str) -> float:
        time.sleep(PAUSE)
        return time_it(f"{source}\n# {time.time_ns()}\n", words)

    right = STEP.solution_file.read_text()
    return {
        f"{prefix} to the numeric verdict": partial(new, right, NUMBERS),
        f"{prefix} to the mistake named": partial(new, spoiled(right), NAMED),
    }


# ---------------------------------------------------------------- the whole


def as_markdown(result: Result) -> str:
    """Return the figures as a table."""
    rows = []
    for what, taken in result["seconds"].items():
        others = {"times": result["times import"], "worst": result.get("worst", {})}
        more = {name: figures[what] for name, figures in others.items() if what in figures}
        rows.append({"what": what, "seconds": taken} | more)
    return table(COLUMNS, rows)


def run(parts: Sequence[str], steps: Sequence[Step], cold: bool, rounds: int, out: Path | None) -> None:
    """Time every verdict and print a table.

    Args:
        parts: some of ``PARTS``.
        steps: also time the whole checks of these, without MAX's compiler.
        cold: also time the first check on a machine that has never run MAX, and all that ``./run warm`` compiles there.
        rounds: how often each is timed.
        out: where to write the figures as JSON.
    """
    result = harness.conditions(rounds)
    with tempfile.TemporaryDirectory() as name, ExitStack() as opened:
        folder = Path(name)
        timers = checks(folder) if "check" in parts else {}
        for part, title, begin in (("watch", "watch: from a save", watched), ("page", "page: from Ctrl-Enter", served)):
            if part in parts:
                save = opened.enter_context(begin(course_with(expected(STEP), folder / part)))
                timers |= saves(title, save)
        for step in steps:
            line = [*task_arguments(step.task), "--no-compile", "--solution"]
            timers[step.task] = partial(seconds_until, "Compare with", line, ROOT)
        take_turns(timers, 1, lambda what: timers[what]())  # fills the caches
        times = take_turns(timers, rounds, lambda what: timers[what]())
        result["worst"] = {what: round(max(some), 3) for what, some in times.items()}
        if cold:
            first, kept = course_with(STEP.solution_file.read_text(), folder / "first"), folder / "everything"
            taken = seconds_until(NUMBERS, CHECK, first, XDG_CACHE_HOME=str(folder / "cold"))
            times["the very first numeric verdict, nothing cached"] = [taken]
            taken = seconds_until("", task_arguments("warm"), ROOT, XDG_CACHE_HOME=str(kept))
            times["all steps compiled by `./run warm`, nothing cached"] = [taken]
            size = sum(file.stat().st_size for file in kept.rglob("*") if file.is_file())
            result["megabytes kept"] = round(size / 1e6)
    result["seconds"] = {what: seconds(some) for what, some in times.items()}
    imported = seconds(times[IMPORT], 9) if IMPORT in times else 0
    ratios = {what: round(taken / imported, 2) for what, taken in result["seconds"].items()} if imported else {}
    result["times import"] = ratios
    harness.finish(as_markdown(result), result, out)
