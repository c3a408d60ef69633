"""What the check files share, and the options of ``./run test``."""

from __future__ import annotations

import compileall
import os
import re

import pytest

#: Files whose tests share what takes long to make: a server, a compiled model. One worker runs all tests of such a file.
TOGETHER = (
    "test_benchmarks.py",
    "test_causal_attention.py",
    "test_graphs.py",
    "test_haproxy.py",
    "test_linear.py",
    "test_option.py",
    "test_play.py",
    "test_serve.py",
)
PAGES = "test_book_browser.py"  # here one worker runs all tests of a page, which is the first parameter

LEFT_OUT = {
    "slow": "./run test --fast leaves it out: servers, browsers, PyTorch, all that the book shows, compiling, whole models, "
    "and commands that start MAX again and again",
    "nightly": "./run nightly alone runs it: minutes for one test",
}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the choice of tests."""
    group = parser.getgroup("course")
    group.addoption("--fast", action="store_true", help="leave out what is slow, and grade a sample of the mistakes")
    group.addoption("--nightly", action="store_true", help="run everything, however long it takes")
    group.addoption("--seed", type=int, default=1, help="of what is shuffled or drawn by lot")


def pytest_configure(config: pytest.Config) -> None:
    """Make the markers known."""
    for name, meaning in LEFT_OUT.items():
        config.addinivalue_line("markers", f"{name}: {meaning}")


def pytest_sessionstart(session: pytest.Session) -> None:
    """Before tests run side by side, compile once what each of them would compile for itself."""
    config, option = session.config, session.config.option
    if not getattr(option, "numprocesses", None) or hasattr(config, "workerinput") or option.collectonly:
        return
    from cli.warm import compile_first, compile_missing

    if config.args_source is pytest.Config.ArgsSource.TESTPATHS and not option.keyword and not option.markexpr:
        from tools.course_copy import PROGRAMS

        for program in PROGRAMS:  # into bytecode, for every copy of the course
            compileall.compile_dir(config.rootpath / program, quiet=1)
        compile_missing()
    else:
        compile_first()


def pytest_itemcollected(item: pytest.Item) -> None:
    """Let ``-k s07`` find all that is about step 07: its claims, and what is done for every step."""
    for kind, number in re.findall(r"(step|warmup)_(\d\d)\b", item.nodeid):
        item.extra_keyword_matches.add(kind[0] + number)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what was not asked for."""
    fast, nightly = config.getoption("fast", False), config.getoption("nightly", False)
    names = ["slow", "compiled", "nightly"] if fast else [] if nightly else ["nightly"]
    left_out = [item for item in items if any(map(item.get_closest_marker, names))]
    items[:] = [item for item in items if item not in left_out]
    config.hook.pytest_deselected(items=left_out)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Take one worker more than there are processors: many tests wait for a process, a page or a limit."""
    return (os.cpu_count() or 1) + 1


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """Give each worker the next test, but tests that share something to one (see above)."""
    from xdist.scheduler import LoadScopeScheduling

    class Scheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.partition("::")[0]
            if file.endswith(PAGES):
                return file + re.split(r"[-\]]", nodeid.partition("[")[2])[0]
            return file if file.endswith(TOGETHER) else nodeid

    return Scheduling(config, log)


@pytest.fixture(scope="module")
def config(reference):
    """The awkward configuration that the reference was recorded with."""
    from solutions.solution_01 import GPT2Config  # not before it is asked for: it is the answer to step 01

    return GPT2Config(**reference.config)
