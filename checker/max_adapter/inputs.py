"""Give a graph of eager operations its inputs one at a time, without describing all of them again for each.

Every weight that is read eagerly becomes an input of the graph. For each, MAX describes all inputs anew: their types,
names and parameters, 52 times for a model of four blocks, which is half of its forward pass. ``Graph.output`` and the
removal of unused inputs describe them once more, when the graph is complete; that is all that anyone reads.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any


def install(lost: Callable[[Exception], None]) -> None:
    """Replace ``add_input`` of MAX's passes.

    Raises:
        ImportError: this MAX has no such function.
        TypeError: it takes other arguments; nothing is changed.
    """
    from max.experimental import _passes
    from max.graph import Value
    from max.graph.graph import _location

    describe_all = _passes.add_input
    if list(inspect.signature(describe_all).parameters) != ["graph", "type"]:
        raise TypeError(f"add_input takes {inspect.signature(describe_all)}")

    def add_input(graph: Any, type: Any) -> Any:
        try:
            block = _passes._graph_block(graph)
            if list(type.parameters) or len(block.arguments) != len(graph.inputs):
                return describe_all(graph, type)  # a symbolic size has to be declared; a chain is not an input
            with graph:
                argument = block.add_argument(type.to_mlir(), _location())
            value = Value.from_mlir(argument)
        except (AttributeError, TypeError) as error:
            _passes.add_input = describe_all
            lost(error)
            return describe_all(graph, type)  # if one was added before the error, it is removed as unused
        graph.inputs = (*graph.inputs, value)
        return value

    _passes.add_input = add_input
