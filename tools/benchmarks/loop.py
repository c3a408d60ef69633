"""Time the learner's loop: how long each verdict takes, beside the time that importing MAX takes.

``python -m tools.benchmarks.loop [--rounds 5] [--cold] [--naive] [--out FILE]``

Every figure is the time from starting the process to the line that carries the verdict, the median
of several rounds in which all cases alternate, so that a machine that slows down slows all of them.
``--cold`` adds the first check on a machine that has never run MAX (an empty cache), and all that ``./run warm``
compiles there (some minutes each);
``--naive`` adds what the same check costs without this project's way of running MAX (some more).
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

from checker.course.paths import ROOT
from checker.course.steps import find_step

STEP = find_step("s07")
CHECK = ["-m", "checker", "s07"]
NUMBERS = "Yes: the numbers"  # the line of the numeric verdict
ALL = "Yes ("  # the last line of a yes
WARM = "all steps compiled by `./run warm`, nothing cached"

NAIVE = """
import numpy as np
from max.experimental.tensor import Tensor
from checker.numeric.references import Reference
from checker.course.steps import find_step
from solutions.solution_01 import GPT2Config
from solutions.solution_07 import GPT2MultiHeadAttention
reference = Reference(find_step("s07").reference_file)
attention = GPT2MultiHeadAttention(GPT2Config(**reference.config))
attention.load_state_dict(reference.weights)
assert np.allclose(attention(Tensor(reference["input"])).to_numpy(), reference["output"], atol=1e-5)
print("Yes: the numbers", flush=True)
"""


def seconds_until(words: str, arguments: list[str], course: Path, cache: Path | None = None) -> float:
    """The time from starting Python with ``arguments`` to the line that has ``words``, or to its end."""
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


def course_with(source: str, folder: Path) -> Path:
    """A copy of the course in which the learner's step 07 is ``source``."""
    for part in ("checker", "solutions", "steps", "tests"):
        shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__", "dev", "*.kept-*"))
    (folder / "steps" / f"{STEP.name}.py").write_text(source)
    return folder


def as_markdown(result: dict[str, Any]) -> str:
    """The figures as a table."""
    rows = ["| until | seconds | times the import of MAX |", "|---|---|---|"]
    for case, seconds in result["seconds"].items():
        rows.append(f"| {case} | {seconds:.2f} | {result['times import'][case]:.1f} |")
    return "\n".join(rows)


def main() -> None:
    """Time every case and print a table."""
    parser = argparse.ArgumentParser(prog="bench-loop", description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cold", action="store_true", help="also time the very first check, with an empty cache")
    parser.add_argument("--naive", action="store_true", help="also time the same check done the obvious way")
    parser.add_argument("--out", type=Path, help="write the figures as JSON")
    options = parser.parse_args()
    right = STEP.solution_file.read_text()
    wrong = right.replace("scores = scores + causal_mask", "_ = scores + causal_mask")
    assert wrong != right
    with tempfile.TemporaryDirectory() as name:
        solved, spoiled = course_with(right, Path(name) / "solved"), course_with(wrong, Path(name) / "spoiled")
        untouched = course_with(STEP.learner_file.read_text(), Path(name) / "untouched")
        cases: dict[str, Callable[[], float]] = {
            "MAX is imported": lambda: seconds_until("", ["-c", "from max.experimental.nn import Linear"], solved),
            "the static verdict": lambda: seconds_until("", CHECK, untouched),
            "the numeric verdict on a right answer": lambda: seconds_until(NUMBERS, CHECK, solved),
            "the mistake in a wrong answer is named": lambda: seconds_until("There is no causal mask", CHECK, spoiled),
            "the compiled verdict on a right answer": lambda: seconds_until(ALL, CHECK, solved),
        }
        for measure in cases.values():
            measure()  # whatever is not cached yet
        times: dict[str, list[float]] = {case: [] for case in cases}
        load = os.getloadavg()[0]
        for _ in range(options.rounds):
            for case, measure in cases.items():
                times[case].append(measure())
        figures = {case: statistics.median(values) for case, values in times.items()}
        if options.cold:
            cold = Path(name) / "cold"
            figures["the very first numeric verdict, nothing cached"] = seconds_until(NUMBERS, CHECK, solved, cold)
            everything = Path(name) / "everything"
            figures[WARM] = seconds_until("", ["-m", "checker.warm"], ROOT, everything)
            kept = sum(file.stat().st_size for file in everything.rglob("*") if file.is_file())
        if options.naive:
            seconds_until(NUMBERS, ["-c", NAIVE], solved)
            figures["the same comparison the obvious way, cached"] = seconds_until(NUMBERS, ["-c", NAIVE], solved)
    result: dict[str, Any] = {
        "machine": f"{platform.machine()}, {psutil.cpu_count()} threads, Python {platform.python_version()}",
        "load": round(load, 2),
        "rounds": options.rounds,
        "seconds": {case: round(value, 3) for case, value in figures.items()},
        "times import": {case: round(value / figures["MAX is imported"], 2) for case, value in figures.items()},
    }
    if options.cold:
        result["megabytes kept"] = round(kept / 1e6)
    print(as_markdown(result))
    if options.out:
        options.out.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
