"""A Python prompt, and the kernel of a notebook, in which MAX is prepared, so that an operation answers at once."""

from __future__ import annotations

import code
import contextlib
import os
import sys
import warnings
from functools import cache

from checker.files import ROOT
from play.mine import choice
from play.startup import Tell, ready_to_run

NAMES = """\
import numpy as np
from max.driver import CPU
from max.dtype import DType
from max.experimental import functional as F
from max.experimental.nn import Embedding, Linear, Module, Sequential
from max.experimental.tensor import Tensor
"""

_until_the_kernel_ends = contextlib.ExitStack()


def open_prompt(tell: Tell, command: str = "") -> None:
    """Open a prompt in the folder of the course, with the names that the steps import; ``tell`` any notice.

    With a ``command``, run that instead.
    """
    os.chdir(ROOT)
    sys.path.insert(0, str(ROOT))
    names: dict[str, object] = {"__name__": "__main__"}
    banner = ["MAX is prepared. Ctrl-D ends this. These names have been imported:"]
    banner += [f">>> {line}" for line in NAMES.splitlines()]
    with ready_to_run(tell):
        exec(NAMES, names)
        if command:
            exec(command, names)
            return
        with contextlib.suppress(ImportError):  # not every Python has it
            import readline
            import rlcompleter

            readline.set_completer(rlcompleter.Completer(names).complete)
            readline.parse_and_bind("tab: complete")
        code.interact("\n".join(banner), local=names, exitmsg="")


@cache
def prepare_notebook() -> None:
    """Prepare MAX in the kernel of a notebook, once, and run the reader's steps that have passed."""
    own = choice.done_steps()
    own.install()
    print("Your own steps that run here:", ", ".join(step.task for step in own.steps) or "none has passed yet")
    warnings.filterwarnings("ignore", 'install "ipywidgets"')  # rich's, which then shows no moving line
    _until_the_kernel_ends.enter_context(ready_to_run(print))
