"""The modules that a check can grade: a learner's file, a solution, and a solution spoiled or rewritten."""

from __future__ import annotations

import linecache
import sys
from pathlib import Path
from types import ModuleType

from checker.course.paths import SOLUTIONS
from checker.diagnosis.exceptions import AnswerWasRead


def load_source(name: str, source: str, path: str) -> ModuleType:
    """Run ``source`` as the module ``name``; tracebacks show its lines as those of ``path``."""
    linecache.cache[path] = (len(source), None, source.splitlines(keepends=True), path)
    module = ModuleType(name)
    module.__file__ = path
    sys.modules[name] = module
    exec(compile(source, path, "exec"), module.__dict__)
    return module


def load_file(path: Path) -> ModuleType:
    """Run a file of this repository as a module of its own."""
    return load_source(f"graded.{path.stem}", path.read_text(), str(path))


def hide_answers(first: Path) -> None:
    """From now on, refuse to open the solution ``first`` and those after it, which import it.

    An audit hook sees every way of opening a file and cannot be taken back by the code it watches.
    """
    kind = first.stem.rpartition("_")[0]
    hidden = {path.stem for path in SOLUTIONS.glob(f"{kind}_*.py") if path.stem >= first.stem}
    folder = str(SOLUTIONS)

    def watch(event: str, arguments: tuple[object, ...]) -> None:
        if event != "open" or not isinstance(arguments[0], str | bytes):
            return
        name = arguments[0].decode(errors="replace") if isinstance(arguments[0], bytes) else arguments[0]
        if "solution" not in name and "warmup" not in name:
            return
        path = Path(name) if Path(name).is_absolute() else Path.cwd() / name
        path = path.resolve()
        if str(path).startswith(folder) and path.name.partition(".")[0] in hidden:
            raise AnswerWasRead(f"opens solutions/{path.name.partition('.')[0]}.py, the answer to this step")

    sys.addaudithook(watch)
