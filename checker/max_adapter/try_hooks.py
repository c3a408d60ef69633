"""Try the installed MAX: ``python -m checker.max_adapter.try_hooks`` runs an operation through all hooks.

It prints a line for each hook that does not fit. The module may be imported where MAX is missing.
"""

from __future__ import annotations

import importlib
import sys

from checker.packages import explain_import_error

SLOWER, CANNOT_IMPORT, CANNOT_RUN = 1, 2, 3  # exit statuses


def try_hooks() -> int:
    """Print which hooks do not fit; return the exit status, which says how bad that is."""
    try:
        importlib.import_module("max.experimental.functional")
    except ImportError as error:
        print(explain_import_error(error))
        return CANNOT_IMPORT
    from checker.max_adapter import hooks, runtime

    hooks.install_hooks()
    status = SLOWER if hooks.notices else 0
    try:
        runtime.start_threads()
    except Exception as error:
        print(f"An operation ends with {type(error).__name__} ({error}): no check that runs MAX works.")
        status = CANNOT_RUN
    for notice in hooks.notices:
        print(notice)
    if not status:
        print("all hooks into MAX fit")
    return status


if __name__ == "__main__":
    sys.exit(try_hooks())
