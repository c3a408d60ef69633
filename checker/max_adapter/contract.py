"""Try the installed MAX: ``python -m checker.max_adapter.contract`` runs an operation through all hooks.

It says what does not fit, one line each. With ``gpu``, it adds on the accelerator, whose driver may end the process,
and prints its name if that is right. It may be imported where MAX is missing.
"""

from __future__ import annotations

import importlib
import sys

from checker.course.installed import in_words


def try_hooks() -> int:
    """Print what does not fit; return 1 if there is something, 2 if MAX cannot be imported."""
    try:
        importlib.import_module("max.experimental.functional")
    except ImportError as error:
        print(in_words(error))
        return 2
    from checker.max_adapter import runtime

    runtime.prepare()
    lost = runtime.notices
    try:
        runtime.start_threads()
    except Exception as error:
        lost.append(f"An operation ends with {type(error).__name__} ({error}): no check that runs MAX works.")
    print(*lost or ["all hooks into MAX fit"], sep="\n")
    return 1 if lost else 0


def try_accelerator() -> int:
    """Add numbers on the accelerator; return 1 if there is none, 2 if the sum is wrong."""
    import numpy as np
    from max.driver import CPU

    from checker.max_adapter.runtime import open_device, tensor

    try:
        device = open_device("gpu")
    except ValueError as error:
        print(error)
        return 1
    x = tensor(np.arange(6, dtype=np.float32)).to(device)
    twice = np.from_dlpack((x + x).to(CPU())).tolist()
    is_right = twice == [0, 2, 4, 6, 8, 10]
    print(device if is_right else f"{device} adds [0, 1, 2, 3, 4, 5] to itself and gets {twice}")
    return 0 if is_right else 2


if __name__ == "__main__":
    sys.exit(try_accelerator() if sys.argv[1:] == ["gpu"] else try_hooks())
