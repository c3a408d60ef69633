"""Put off the parts of MAX's import that no check runs until they are called.

``max.experimental.nn`` imports the planning of paged attention, two functions in Mojo whose libraries take a seventh
of a second to load, and the code that reads GGUF files. Step 15's compiled claim and the server call the first; nothing
here calls the other.

``python -m cli.max_adapter.imports`` has MAX compile these two functions, which it does when they are first
imported. It writes their library in place, so another process that imports them at that moment reads half of it, and
ends with an ImportError, "invalid ELF header". So this comes before anything in which several processes import MAX.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable, Collection
from pathlib import Path
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
        if name not in self._called:
            return getattr(self._itself(), name)

        def call(*arguments: Any, **options: Any) -> Any:
            return getattr(self._itself(), name)(*arguments, **options)

        return call

    def _itself(self) -> ModuleType:
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return importlib.import_module(self.__name__)


def install(lost: Callable[[Exception], None]) -> None:
    """Put a stand-in where MAX would import each of these modules, unless it has been imported.

    Raises:
        ImportError: this MAX has no such module; the others get their stand-ins.
    """
    missing = [name for name in LATER if not _is_there(name)]
    for name in LATER.keys() - sys.modules.keys() - {*missing}:
        sys.modules[name] = ImportedWhenCalled(name, LATER[name])
    if missing:
        raise ImportError(f"there is no {' and no '.join(missing)}")


def _is_there(name: str) -> bool:
    """Return whether a module is installed, without importing the packages that it is in."""
    package, *path = name.split(".")
    spec = importlib.util.find_spec(package)
    places = [Path(folder, *path) for folder in (spec and spec.submodule_search_locations) or ()]
    return any(place.is_dir() or place.with_suffix(".py").is_file() for place in places)


if __name__ == "__main__" and _is_there(IN_MOJO):
    importlib.import_module(IN_MOJO)
