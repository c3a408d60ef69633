"""What commands of the finished model say on standard error while MAX compiles for them."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from checker.check.advance import COMPILING_IS_LONG
from checker.compiling import Compiler, Listener, listeners
from checker.terminal import Terminal


@contextmanager
def telling_of_compiling() -> Iterator[None]:
    """While this is open, say on standard error what takes longer than a moment to compile."""
    terminal, timers = Terminal(stderr=True), list[threading.Timer]()

    def began(what: str, compiler: Compiler) -> None:
        timer = threading.Timer(COMPILING_IS_LONG, terminal.show_compiling, [what, time.monotonic(), compiler])
        timers.append(timer)
        timer.start()

    def ended(what: str, seconds: float, error: BaseException | None) -> None:
        timer = timers.pop()
        timer.cancel()
        timer.join()
        if error:
            terminal.close()
        else:
            terminal.end_compiling(what, seconds)

    listener = Listener(began, ended)
    listeners.append(listener)
    try:
        yield
    finally:
        listeners.remove(listener)
        for timer in timers:  # of what Ctrl-C has ended
            timer.cancel()
            timer.join()
        terminal.close()
