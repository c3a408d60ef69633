"""Refuse ``input()`` and ``breakpoint()``: a check has no keyboard, and says what to do instead."""

from __future__ import annotations

import io
from typing import NoReturn

NO_DEBUGGER = "a check has no debugger. Use print, or try the code in `./run python`."
NO_KEYBOARD = "a check has no keyboard. Write the value into the code instead."


class NoKeyboard(io.TextIOBase):
    """Stands in for ``sys.stdin``, from which ``input()`` reads, too."""

    def readline(self, size: int = -1) -> NoReturn:  # type: ignore[override]
        """Raise RuntimeError."""
        raise RuntimeError(NO_KEYBOARD)

    def read(self, size: int | None = -1) -> NoReturn:
        """Raise RuntimeError."""
        raise RuntimeError(NO_KEYBOARD)


def refuse_breakpoint(*arguments: object, **options: object) -> NoReturn:
    """Stand in for the function that ``breakpoint()`` calls: raise RuntimeError."""
    raise RuntimeError(NO_DEBUGGER)
