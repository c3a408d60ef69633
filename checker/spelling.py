"""Which name a misspelled one is meant to be."""

from __future__ import annotations

from collections.abc import Iterable

ALIKE = 0.6  # two names, as difflib compares them: 1 if they are the same
MUCH_ALIKE = 0.75


def closest_name(name: str, known: Iterable[str], similarity: float = ALIKE) -> str:
    """Return the known name that is spelled most like one that is not known; nothing if none is that similar."""
    import difflib  # which most programs never need

    return next(iter(difflib.get_close_matches(name, [*known], 1, similarity)), "")
