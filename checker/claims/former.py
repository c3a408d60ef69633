"""Let files that are older than the present solutions, or have the source tutorial's form, call them as they were.

What such a file imports has fewer parameters now: there are no earlier tokens, and the configuration says how wide the
feed-forward network is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from types import ModuleType
from typing import Any

from checker.course.steps import SOLUTIONS


def causal_mask(now: Callable[..., Any]) -> Callable[..., Any]:
    """Take ``causal_mask(sequence_length, 0, dtype=…, device=…)``, too."""

    @wraps(now)
    def call(sequence_length: Any, *earlier: Any, **options: Any) -> Any:
        return now(sequence_length, *(count for count in earlier if count != 0), **options)

    return call


def mlp(now: Callable[..., Any]) -> Callable[..., Any]:
    """Take ``GPT2MLP(intermediate_size, config)``, too."""

    @wraps(now, updated=())
    def call(*arguments: Any) -> Any:
        if len(arguments) == 2 and isinstance(arguments[0], int):
            return now(replace(arguments[1], n_inner=arguments[0]))
        return now(*arguments)

    return call


FORMER = {"causal_mask": causal_mask, "GPT2MLP": mlp}


def accept_former_calls(module: ModuleType) -> None:
    """Let a module call the solutions that it has imported in their former ways, too."""
    for name, former in FORMER.items():
        imported: Any = vars(module).get(name)
        if getattr(imported, "__module__", "").startswith(f"{SOLUTIONS.name}."):
            setattr(module, name, former(imported))
