"""Run the project's own tests: ``./run test``, and with ``--all`` those that need the environment ``dev``.

Without pixi that environment is installed into ``.venv``; with pixi it is another one, which this then enters.
"""

import os
import sys

import pytest

from checker.errors import UserError
from cli.start.setup import install

#: One worker more than there are processors: many tests wait for a process, a page or a limit.
WORKERS = str((os.cpu_count() or 1) + 1)
EVERY_RUN = ("--numprocesses", WORKERS, "--durations", "10", "-rs")


def enter_dev() -> None:
    """Make sure of the environment ``dev``.

    Raises:
        UserError: its packages cannot be installed.
    """
    of_pixi = os.environ.get("PIXI_ENVIRONMENT_NAME")
    if not of_pixi:
        install("dev")
    elif of_pixi != "dev":
        os.execvp("pixi", ["pixi", "run", "--environment", "dev", "test", *sys.argv[1:]])


def main() -> int:
    """Run the tests that the arguments choose; return the exit status."""
    try:
        if {"--all", "--rest", "--nightly"} & set(sys.argv):
            enter_dev()
    except UserError as error:
        print(f"run: {error}", file=sys.stderr)
        return 2
    return pytest.main([*EVERY_RUN, *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
