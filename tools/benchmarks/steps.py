"""Time the check of every step on its solution, kernels cached, without compiling.

``python -m tools.benchmarks.steps [--rounds 3] [--out FILE]``: the whole process, the median of several
rounds in which the steps alternate.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
from pathlib import Path
from typing import Any

import psutil

from checker.course.paths import ROOT
from checker.course.steps import all_steps
from tools.benchmarks.loop import seconds_until


def as_markdown(result: dict[str, Any]) -> str:
    """The figures as a table."""
    rows = [f"| {task} | {seconds:.2f} |" for task, seconds in result["seconds"].items()]
    return "\n".join(["| check | seconds |", "|---|---|", *rows])


def main() -> None:
    """Time every step and print a table."""
    parser = argparse.ArgumentParser(prog="bench-steps", description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path, help="write the figures as JSON")
    options = parser.parse_args()
    load = os.getloadavg()[0]
    times: dict[str, list[float]] = {step.task: [] for step in all_steps()}
    for _ in range(options.rounds + 1):
        for task, measured in times.items():
            check = ["-m", "checker", task, "--solution", "--no-compile"]
            measured.append(seconds_until("Compare with", check, ROOT))
    result = {
        "machine": f"{platform.machine()}, {psutil.cpu_count()} threads, Python {platform.python_version()}",
        "load": round(load, 2),
        "rounds": options.rounds,
        "seconds": {task: round(statistics.median(measured[1:]), 3) for task, measured in times.items()},
    }
    print(as_markdown(result))
    if options.out:
        options.out.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
