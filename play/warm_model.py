"""Compile what the finished model needs: ``python -m play.warm_model cpu``, ``… gpu``, ``… serving MODEL``, ``… chat``.

``warm`` starts each in a process of its own, for the small model. One compiles for the CPU what ``generate`` needs,
with its cache and without, in one module; one compiles for the GPU what it needs with its cache; another starts the
process that runs a served model, on the CPU; the last one compiles SmolLM2, which has been fetched, for ``chat`` on the
CPU, with the kernels and without.
"""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

from checker.device import DeviceKind

if TYPE_CHECKING:  # the process that starts the served model imports none of it
    from max.graph import Graph


def graphs() -> list[Graph]:
    """Return the graphs of the small model that the ways of writing need."""
    from checker.max_adapter.tracing import AbandonedGraphError, GraphMode, in_mode
    from play.generation.engine import Writer

    found: list[Graph] = []
    for cache, kernels in ((True, True), (True, False), (False, False)):
        try:
            with in_mode(GraphMode.COLLECT):
                Writer(cache=cache, kernels=kernels)
        except AbandonedGraphError as ended:
            found.append(ended.graph)
    return found


async def serve(model: str) -> None:
    """Start the process that runs a served model, and end it when it is ready."""
    from play.serving.max.server import Served
    from play.serving.options import ServerOptions
    from play.serving.serve import kernels_of, pass_on
    from play.serving.served_checkpoint import checkpoint_of

    options = ServerOptions(model)
    pass_on(options, kernels=kernels_of(options, print))
    async with Served(options, checkpoint_of(options, print), keys=None).model():
        pass


def main() -> None:
    """Carry out what the command line says."""
    from checker.max_adapter import graph_store
    from checker.max_adapter.hooks import install_hooks

    match sys.argv[1:]:
        case ["serving", model]:
            asyncio.run(serve(model))
        case [DeviceKind.CPU]:
            install_hooks()
            graph_store.compile_set("play", graphs())
        case ["chat"]:
            from play.generation.talker import Talker
            from play.smollm2 import CONTEXT, cached_file

            install_hooks()
            for kernels in (True, False):
                Talker(cached_file(), DeviceKind.CPU, CONTEXT, kernels=kernels)
        case [DeviceKind.GPU]:
            from play.generation.engine import Writer

            install_hooks()
            Writer(device=DeviceKind.GPU)
        case arguments:
            raise SystemExit(f"not what can be compiled: {' '.join(arguments)}")


if __name__ == "__main__":
    main()
