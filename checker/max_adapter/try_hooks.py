"""Try the installed MAX: ``python -m checker.max_adapter.try_hooks`` runs an operation through all hooks.

It says what does not fit, one line each. It may be imported where MAX is missing.
"""

from __future__ import annotations

import importlib
import sys

from checker.packages import in_words


def try_hooks() -> int:
    """Print what does not fit; return 1 if there is something, 2 if MAX cannot be imported."""
    try:
        importlib.import_module("max.experimental.functional")
    except ImportError as error:
        print(in_words(error))
        return 2
    from checker.max_adapter import hooks, runtime

    hooks.install_hooks()
    lost = hooks.notices
    try:
        runtime.start_threads()
    except Exception as error:
        lost.append(f"An operation ends with {type(error).__name__} ({error}): no check that runs MAX works.")
    print(*lost or ["all hooks into MAX fit"], sep="\n")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(try_hooks())
