"""A pytest plugin: which tests ``./run test`` runs, and how.

``./run test`` leaves out every test that is marked ``slow``, and does not even import a file whose ``pytestmark`` says
so: what such a file imports need not be installed. ``./run test --all`` runs them, ``./run nightly`` also those marked
``nightly``. Where there are many cases of one kind, ``sample``, ``sampled`` and ``spread`` choose some by ``--seed``.
"""

from __future__ import annotations

import argparse
import compileall
import datetime
import functools
import re
import signal
import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from checker.child.fixtures import step_of

MARKERS = {
    "slow": "takes long, or needs more than ./run test installs; ./run test --all runs it",
    "nightly": "takes minutes; ./run nightly alone runs it",
    "sampled": "is long, or has many cases; one in six is run each day, all nightly or where its file is named",
    "spread": "has many cases; ./run test runs one in six, --all one in three, and nightly, or its file named, all",
}
SHARE = 6  # of many cases of one kind, one in so many is run each day
NOT_INSTALLED = ("nbclient", "nbformat", "openai", "playwright", "ray", "starlette", "torch", "transformers", "uvicorn")
LEFT_OUT = (
    "Left out: browser, server, PyTorch, Ray, what takes long, and most of many cases. `./run test --all` runs them."
)
SLOW_FILE = re.compile(r"^pytestmark = (?:\[[^\]]*|.*)\bmark\.(?:slow|nightly)\b", re.MULTILINE)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the choice of tests."""
    group = parser.getgroup("course")
    group.addoption("--all", action="store_true", help="also run what is slow or needs the environment dev")
    group.addoption("--nightly", action="store_true", help="run everything, however long it takes")
    group.addoption("--rest", action="store_true", help="of --all, run only what ./run test leaves out")
    today = datetime.datetime.now(datetime.UTC).toordinal()
    group.addoption("--seed", type=int, default=today, help="of what is drawn by lot; by default, the day's own")


def pytest_configure(config: pytest.Config) -> None:
    """Make the markers known, and take SIGHUP as in a terminal: `nohup` ignores it, here and in what a test starts.

    Without ``--all``, a test finds no package that ``./run test`` does not install, even where the environment dev is.
    """
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    for name, meaning in MARKERS.items():
        config.addinivalue_line("markers", f"{name}: {meaning}")
    config.option.all |= config.option.nightly or config.option.rest
    if not config.option.all:
        sys.modules |= dict.fromkeys(NOT_INSTALLED)


def pytest_report_header(config: pytest.Config) -> str:
    """Say how to draw the same cases again."""
    return f"seed: {config.option.seed} (--seed {config.option.seed} draws the same mistakes and transcripts again)"


def pytest_sessionstart(session: pytest.Session) -> None:
    """Before tests run side by side, compile once what each of them would compile for itself."""
    config, option = session.config, session.config.option
    if not getattr(option, "numprocesses", None) or hasattr(config, "workerinput") or option.collectonly:
        return
    from cli.warm import FIRST, TO_TRACE, all_parts, compile_missing

    for program in ("cli", "checker", "play", "tools"):  # into bytecode, for every copy of the course
        compileall.compile_dir(config.rootpath / program, quiet=1)
    if config.args_source is pytest.Config.ArgsSource.TESTPATHS and not names_tests(config):
        compile_missing(all_parts() if option.all else TO_TRACE)
    else:
        compile_missing([FIRST])


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Without ``--all``, import no file that is slow as a whole."""
    return True if not config.option.all and is_slow(collection_path) else None


@functools.cache
def is_slow(path: Path) -> bool:
    """Return whether a file of tests says that it is slow as a whole."""
    return path.match("test_*.py") and bool(SLOW_FILE.search(path.read_text()))


def pytest_itemcollected(item: pytest.Item) -> None:
    """Let ``-k s07`` find all that is about step 07: its claims, and what is done for every step."""
    for kind, number in re.findall(r"(step|warmup)_(\d\d)\b", item.nodeid):
        item.extra_keyword_matches.add(kind[0] + number)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what was not asked for, and put compiled claims last; hook into MAX if a collected file imports it."""
    option, named = config.option, names_tests(config)
    cases, left_out = dict[str, int](), dict[pytest.Item, None]()
    for item in items:
        marks = {mark.name for mark in item.iter_markers()}
        function = item.nodeid.partition("[")[0]
        cases[function] = cases.get(function, zlib.crc32(function.encode())) + 1  # each begins at another day
        drawn, drawn_of_all = (named or is_drawn(cases[function], share, option) for share in (SHARE, SHARE // 2))
        is_left_out = "slow" in marks or ("spread" in marks and not drawn)  # of ./run test
        goes_further = is_left_out or "compiled" in marks or "sample" in getattr(item, "fixturenames", ())
        if option.all and "compiled" in marks and step_of(item.path).compiles_long:  # not ./run warm either
            marks.add("nightly")
        if (
            (is_left_out and not option.all)
            or ("nightly" in marks and not option.nightly)
            or ("sampled" in marks and not drawn)
            or ("spread" in marks and not drawn_of_all)
            or (option.rest and not goes_further)
        ):
            left_out[item] = None
    items[:] = [item for item in items if item not in left_out]
    config.hook.pytest_deselected(items=[*left_out])
    items.sort(key=lambda item: item.get_closest_marker("compiled") is not None)
    if "checker.max_adapter.runtime" in sys.modules:
        from checker.max_adapter.hooks import install_hooks

        install_hooks()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Have one process run the claims of a step, or a slow file, whose tests share a kernel, say, or a server."""
    from xdist.scheduler import LoadScopeScheduling

    class FilesTogether(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = Path(nodeid.partition("::")[0])
            return str(file) if file.parent.name == "tests" or is_slow(config.rootpath / file) else nodeid

    return FilesTogether(config, log)


def names_tests(config: pytest.Config) -> bool:
    """Return whether single tests are asked for: by a file, a word or a marker."""
    by_word = config.option.keyword or config.option.markexpr
    return bool(by_word) or not all(Path(named).is_dir() for named in config.args)


def is_drawn(case: int, share: int, option: argparse.Namespace) -> bool:
    """Return whether the case of this number is run: one in ``share`` each day, and all by night."""
    return option.nightly or (case + option.seed) % share == 0


@pytest.fixture
def sample(pytestconfig: pytest.Config) -> Callable[[Sequence[str]], list[str]]:
    """Return a function that draws some attempts of a step: one, with ``--all`` one in twelve, and by night all."""
    option = pytestconfig.option

    def draw(cases: Sequence[str]) -> list[str]:
        drawn = [case for number, case in enumerate(cases) if is_drawn(number, 2 * SHARE, option)]
        return drawn if option.all and drawn else [cases[option.seed % len(cases)]]

    return draw


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Iterator[None]:
    """Without ``--all``, end a compiled claim where MAX would begin to compile: a check's pass waits for no more."""
    if pyfuncitem.config.option.all or not pyfuncitem.get_closest_marker("compiled"):
        return (yield)
    from checker.max_adapter.tracing import AbandonedGraphError, GraphMode, in_mode

    with in_mode(GraphMode.TRACE):
        try:
            return (yield)
        except AbandonedGraphError:
            return True


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """End with what was left out."""
    if not config.option.all:
        terminalreporter.write_line(LEFT_OUT)
