"""Compile what the checks of all solutions need: ``python -m checker.child.warm_checks kernels model``, ``… graphs``.

``warm`` starts each call in a process of its own. Two have MAX compile the recorded kernels, the ``model``'s and the
``later`` ones. Another runs the compiled claims on every solution up to where MAX would compile a graph, and has the
adapter compile all these graphs in one module.
"""

from __future__ import annotations

import contextlib
import importlib
import sys

from max.graph import Graph

from checker.child.loading import load_source
from checker.child.session import collect_graphs
from checker.course.check_file import uses_max
from checker.course.steps import all_steps
from checker.max_adapter import graph_store, hooks, kernel_store

SET = "solutions"


def graphs_of_solutions() -> list[Graph]:
    """Return the graphs that the compiled claims on the solutions would have MAX compile for the CPU.

    The steps whose graphs take minutes are left out: no pass waits for those.
    """
    all_graphs = list[Graph]()
    for step in filter(uses_max, all_steps()):
        if step.compiles_long:
            continue
        solution = load_source(f"solutions.{step.name}", step.read_solution(), str(step.solution_file))
        all_graphs += collect_graphs(step, {"solution": solution})
    return all_graphs


def main() -> None:
    """Compile what the command line names."""
    match sys.argv[1:]:
        case ["planning"]:
            with contextlib.suppress(ModuleNotFoundError):  # another MAX may have no such functions
                importlib.import_module(hooks.PLANNING)
        case ["kernels", group]:
            hooks.install_hooks()
            kernel_store.load_kernels(kernel_store.kernel_groups()[group])
        case ["graphs"]:
            hooks.install_hooks()
            graph_store.compile_set(SET, graphs_of_solutions())


if __name__ == "__main__":
    main()
