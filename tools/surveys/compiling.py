"""Look for what only MAX's compiler refuses: attempts that MAX traces for all sizes and then cannot compile.

A check says yes once a module is traced, before it is compiled, so each of these attempts needs a check of its own in
the traced stage. Graphs are compiled together, ten in one module, which takes hardly longer than a few one by one; if
that fails, each is compiled alone.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

from checker.claims.observation import observe
from checker.claims.subjects import load_source
from checker.course.attempts import Edits, edited, load_attempts
from checker.course.steps import Step, uses_max
from checker.max_adapter import graphs, runtime

AT_ONCE = 10  # graphs: a module of a few dozen takes more memory than there is


@dataclass
class Tally:
    """The results of the attempts at a step."""

    attempts: int = 0
    traced: int = 0
    graphs: int = 0  # different ones
    known: int = 0  # that the traced stage of a check refuses by itself
    refused: dict[str, str] = field(default_factory=dict)  # attempt -> what the compiler said


def attempts_of(step: Step) -> Mapping[str, Edits]:
    """Return everything that people write instead of a step's solution."""
    attempts = load_attempts(step)
    return {**attempts.alternatives, **attempts.mistakes, **attempts.habits, **attempts.fixed}


def staged(step: Step, module: ModuleType) -> list[object]:
    """Return the graphs that the compiled claims of a step stage for a module; none if it cannot be traced."""
    return list(graphs.staged_by(lambda: _observe(step, module)))


def _observe(step: Step, module: ModuleType) -> None:
    observe(step, {"attempt": module}, compiled=True, device="cpu")


def problem(found: Sequence[object]) -> str:
    """Return the compiler's objection to graphs that are compiled together, or nothing."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            graphs.compile_together(found, Path(folder) / "tried.json")  # type: ignore[arg-type] # as staged_by gave them
        except Exception as error:
            return f"{type(error).__name__}: {error}"
    return ""


def tally(step: Step) -> Tally:
    """Trace and compile every attempt at a step."""
    counted, solution = Tally(), step.solution_file.read_text()
    of_attempt: dict[str, ModuleType] = {}
    for number, (name, edits) in enumerate(attempts_of(step).items()):
        counted.attempts += 1
        try:
            of_attempt[name] = load_source(f"traced.{step.name}_{number}", edited(solution, edits), f"attempt_{number}")
        except Exception:  # it cannot even be imported
            continue
    different, by_fingerprint = list[object](), dict[str, list[str]]()
    for name, module in of_attempt.items():
        found = staged(step, module)
        counted.traced += bool(found)
        for graph in found:
            if graphs.refused_by_the_compiler(graph):  # type: ignore[arg-type]
                counted.known += 1
                continue
            fingerprint = graphs.fingerprint(graph)  # type: ignore[arg-type]
            if fingerprint not in by_fingerprint:
                different.append(graph)
            by_fingerprint.setdefault(fingerprint, []).append(name)
    counted.graphs = len(different)
    named = list(by_fingerprint.values())  # in the order of the graphs
    for first in range(0, len(different), AT_ONCE):
        if problem(different[first : first + AT_ONCE]):
            for names in named[first : first + AT_ONCE]:
                if said := problem(staged(step, of_attempt[names[0]])):
                    counted.refused |= dict.fromkeys(names, said.splitlines()[0])
    return counted


def report(steps: Sequence[Step]) -> int:
    """Print which attempts at some steps the compiler refuses; return 1 if there are any."""
    runtime.prepare()
    refused = 0
    for step in filter(uses_max, steps):
        counted = tally(step)
        refused += len(counted.refused)
        print(
            f"{step.task}: {counted.attempts} attempts, {counted.traced} traced, {counted.known} refused as known, "
            f"{counted.graphs} different graphs, {len(counted.refused)} refused by the compiler alone",
            flush=True,
        )
        for name, said in counted.refused.items():
            print(f"  {name}: {said}", flush=True)
    return 1 if refused else 0
