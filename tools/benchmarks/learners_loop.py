"""Time the learner's loop: how long each verdict takes in a terminal, under ``watch`` and on the page.

In a terminal, a figure is the time from starting the check to the line that carries the verdict, and the import of MAX
is timed beside it. Under ``watch`` it begins with the save, on the page with the requests that a Ctrl-Enter makes; both
have a child ready by then, because between a verdict and the next save there is a pause, as there is for a learner.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

from checker.course.skeletons import skeleton_of
from checker.course.steps import find_step
from checker.diagnosis.mistakes import apply_edits
from checker.errors import UserError
from checker.files import ROOT
from tools.benchmarks import harness
from tools.benchmarks.harness import Column, Result, median, table, take_turns, task_arguments
from tools.course_copy import Course

STEP = find_step("s07")
CHECK = task_arguments(STEP.task)
RIGHT = STEP.read_solution().text
WRONG = apply_edits(RIGHT, {"scores + mask": "scores"})
NUMBERS = "Pass: the outputs"  # the line of the numeric verdict
ALL = "Pass ("  # the last line of a pass
NAMED = "There is no causal mask"  # the mistake of the wrong answer
WAITS = "q quit"  # the end of the line with which `watch` says what the keys do
LINK = re.compile(r"(http://127\.0\.0\.1:\d+/)#key=(\S+)")  # of the page: its address, and its key
COLD = "nothing cached"  # in the name of a figure for which MAX compiled everything anew
PAUSE = 3.0  # seconds between a verdict and the next save
COLUMNS = (Column("until", "what"), Column("seconds", "seconds", ".2f"))
Timer = Callable[[], float]
SaveAndCheck = Callable[[str, str], float]  # times from a text that is saved to the words that end the wait


def course_with(source: str, folder: Path) -> Path:
    """Make a copy of the course in which the learner's file of step 07 is ``source``."""
    Course(folder).write(STEP.task, source)
    return folder


def wait_for(words: str, lines: Iterable[str], start: float) -> float:
    """Return the seconds from ``start`` to the first line that has ``words``.

    Raises:
        UserError: there is none.
    """
    if any(words in line for line in lines):
        return time.perf_counter() - start
    raise UserError(f"nothing said {words!r}")


# ---------------------------------------------------------------- a check in a process of its own


