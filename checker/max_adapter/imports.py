"""Put off the parts of MAX's import that no check runs until they are called.

``max.experimental.nn`` imports the planning of paged attention, two functions in Mojo whose libraries take a seventh
of a second to load, and the code that reads GGUF files. Step 15's compiled claim and the server call the first; nothing
here calls the other.

``python -m checker.max_adapter.imports`` has MAX compile these two functions, which it does when they are first
imported. It writes their library in place, so another process that imports them at that moment reads half of it, and
ends with an ImportError, "invalid ELF header". So this comes before anything in which several processes import MAX.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Collection
from types import ModuleType
from typing import Any

IN_MOJO = "max._kv_cache_ops"

#: Modules that are imported later, and the functions and classes of each that are only ever called.
LATER = {
    IN_MOJO: ("mha_decode_num_partitions", "mla_dispatch_args_scalar"),
    "max.graph.weights.loader_wrappers": ("GGUFWeights",),
}


class ImportedWhenCalled(ModuleType):
    """A stand-in for a module, which it imports when a function of it is called or another name is read."""

    def __init__(self, name: str, called: Collection[str]) -> None:
        super().__init__(name)
        self._called = called

    def __getattr__(self, name: str) -> Any:
        """Return a function that calls the module's own function of this name, or the module's attribute."""
        if name.startswith("__"):
            raise AttributeError(name)

        def call(*arguments: Any, **options: Any) -> Any:
            return getattr(self._itself(), name)(*arguments, **options)

        return call if name in self._called else getattr(self._itself(), name)

    def _itself(self) -> ModuleType:
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return importlib.import_module(self.__name__)


def install() -> None:
    """Put a stand-in where MAX would import each of these modules, unless it has been imported."""
    for name in LATER.keys() - sys.modules.keys():
        sys.modules[name] = ImportedWhenCalled(name, LATER[name])


if __name__ == "__main__":
    with contextlib.suppress(ModuleNotFoundError):  # another MAX may have no such functions
        importlib.import_module(IN_MOJO)
