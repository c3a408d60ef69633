"""Leave out of MAX's import what no check runs, until it is called.

``max.experimental.nn`` imports the planning of paged attention, two functions in Mojo whose libraries take a seventh
of a second to load. Step 15's compiled claim and the server call one of them; nothing else does.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

LATER = "max._kv_cache_ops"


class ImportedWhenCalled(ModuleType):
    """A module that stands in for another, whose functions import that one when they are called."""

    def __getattr__(self, name: str) -> Any:
        """Return a function that calls the one of this name in the module itself."""
        if name.startswith("__"):
            raise AttributeError(name)

        def call(*arguments: Any, **options: Any) -> Any:
            if sys.modules.get(self.__name__) is self:
                del sys.modules[self.__name__]
            return getattr(importlib.import_module(self.__name__), name)(*arguments, **options)

        return call


def install(lost: Callable[[Exception], None]) -> None:
    """Put a stand-in where MAX would import the module, unless it has been imported.

    Raises:
        ImportError: this MAX has no such module; nothing is changed.
    """
    if LATER in sys.modules:
        return
    if importlib.util.find_spec(LATER) is None:
        raise ImportError(f"there is no {LATER}")
    sys.modules[LATER] = ImportedWhenCalled(LATER)
