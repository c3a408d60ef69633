"""Compile the graphs of all solutions together: ``python -m checker.claims.staging [--forget]``.

A process of its own, which ``warm`` starts: it runs the compiled claims on every solution, keeps the graphs that
they stage instead of compiling each, and has the adapter compile them in one module.
"""

from __future__ import annotations

import sys

from checker.claims.observation import observe
from checker.claims.subjects import load_source
from checker.course.steps import all_steps, uses_max
from checker.max_adapter import graphs, runtime


def stage() -> None:
    """Run the compiled claims of every step on its solution, for the CPU."""
    for step in filter(uses_max, all_steps()):
        solution = load_source(f"solutions.{step.name}", step.solution_file.read_text(), str(step.solution_file))
        observe(step, {"solution": solution}, compiled=True, device="cpu")


def main() -> int:
    """Compile the graphs of all solutions, if this machine does not have them all; ``--forget``: use none of them."""
    if sys.argv[1:] == ["--forget"]:
        graphs.forget()
        return 0

    def tell(what: str, seconds: float | None) -> None:
        print(f"  compiling {what}" if seconds is None else f"  … took {seconds:.0f} s", flush=True)

    runtime.prepare()
    runtime.listeners[:] = [tell]
    runtime.start_threads()  # brings the kernels
    runtime.listeners.clear()
    staged = graphs.staged_by(stage)
    if not graphs.are_compiled(staged):
        runtime.listeners[:] = [tell]
        with runtime.compiling(f"the {len(staged)} graphs of the solutions"):
            graphs.compile_together(staged)
    return 0


if __name__ == "__main__":
    sys.exit(main())
