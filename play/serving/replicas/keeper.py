"""Run a command, and kill it and all that it started once standard input ends, as it does when a replica is killed.

python -m play.serving.replicas.keeper COMMAND …

Ray kills the children of a worker that has ended, and this process is one. So a process that it starts looks at
standard input: Ray does not know that one.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys

from checker import interrupts


def main() -> int:
    """Run the command of the arguments, and return its exit status."""
    watcher = os.fork()
    if not watcher:
        interrupts.end_with_the_parent(sys.stdin.fileno())
        while True:
            signal.pause()
    server = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL)
    signal.signal(signal.SIGTERM, lambda number, frame: server.send_signal(number))
    status = server.wait()
    os.kill(watcher, signal.SIGKILL)
    return status


if __name__ == "__main__":
    sys.exit(main())
