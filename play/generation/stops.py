"""Where a text ends that comes in pieces: before the first stop that is in it, wherever the pieces begin and end."""

from __future__ import annotations

from collections.abc import Sequence


class Stops:
    """Finds stops in a text, and holds back its last characters as long as a stop could begin with them.

    The text up to a stop is what OpenAI's interface returns, and what is held back is what vLLM holds back. MAX 26.7.0
    misses a stop that is followed by eight times its length in one piece, and returns stops as part of the text.

    Args:
        stops: texts, each of which ends the text.
    """

    def __init__(self, stops: Sequence[str]) -> None:
        self.stops = stops
        self.held = ""
        self.most_held = max(map(len, stops), default=1) - 1

    def feed(self, piece: str, last: bool) -> tuple[str, bool]:
        """Take the next piece of the text; return what can be shown now, and whether a stop has ended the text.

        Of several stops, the one that is complete first ends it, as if every character came by itself.
        """
        text = self.held + piece
        found = [(start + len(stop), start) for stop in self.stops if (start := text.find(stop)) >= 0]
        if found:
            return text[: min(found)[1]], True
        shown = len(text) if last else max(0, len(text) - self.most_held)
        self.held = text[shown:]
        return text[:shown], False
