"""Ctrl-C where the program that started the tool ignores it: ``nohup … &``, a job of a script, some CI runners.

What ignores a signal passes that on to the programs it starts. Python leaves it so, and no KeyboardInterrupt
ever comes; a shell cannot even set a trap.
"""

from __future__ import annotations

import signal
import threading


def restore() -> None:
    """Let Ctrl-C end this program, and those that it starts from now on.

    Call it before ``max_adapter.runtime.prepare``, which puts a handler of its own in place of Python's.
    """
    ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    if ignored and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)
