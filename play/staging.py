"""Compile what the finished model needs: ``python -m play.staging cpu``, ``… gpu``, ``… serving``.

``warm`` starts each in a process of its own, for the small model. One compiles for the CPU what ``generate`` and
``chat`` need, with their cache and without, in one module; one compiles for the GPU what they need with their cache;
another starts the process that runs the served model, on the CPU. ``… open gpu`` fails where there is none.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys

from checker.course.steps import SMALL_MODEL


def write() -> None:
    """Compile the small model as each way of writing needs it; under the caller's hook, only its graphs are taken."""
    from checker.max_adapter.compiled import StagedError
    from play.engine import Writer

    for cache, kernels in ((True, True), (True, False), (False, False)):
        with contextlib.suppress(StagedError):
            Writer(cache=cache, kernels=kernels)


async def serve() -> None:
    """Start the process that runs the served model, and end it when it is ready."""
    from play.serve import pass_on
    from play.serving.max.server import Served
    from play.serving.options import Options

    options = Options(SMALL_MODEL)
    pass_on(options, print)
    async with Served(options, keys=None).model():
        pass


def main() -> None:
    """Carry out what the command line says."""
    from checker.max_adapter import compiled, runtime

    match sys.argv[1:]:
        case ["serving"]:
            asyncio.run(serve())
        case ["open", device]:
            runtime.open_device(device)
        case ["cpu"]:
            runtime.prepare()
            compiled.compile_set("play", write)
        case ["gpu"]:
            from play.engine import Writer

            runtime.prepare()
            Writer(device="gpu")


if __name__ == "__main__":
    main()
