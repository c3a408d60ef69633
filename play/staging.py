"""Compile what the finished model needs: ``python -m play.staging writing``, ``python -m play.staging serving``.

``warm`` starts each in a process of its own, for the small model on the CPU. One compiles what ``generate`` and
``chat`` need, with their cache and without, in one module; the other starts the server, and ends it when it is ready.
"""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys

READY = "ready after"  # what the server says when it is ready


def stage() -> None:
    """Compile the small model with its cache and without; under the caller's hook, only its graphs are taken."""
    from checker.max_adapter.graphs import StagedError
    from play.engine import Writer

    for cache in (True, False):
        with contextlib.suppress(StagedError):
            Writer(cache=cache)


def serve_once() -> int:
    """Start the server, end it when it is ready, and return the exit status."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "cli", "serve", "--port", str(port)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        said = []
        for line in server.stderr:
            said.append(line)
            if READY in line:
                server.terminate()
    if any(READY in line for line in said):
        return 0
    print(*said, sep="", file=sys.stderr)
    return 1


def main() -> int:
    """Carry out what the command line says; return the exit status."""
    if sys.argv[1] == "serving":
        return serve_once()
    from checker.max_adapter import graphs, runtime

    runtime.prepare()
    graphs.compile_set("play", stage)
    return 0


if __name__ == "__main__":
    sys.exit(main())
