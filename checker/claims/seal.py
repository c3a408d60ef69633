"""Keep what decides a verdict out of reach of the learner's file, and notice if it is replaced anyway.

While a seal is closed,

* the modules of the check are not in ``sys.modules``: a file that imports them gets copies of its own;
* what cannot be hidden (Python's builtins, NumPy, pytest, MAX's operations) is compared with how it was, before
  each decision and after each claim;
* Python's audit events refuse the ways to hidden objects (frames, the garbage collector, another ``__code__``
  for a function), and opening the files that hold the answer.

Nothing that a closed seal relies on can be reached from a module. CONTRIBUTING says what it does not keep out.
"""

from __future__ import annotations

import builtins
import contextlib
import operator
import os
import sys
import sysconfig
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from types import FrameType, ModuleType
from typing import Any

from checker.claims import vocabulary
from checker.course.paths import ROOT, SOLUTIONS, relative_path
from checker.course.steps import Step
from checker.diagnosis.exceptions import AnswerWasRead

HIDDEN = ("cli", "checker", "tests", "conftest")  # and the check file, too

#: Compared before each decision, in a fraction of a millisecond; the rest is compared after each claim, in 1 to 2 ms.
QUICK = ("numpy", "numpy._core", "pluggy", "_pytest.python", "_pytest.runner", "_pytest.reports", "_pytest.nodes")
SLOW = ("_pytest.fixtures", "_pytest.main", "_pytest.config", "_pytest.outcomes", "json", "hashlib", "os", "solutions")
SLOW_OF_MAX = ("max.experimental", "max.driver", "max.dtype")
LEFT_OUT = ("numpy._core.tests", "numpy._core._simd")  # large, and nothing that decides calls them

#: Attributes that lead to a frame, by Python's audit events, and events that no learner's file has a use for.
FRAMES = {"tb_frame", "gi_frame", "cr_frame", "ag_frame"}
REFUSED = {
    "gc.get_objects": "asks the garbage collector for objects of the check",
    "gc.get_referrers": "asks the garbage collector for objects of the check",
    "gc.get_referents": "asks the garbage collector for objects of the check",
    "sys._current_frames": "looks into the frames of the check",
    "sys._current_exceptions": "looks into the frames of the check",
    "sys.settrace": "traces the check",
    "sys.setprofile": "profiles the check",
    "sys.monitoring.register_callback": "traces the check",
    "sys.addaudithook": "adds an audit hook",
}

Kept = list[tuple[Any, str, tuple[str, ...], tuple[Any, ...]]]  # a module or class, its name, what it holds by name


class Tampering(BaseException):
    """The learner's file reaches for what decides; an ``except Exception`` does not catch it."""


@dataclass(frozen=True)
class Seal:
    """A closed seal; held by the frame that closed it and by nothing else.

    Attributes:
        verify: raise :class:`Tampering` where an object that decides was replaced; ``verify(True)`` looks at all.
        open: end the seal; return what happened while it was closed, in words, or nothing.
    """

    verify: Callable[..., None]
    open: Callable[[], str]


def below(roots: Iterable[str]) -> dict[str, ModuleType]:
    """Return the loaded modules by name: those of ``roots``, and all inside them."""
    roots = frozenset(roots)
    inside = tuple(f"{root}." for root in roots)
    return {name: module for name, module in sys.modules.items() if name in roots or name.startswith(inside)}


def answers_to(step: Step) -> dict[tuple[int, int], str]:
    """Return the names of the files that hold the answer to a step or its numbers, by device and inode."""
    kind = step.solution_file.stem.rpartition("_")[0]
    later = [path for path in SOLUTIONS.glob(f"{kind}_*.*") if path.stem >= step.solution_file.stem]
    answers = {}
    for path in [*later, step.model_file, step.attempts_file, step.reference_file]:
        for file in [path, *path.parent.glob(f"__pycache__/{path.stem}.*")]:
            if file.is_file():
                answers[file.stat().st_dev, file.stat().st_ino] = relative_path(path)
    return answers


def kept_of(owner: Any, name: str) -> tuple[Any, str, tuple[str, ...], tuple[Any, ...]]:
    """Return the functions, classes and modules that a module or class holds now, by name."""

    def is_guarded(value: object) -> bool:  # functions, classes, class methods, properties, modules
        return callable(value) or hasattr(type(value), "__get__") or isinstance(value, ModuleType)

    guarded = {key: value for key, value in vars(owner).items() if is_guarded(value)}
    return owner, name, tuple(guarded), tuple(guarded.values())


