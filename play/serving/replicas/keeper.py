"""Run a command, and kill it and all that it started once standard input ends, as it does when a replica is killed.

python -m play.serving.replicas.keeper COMMAND …
"""

from __future__ import annotations

import signal
import subprocess
import sys

from checker import interrupts


def main() -> int:
    """Run the command of the arguments, and return its exit status."""
    interrupts.end_with_the_parent(sys.stdin.fileno())
    server = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL)
    signal.signal(signal.SIGTERM, lambda number, frame: server.send_signal(number))
    return server.wait()


if __name__ == "__main__":
    sys.exit(main())