def seconds_until(words: str, arguments: list[str], course: Path, **environment: str) -> float:
    """Return the time from starting Python with ``arguments`` to the line that has ``words``, or to its end.

    Raises:
        UserError: it ended without saying the words.
    """
    start, line = time.perf_counter(), [sys.executable, *arguments]
    learners = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | environment
    with subprocess.Popen(line, cwd=course, env=learners, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        taken = wait_for(words, process.stdout, start) if words else None
        process.stdout.read()  # the rest, so that it ends by itself
    return taken or time.perf_counter() - start


def checks(folder: Path) -> dict[str, Timer]:
    """Return what is timed of step 07's check."""
    solved, wrong = course_with(RIGHT, folder / "solved"), course_with(WRONG, folder / "wrong")
    untouched = course_with(STEP.learner_file.read_text(), folder / "untouched")
    return {
        "MAX is imported": partial(seconds_until, "", ["-c", "from max.experimental.nn import Linear"], solved),
        "the static verdict": partial(seconds_until, "", CHECK, untouched),
        "the numeric verdict on a right answer": partial(seconds_until, NUMBERS, CHECK, solved),
        "the mistake in a wrong answer is named": partial(seconds_until, NAMED, CHECK, wrong),
        "the compiled verdict on a right answer": partial(seconds_until, ALL, CHECK, solved),
    }


# ---------------------------------------------------------------- watch and the page


@contextmanager
def watched(course: Path) -> Iterator[SaveAndCheck]:
    """Have ``watch`` follow step 07 in a terminal; yield what saves a text and waits for words."""
    learners = os.environ | {"PYTHONPATH": str(course), "TERM": "xterm", "NO_COLOR": "1"}
    line, settings = [*task_arguments("watch"), STEP.task], {"dimensions": (50, 200), "timeout": 600}
    import pexpect  # which measures; the book only shows what was measured

    terminal = pexpect.spawn(sys.executable, line, cwd=str(course), env=learners, **settings)

    def save(source: str, words: str) -> float:
        start = time.perf_counter()
        (course / "steps" / STEP.learner_file.name).write_text(source)
        terminal.expect_exact(words)
        taken = time.perf_counter() - start
        terminal.expect_exact(WAITS)
        return taken

    try:
        terminal.expect_exact(WAITS)
        yield save
    finally:
        terminal.close(force=True)


@contextmanager
def served(course: Path) -> Iterator[SaveAndCheck]:
    """Serve the book of a copy of the course; yield what asks for a check of a text, as the page does."""
    learners, line = os.environ | {"PYTHONPATH": str(course)}, [sys.executable, *task_arguments("book"), "--no-open"]
    server = subprocess.Popen(line, cwd=course, env=learners, stderr=subprocess.PIPE, text=True)
    assert server.stderr is not None
    try:
        address, key = next(link.groups() for link in map(LINK.search, server.stderr) if link)
        file, headers = f"{address}api/steps/{STEP.name}", {"Authorization": f"Bearer {key}"}

        def check(source: str, words: str) -> float:
            with urllib.request.urlopen(urllib.request.Request(file, headers=headers)) as answer:
                body = json.dumps({"text": source, "replaces": json.load(answer)["version"]}).encode()
            start = time.perf_counter()
            urllib.request.urlopen(urllib.request.Request(file, body, headers, method="PUT")).close()
            with urllib.request.urlopen(urllib.request.Request(f"{file}/check", b"{}", headers)) as records:
                taken = wait_for(words, (record.decode() for record in records), start)
                records.read()
            return taken

        yield check
    finally:
        server.terminate()
        server.communicate()


def saves(prefix: str, save: SaveAndCheck) -> dict[str, Timer]:
    """Return what is timed of step 07 where a save begins a check; no text comes twice."""

    def new(source: str, words: str) -> float:
        time.sleep(PAUSE)
        return save(f"{source}\n# {time.time_ns()}\n", words)

    return {
        f"{prefix} to the numeric verdict": partial(new, RIGHT, NUMBERS),
        f"{prefix} to the mistake named": partial(new, WRONG, NAMED),
    }


FOLLOWED = {"watch": ("watch: from a save", watched), "page": ("page: from Ctrl-Enter", served)}

# ---------------------------------------------------------------- the whole


def as_markdown(result: Result, *, cold: bool = True) -> str:
    """Return the figures as a table, the shortest time first; unless ``cold``, without those with nothing cached."""
    figures = sorted(result["seconds"].items(), key=lambda figure: figure[1])
    return table(COLUMNS, [{"what": what, "seconds": taken} for what, taken in figures if cold or COLD not in what])


def run(parts: Sequence[str], cold: bool, rounds: int, out: Path | None) -> None:
    """Time every verdict and print a table.

    Args:
        parts: ``check``, and some of ``FOLLOWED``.
        cold: also time the first check on a machine that has never run MAX, and all that ``./run warm`` compiles there.
        rounds: how often each is timed.
        out: where to write the figures as JSON.
    """
    result = harness.conditions(rounds)
    with tempfile.TemporaryDirectory() as name, ExitStack() as opened:
        folder = Path(name)
        timers = checks(folder) if "check" in parts else {}
        for part, (title, begin) in FOLLOWED.items():
            if part in parts:
                save = opened.enter_context(begin(course_with(skeleton_of(STEP), folder / part)))
                timers |= saves(title, save)
        take_turns(timers, 1, lambda what: timers[what]())  # fills the caches
        times = take_turns(timers, rounds, lambda what: timers[what]())
        if cold:
            first, cache = course_with(RIGHT, folder / "first"), folder / "everything"
            taken = seconds_until(NUMBERS, CHECK, first, XDG_CACHE_HOME=str(folder / "cold"))
            times[f"the very first numeric verdict, {COLD}"] = [taken]
            taken = seconds_until("", task_arguments("warm"), ROOT, XDG_CACHE_HOME=str(cache))
            times[f"all steps compiled by `./run warm`, {COLD}"] = [taken]
            size = sum(file.stat().st_size for file in cache.rglob("*") if file.is_file())
            result["megabytes kept"] = round(size / 1e6)
    result["seconds"] = {what: median(some) for what, some in times.items()}
    harness.finish(as_markdown(result), result, out)
