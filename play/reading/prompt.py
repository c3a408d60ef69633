"""A Python prompt in which MAX is prepared, so that an operation answers at once."""

from __future__ import annotations

import code
import os
import sys

from checker.course.paths import ROOT

NAMES = """\
import numpy as np
from max.driver import CPU
from max.dtype import DType
from max.experimental import functional as F
from max.experimental.nn import Embedding, Linear, Module, Sequential
from max.experimental.tensor import Tensor
"""


def open_prompt() -> None:
    """Open a prompt in the folder of the course, with the names that the steps import."""
    from checker.max_adapter.runtime import listeners, prepare
    from checker.session.waiting import telling_of_compiling

    os.chdir(ROOT)
    sys.path.insert(0, str(ROOT))
    prepare()
    names: dict[str, object] = {"__name__": "__main__"}
    exec(NAMES, names)
    try:
        import readline
        import rlcompleter

        readline.set_completer(rlcompleter.Completer(names).complete)
        readline.parse_and_bind("tab: complete")
    except ImportError:  # not every Python has it
        pass
    shown = "\n".join(f">>> {line}" for line in NAMES.splitlines())
    with telling_of_compiling(listeners):
        code.interact(
            f"MAX is prepared. Ctrl-D ends this. These names have been imported:\n{shown}", local=names, exitmsg=""
        )
