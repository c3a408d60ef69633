"""Let the file of a step call a function and a class that it imports as they could once be called.

A file may be older than the present solutions, or have the form of the source tutorial. The function and the class had
one parameter more then: ``causal_mask`` was told how many tokens came before, and ``GPT2MLP`` how wide the network is,
which the configuration says now. Such a file is right and has to pass, though the solutions, which everyone reads, take
today's calls alone.

A trick, ``former calls``: once a file has been run, these two names in it are replaced by ones that take either call.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from types import ModuleType
from typing import Any


def accept_former_calls(module: ModuleType) -> None:
    """Let a module make the former calls, too, of the function and the class, if it has imported them."""
    names = vars(module)
    if _is_imported(module, "causal_mask", "solutions.solution_02"):
        names["causal_mask"] = mask_after_earlier_tokens(names["causal_mask"])
    if _is_imported(module, "GPT2MLP", "solutions.solution_04"):
        names["GPT2MLP"] = mlp_of_given_width(names["GPT2MLP"])


def _is_imported(module: ModuleType, name: str, solution: str) -> bool:
    """Return whether a name in a module is what the solution has under it."""
    return getattr(vars(module).get(name), "__module__", "") == solution


def mask_after_earlier_tokens(causal_mask: Callable[..., Any]) -> Callable[..., Any]:
    """Return ``causal_mask`` that takes ``causal_mask(sequence_length, 0, dtype=…, device=…)``, too."""

    @wraps(causal_mask)
    def call(sequence_length: Any, *earlier_tokens: Any, **options: Any) -> Any:
        if earlier_tokens == (0,):
            return causal_mask(sequence_length, **options)
        return causal_mask(sequence_length, *earlier_tokens, **options)

    return call


def mlp_of_given_width(mlp: type) -> type:
    """Return a ``GPT2MLP`` that takes ``GPT2MLP(width, config)``, too.

    It is a subclass of the class that the file has imported: to import that here would import MAX for every step.
    """

    class GPT2MLP(mlp):  # type: ignore[misc]
        __doc__ = mlp.__doc__
        __module__ = mlp.__module__
        __qualname__ = mlp.__qualname__
        __signature__ = inspect.signature(mlp)  # the one that is shown if a call does not fit

        def __init__(self, *arguments: Any, **options: Any) -> None:
            if len(arguments) == 2 and isinstance(arguments[0], int):
                width, config = arguments
                super().__init__(replace(config, n_inner=width), **options)
            else:
                super().__init__(*arguments, **options)

    return GPT2MLP
