"""Time the learner's loop: how long each verdict takes, compared with how long it takes to import MAX.

A figure is the time from starting the process to the line that carries the verdict.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from checker.course.paths import ROOT
from checker.course.steps import Step, find_step
from tools.benchmarks.harness import Column, Result, conditions, finish, seconds, table, take_turns, task_arguments
from tools.course_copy import Course

STEP = find_step("s07")
CHECK = task_arguments(STEP.task)
NUMBERS = "Pass: the outputs"  # the line of the numeric verdict
ALL = "Pass ("  # the last line of a pass
SPOILED = ("scores = scores + causal_mask", "_ = scores + causal_mask")
NAMED = "There is no causal mask"
IMPORT = "MAX is imported"
COLUMNS = (
    Column("until", "what"),
    Column("seconds", "seconds", ".2f"),
    Column("times the import of MAX", "times", ".1f"),
)

NAIVE = """
import numpy as np
from max.experimental.tensor import Tensor
from checker.numeric.references import Reference
from checker.course.steps import Step, find_step
from solutions.solution_01 import GPT2Config
from solutions.solution_07 import GPT2MultiHeadAttention
reference = Reference(find_step("s07").reference_file)
attention = GPT2MultiHeadAttention(GPT2Config(**reference.config))
attention.load_state_dict(reference.weights)
assert np.allclose(attention(Tensor(reference["input"])).to_numpy(), reference["output"], atol=1e-5)
print("Pass: the outputs", flush=True)
"""


def seconds_until(words: str, arguments: list[str], course: Path, cache: Path | None = None) -> float:
    """Return the time from starting Python with ``arguments`` to the line that has ``words``, or to its end.

    Raises:
        RuntimeError: it ended without saying the words.
    """
    environment = os.environ | ({"XDG_CACHE_HOME": str(cache)} if cache else {})
    environment.pop("PYTHONPATH", None)
    start = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, *arguments], cwd=course, env=environment, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    seen = None
    for line in process.stdout:
        if words and words in line and seen is None:
            seen = time.perf_counter() - start
    process.wait()
    if words and seen is None:
        raise RuntimeError(f"{' '.join(arguments)[:60]} ended without saying {words!r}")
    return seen if seen is not None else time.perf_counter() - start


def course_with(source: str, folder: Path, step: Step = STEP) -> Path:
    """Make a copy of the course in which the learner's file of a step is ``source``."""
    Course(folder).write(step.task, source)
    return folder


def spoiled(solution: str) -> str:
    """Return a solution of step 07 that forgets the causal mask."""
    assert solution.count(SPOILED[0]) == 1
    return solution.replace(*SPOILED)


def as_markdown(result: Result) -> str:
    """Return the figures as a table."""
    rows = [
        {"what": what, "seconds": taken, "times": result["times import"][what]}
        for what, taken in result["seconds"].items()
    ]
    return table(COLUMNS, rows)


def run(rounds: int, cold: bool, naive: bool, out: Path | None) -> None:
    """Time every verdict and print a table.

    Args:
        rounds: how often each is timed.
        cold: also time the first check on a machine that has never run MAX, and everything that ``./run warm`` compiles
        there.
        naive: also time the same check without this project's way of running MAX.
        out: where to write the figures as JSON.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        right = STEP.solution_file.read_text()
        solved, wrong = course_with(right, folder / "solved"), course_with(spoiled(right), folder / "spoiled")
        untouched = course_with(STEP.learner_file.read_text(), folder / "untouched")
        ways = {  # what to wait for: the words that end the wait, what to run, and where
            IMPORT: ("", ["-c", "from max.experimental.nn import Linear"], solved),
            "the static verdict": ("", CHECK, untouched),
            "the numeric verdict on a right answer": (NUMBERS, CHECK, solved),
            "the mistake in a wrong answer is named": (NAMED, CHECK, wrong),
            "the compiled verdict on a right answer": (ALL, CHECK, solved),
        }
        take_turns(ways, 1, lambda way: seconds_until(*ways[way]))  # fills the caches
        result = conditions(rounds)
        times = take_turns(ways, rounds, lambda way: seconds_until(*ways[way]))
        kept = {}
        if cold:
            first = seconds_until(NUMBERS, CHECK, solved, folder / "cold")
            times["the very first numeric verdict, nothing cached"] = [first]
            everything = seconds_until("", task_arguments("warm"), ROOT, folder / "everything")
            times["all steps compiled by `./run warm`, nothing cached"] = [everything]
            files = [file for file in (folder / "everything").rglob("*") if file.is_file()]
            kept["megabytes kept"] = round(sum(file.stat().st_size for file in files) / 1e6)
        if naive:
            warmed = [seconds_until(NUMBERS, ["-c", NAIVE], solved) for _ in range(2)][1]
            times["the same comparison the obvious way, cached"] = [warmed]
    result["seconds"] = {what: seconds(some) for what, some in times.items()}
    result["times import"] = {
        what: round(taken / seconds(times[IMPORT], 9), 2) for what, taken in result["seconds"].items()
    }
    finish(as_markdown(result), result | kept, out)
