"""The options of ``generate``: which model writes, and how."""

from __future__ import annotations

from dataclasses import dataclass

from play.options import ModelOptions


@dataclass(frozen=True)
class WriterOptions(ModelOptions):
    """Which model writes, and how it chooses tokens."""

    max_new_tokens: int = 100
    temperature: float = 0.8  # 0: the likeliest token
    top_k: int = 40  # 0: all tokens
    seed: int | None = None  # None: one that is drawn
    no_cache: bool = False  # run the whole text again for every new token
