"""Compile what the checks of all solutions need: ``python -m checker.claims.staging kernels model``, ``… graphs``.

``warm`` starts each in a process of its own: two have MAX compile the recorded kernels, of the ``model`` and ``later``
ones; another runs the compiled claims on every solution, keeps the graphs that they stage instead of compiling each,
and has the adapter compile them in one module.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
from functools import partial

from checker.claims.loading import load_source
from checker.claims.observation import Observation
from checker.course.steps import all_steps, uses_max
from checker.events import COMPILED
from checker.max_adapter import compiled, runtime

SET = "solutions"


def stage() -> None:
    """Run the compiled claims on the solutions, for the CPU; a graph that is staged ends its claim.

    Those that take long are left out: a learner needs them last, and no pass waits for them.
    """
    for step in filter(uses_max, all_steps()):
        if step.compiles_long:
            continue
        source, path = step.solution_file.read_text(), str(step.solution_file)
        solution = {"solution": partial(load_source, f"solutions.{step.name}", source, path)}
        Observation(step, solution, COMPILED, device="cpu").run()


def main() -> None:
    """Carry out what the command line says."""
    match sys.argv[1:]:
        case ["planning"]:
            with contextlib.suppress(ModuleNotFoundError):  # another MAX may have no such functions
                importlib.import_module(runtime.PLANNING)
            return
    runtime.prepare()
    match sys.argv[1:]:
        case ["kernels", group]:
            compiled.load_kernels(compiled.kernel_groups()[group], runtime.compiling)
        case ["graphs"]:
            compiled.compile_set(SET, stage)


if __name__ == "__main__":
    main()
