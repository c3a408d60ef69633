"""Say what MAX is compiling while a command waits for it: a moving line in a terminal, else a plain one."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from checker.events import Compiling, Tick
from checker.session.printer import Printer

TICK_SECONDS = 0.1

Listener = Callable[[str, float | None], None]  # what is compiled, and None or the seconds it took


@contextmanager
def telling_of_compiling(listeners: list[Listener]) -> Iterator[None]:
    """While this is open, say on standard error what takes longer than a moment to compile.

    Args:
        listeners: those of MAX's adapter, which this one joins for that time.
    """
    printer, lock, over = Printer(stderr=True), threading.Lock(), threading.Event()

    def tell(event: Compiling | Tick) -> None:
        with lock:
            printer.progress(event)

    def listen(what: str, seconds: float | None) -> None:
        tell(Compiling(what, seconds))

    def tick() -> None:
        while not over.wait(TICK_SECONDS):
            tell(Tick())

    thread = threading.Thread(target=tick)
    listeners.append(listen)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        listeners.remove(listen)
        printer.close()


@contextmanager
def telling_of(what: str) -> Iterator[None]:
    """While this is open, say as above that ``what`` is compiled: for what MAX's adapter does not hear of."""
    listeners, began = list[Listener](), time.perf_counter()
    with telling_of_compiling(listeners):
        (listener,) = listeners
        listener(what, None)
        try:
            yield
        finally:
            listener(what, time.perf_counter() - began)
