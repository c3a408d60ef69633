"""A Python prompt in which MAX is prepared, so that an operation answers at once."""

from __future__ import annotations

import code
import contextlib
import os
import sys
from collections.abc import Callable

from checker.course.steps import ROOT
from play.preparing import prepared

NAMES = """\
import numpy as np
from max.driver import CPU
from max.dtype import DType
from max.experimental import functional as F
from max.experimental.nn import Embedding, Linear, Module, Sequential
from max.experimental.tensor import Tensor
"""


def open_prompt(tell: Callable[[str], None]) -> None:
    """Open a prompt in the folder of the course, with the names that the steps import; ``tell`` any notice."""
    os.chdir(ROOT)
    sys.path.insert(0, str(ROOT))
    names: dict[str, object] = {"__name__": "__main__"}
    banner = ["MAX is prepared. Ctrl-D ends this. These names have been imported:"]
    banner += [f">>> {line}" for line in NAMES.splitlines()]
    with prepared(tell):
        exec(NAMES, names)
        with contextlib.suppress(ImportError):  # not every Python has it
            import readline
            import rlcompleter

            readline.set_completer(rlcompleter.Completer(names).complete)
            readline.parse_and_bind("tab: complete")
        code.interact("\n".join(banner), local=names, exitmsg="")