def kept_below(roots: Iterable[str], but: Iterable[str] = ()) -> Kept:
    """Return what the modules below ``roots`` and their classes hold now."""
    found: Kept = []
    left_out = below(but)
    for name, module in below(roots).items():
        if name not in left_out:
            found.append(kept_of(module, name))
            own = {value for value in vars(module).values() if isinstance(value, type) and value.__module__ == name}
            found += [kept_of(kind, f"{name}.{kind.__qualname__}") for kind in own]
    return found


def guarded(test_modules: Collection[str]) -> Kept:
    """Return what decides, as it is now, in the modules of the check and in those that they use."""
    roots = [*HIDDEN, *test_modules, *QUICK, *SLOW, *SLOW_OF_MAX]
    return [kept_of(builtins, "builtins"), *kept_below(roots, LEFT_OUT)]


def put_back(kept: Kept) -> str:
    """Put back what was replaced since; return the name of the first such object, or nothing."""
    replaced = [
        (owner, f"{name}.{key}", key, value)
        for owner, name, keys, values in kept
        for key, value in zip(keys, values, strict=True)
        if vars(owner).get(key) is not value
    ]
    for owner, _, key, value in replaced:
        setattr(owner, key, value)
    return replaced[0][1] if replaced else ""


def close(step: Step, test_modules: Collection[str]) -> Seal:
    """Close the seal around the claims of ``step``; ``test_modules`` are the names of the modules that hold them."""
    all_, map_, vars_, is_, modules, frame_of = all, map, vars, operator.is_, sys.modules, sys._getframe
    hidden = {name: modules.pop(name) for name in below([*HIDDEN, *test_modules])}
    main, modules["__main__"] = modules["__main__"], ModuleType("__main__")  # it holds the modules of the check
    answers = answers_to(step)
    libraries = (sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib"))
    ours = ("<frozen", str(ROOT / "checker"), str(ROOT / "cli"), *libraries)
    said: list[str] = []
    closed: list[bool] = [True]
    looking: list[bool] = []

    def refuse(what: str) -> None:
        said.append(what)
        raise Tampering(what)

    def verify(thoroughly: bool = False) -> None:  # it uses no name that a file could rebind
        if said:
            raise Tampering(said[0])
        for kept in (quick, slow) if thoroughly else (quick,):
            for owner, name, keys, values in kept:
                now = vars_(owner).get
                if not all_(map_(is_, map_(now, keys), values)):
                    for key, value in zip(keys, values, strict=True):
                        if now(key) is not value:
                            refuse(f"replaces {name}.{key}")

    vocabulary.verify = verify
    quick = [kept_of(builtins, "builtins"), *kept_below(QUICK, LEFT_OUT)]
    quick += [kept_of(module, name) for name, module in hidden.items()]
    slow = kept_below([*SLOW, *SLOW_OF_MAX])

    def is_the_learners(frame: FrameType | None) -> bool:
        while frame and (frame.f_code.co_filename.endswith("/inspect.py") or frame.f_code.co_name.startswith("walk_")):
            frame = frame.f_back  # traceback.walk_tb, say, which hands frames to its caller
        return frame is None or not frame.f_code.co_filename.startswith(ours)

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        if not closed:
            return
        if event == "open" and isinstance(arguments[0], str | bytes):
            with contextlib.suppress(OSError, ValueError):
                found = os.stat(arguments[0])
                if answer := answers.get((found.st_dev, found.st_ino)):
                    raise AnswerWasRead(f"opens {answer}, the answer to this step")
        elif event in REFUSED:
            refuse(REFUSED[event])
        elif event == "object.__setattr__" and arguments[1] == "__code__":
            refuse("replaces the code of a function")
        elif event == "sys._getframe" or (event == "object.__getattr__" and arguments[1] in FRAMES):
            if looking:
                return  # this function itself is looking
            looking.append(True)
            theirs = is_the_learners(frame_of(1))
            looking.clear()
            if theirs:
                refuse("looks into the frames of the check")

    def open_again() -> str:
        closed.clear()
        vocabulary.verify = lambda: None
        modules.update(hidden, __main__=main)
        return said[0] if said else ""

    sys.addaudithook(watch)
    return Seal(verify, open_again)
