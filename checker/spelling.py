"""Which name a misspelled name is meant to be."""

from __future__ import annotations

from collections.abc import Iterable

MUCH_ALIKE = 0.75  # as difflib compares names: 1 is for two that are the same


def closest_name(name: str, names: Iterable[str], similarity: float = 0.6) -> str:
    """Return which of the ``names`` is spelled most like a misspelled ``name``; nothing if none is that similar."""
    import difflib  # which most programs never need

    return next(iter(difflib.get_close_matches(name, [*names], 1, similarity)), "")
