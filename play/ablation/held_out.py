"""The chapters of Moby Dick that the small model was not trained on: the text of all figures in bits per byte."""

from __future__ import annotations

from play.training.texts import TEST, moby_dick


def chapters() -> dict[int, str]:
    """Return the held-out chapters by their numbers."""
    return {number: chapter for number, chapter in moby_dick().items() if number in TEST}
