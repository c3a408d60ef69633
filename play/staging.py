"""Compile what the finished model needs: ``python -m play.staging writing``, ``python -m play.staging serving``.

``warm`` starts each in a process of its own, for the small model on the CPU. One compiles what ``generate`` and
``chat`` need, with their cache and without, in one module; the other starts the process that runs the served model.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys

from checker.course.paths import SMALL_MODEL


def write() -> None:
    """Compile the small model with its cache and without; under the caller's hook, only its graphs are taken."""
    from checker.max_adapter.graphs import StagedError
    from play.engine import Writer

    for cache in (True, False):
        with contextlib.suppress(StagedError):
            Writer(cache=cache)


async def serve() -> None:
    """Start the process that runs the served model, and end it when it is ready."""
    from play.serving.max.server import Served
    from play.serving.options import Options

    async with Served(Options(SMALL_MODEL), keys=None).model():
        pass


if __name__ == "__main__":
    if sys.argv[1] == "serving":
        asyncio.run(serve())
    else:
        from checker.max_adapter import graphs, runtime

        runtime.prepare()
        graphs.compile_set("play", write)
