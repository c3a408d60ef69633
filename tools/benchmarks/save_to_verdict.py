"""Time ``watch``: how long after a save the verdict on the numbers comes, everything cached.

``python -m tools.benchmarks.save_to_verdict [--saves 20] [--steps 02 07 09] [--pause 3] [--out FILE]``

A figure is the time from writing the learner's file to the line that carries the verdict, as a terminal
gets it. Between the end of a check and the next save there is a pause, as a learner makes one; in it the
next child gets ready. The steps alternate, and so do right and wrong answers.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil

from checker.course.skeletons import expected
from checker.course.steps import Step, find_step
from tests.dev.terminal import Terminal
from tools.benchmarks.loop import course_with

LIMIT_SECONDS = 600  # for one check that has to compile everything
MISTAKE = ("scores = scores + causal_mask", "_ = scores + causal_mask")
NAMED = "There is no causal mask"


class Case:
    """One step that is watched: saves of it are timed."""

    def __init__(self, step: Step, folder: Path) -> None:
        self.solution = step.solution_file.read_text()
        self.file = course_with(expected(step), folder) / "steps" / f"{step.name}.py"
        self.file.write_text(expected(step))
        self.numbers = "Yes: the numbers" if "mark.compiled" in step.check_file.read_text() else "Yes ("
        self.terminal = Terminal(folder, "-m", "checker.watch", step.task)
        self.terminal.expect("q quit", LIMIT_SECONDS)
        self.saves = 0

    def seconds(self, source: str, words: str, pause: float) -> float:
        """The time from saving ``source`` to ``words``."""
        time.sleep(pause)
        self.saves += 1
        content = f"{source}\n# save {self.saves}\n"
        start = time.perf_counter()
        self.file.write_text(content)
        self.terminal.expect(words, LIMIT_SECONDS)
        taken = time.perf_counter() - start
        self.terminal.expect("q quit", LIMIT_SECONDS)
        return taken


def as_markdown(result: dict[str, Any]) -> str:
    """The figures as a table."""
    rows = ["| from a save to | median, s | worst, s |", "|---|---|---|"]
    rows += [f"| {name} | {case['median']:.2f} | {case['worst']:.2f} |" for name, case in result["seconds"].items()]
    return "\n".join(rows)


def main() -> None:
    """Time every case and print a table."""
    parser = argparse.ArgumentParser(prog="bench-watch", description=__doc__.splitlines()[0])
    parser.add_argument("--saves", type=int, default=20)
    parser.add_argument("--steps", nargs="+", type=find_step, default=[find_step(text) for text in ("02", "07", "09")])
    parser.add_argument("--pause", type=float, default=3.0, help="seconds between a verdict and the next save")
    parser.add_argument("--out", type=Path, help="write the figures as JSON")
    options = parser.parse_args()
    load = os.getloadavg()[0]
    times: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as opened:
        cases = {step: Case(step, Path(name) / step.task) for step in options.steps}
        for case in cases.values():
            opened.callback(case.terminal.close)
        for save in range(options.saves + 1):
            for step, case in cases.items():
                taken = {
                    f"the numeric verdict of {step.task}": case.seconds(case.solution, case.numbers, options.pause)
                }
                if MISTAKE[0] in case.solution:
                    wrong = case.solution.replace(*MISTAKE)
                    taken[f"the mistake in {step.task} named"] = case.seconds(wrong, NAMED, options.pause)
                if save:  # the first fills the caches
                    for what, seconds in taken.items():
                        times.setdefault(what, []).append(seconds)
    result = {
        "machine": f"{platform.machine()}, {psutil.cpu_count()} threads, Python {platform.python_version()}",
        "load": [round(load, 2), round(os.getloadavg()[0], 2)],
        "saves": options.saves,
        "seconds": {
            what: {"median": round(statistics.median(values), 3), "worst": round(max(values), 3)}
            for what, values in times.items()
        },
    }
    print(as_markdown(result))
    if options.out:
        options.out.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
