"""The line on standard error of a command for which MAX compiles."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from checker.compiling import Compiler, Listener, listeners
from checker.parent.advance import COMPILING_IS_LONG
from checker.terminal import Terminal


class CompilingLine:
    """A line on standard error about a compilation, once it takes longer than a moment."""

    def __init__(self) -> None:
        self.terminal = Terminal(stderr=True)
        self.timers = list[threading.Timer]()  # of what is being compiled, the innermost last

    def began(self, name: str, compiler: Compiler) -> None:
        """Show the compilation soon, if it has not ended by then."""
        timer = threading.Timer(COMPILING_IS_LONG, self.terminal.show_compiling, [name, COMPILING_IS_LONG, compiler])
        self.timers.append(timer)
        timer.start()

    def ended(self, name: str, seconds: float, error: BaseException | None) -> None:
        """Say how long the compilation took, if it was shown and has not failed."""
        self.stop_timer(self.timers.pop())
        if error:
            self.terminal.close()
        else:
            self.terminal.end_compiling(name, seconds)

    def close(self) -> None:
        """Show nothing more, also of a compilation that Ctrl-C has ended."""
        for timer in self.timers:
            self.stop_timer(timer)
        self.terminal.close()

    def stop_timer(self, timer: threading.Timer) -> None:
        """Cancel a timer, and wait until it shows nothing any more."""
        timer.cancel()
        timer.join()


@contextmanager
def telling_of_compiling() -> Iterator[None]:
    """While this is open, tell on standard error of each compilation that takes longer than a moment."""
    line = CompilingLine()
    listener = Listener(line.began, line.ended)
    listeners.append(listener)
    try:
        yield
    finally:
        listeners.remove(listener)
        line.close()
