"""Time the page of ``./run book`` beside ``watch``: how long a check takes to answer, and a key to be seen.

Both check the same file in turns. On the page, a figure is the time from Ctrl-Enter until the browser has the line; it
includes saving. For ``watch``, it is the time from writing the file. A key counts until the frame that shows it, in the
editor and in a plain text field of the same page.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from statistics import median
from typing import Any

from checker.course.paths import ROOT
from checker.course.skeletons import expected
from checker.course.steps import Step
from tools.benchmarks.checks.loop import ALL, NUMBERS, course_with
from tools.benchmarks.checks.save_to_verdict import WatchedStep
from tools.benchmarks.harness import (
    Column,
    Result,
    conditions,
    finish,
    load,
    ratio,
    seconds,
    table,
    take_turns,
    task_arguments,
)

LIMIT = 120_000  # milliseconds, for a check
LINK = re.compile(r"(http://127\.0\.0\.1:\d+/)#key=(\S+)")
KEYS = 30  # that are typed in a row, in each round
BETWEEN = 0.08  # seconds between two of them, as fast typists have it; at once, they would wait for each other
TYPED = "attention "
FIRST, RIGHT, PAGE, WATCH = "first line", "numbers", "page", "watch"
EDITOR, FIELD = "the editor", "a plain text field"
COLUMNS = (
    Column("from", "what"),
    Column("median, s", "median", ".3f"),
    Column("worst, s", "worst", ".3f"),
    Column("times `watch`, or a plain text field", "ratio", ".2f"),
)

#: Waits in the browser for a row and for words of a verdict, and times every key until the frame that shows it.
TIMING = """() => {
    window.timing = { keys: [] };
    timing.check = words => new Promise(done => {
        const box = document.querySelector('section.panel .verdict');
        let began, first;
        const press = ({ key }) => {
            if (key == 'Enter') began = performance.now();
        };
        addEventListener('keydown', press, true);
        new MutationObserver((changes, seen) => {
            if (!began) return;
            if (!first && box.querySelector('.rows li')) first = performance.now();
            if (!box.textContent.includes(words)) return;
            seen.disconnect();
            removeEventListener('keydown', press, true);
            done([first - began, performance.now() - began]);
        }).observe(box, { childList: true, subtree: true, characterData: true });
    });
    addEventListener('keydown', () => {
        const began = performance.now();
        requestAnimationFrame(() => {
            const after = new MessageChannel();
            after.port1.onmessage = () => timing.keys.push(performance.now() - began);
            after.port2.postMessage(0);
        });
    }, true);
    timing.seen = count => new Promise(done => {
        const look = () => timing.keys.length < count ? setTimeout(look, 20) : done(timing.keys);
        look();
    });
    const field = document.createElement('textarea');
    field.id = 'plain';
    document.querySelector('section.panel').after(field);
}"""


class ServedStep:
    """A step on the page of its chapter, in a browser, to time checks and keys.

    Args:
        page: a page of a browser.
        link: what the server says: its address, and the key.
        step: the step.
        pause: seconds between a verdict and the next save.
    """

    def __init__(self, page: Any, link: re.Match[str], step: Step, pause: float) -> None:
        self.page, self.pause, self.saves = page, pause, 0
        self.first: list[float] = []
        page.set_default_timeout(LIMIT)
        page.goto(f"{link[1]}{step.name}.html#key={link[2]}")
        self.editor = page.locator("section.panel .cm-content")
        self.editor.wait_for()
        self.editor.scroll_into_view_if_needed()
        page.evaluate(TIMING)

    def seconds(self, source: str, words: str) -> float:
        """Return the time from Ctrl-Enter to ``words``; keep the time to the first line."""
        self.saves += 1
        self.page.bring_to_front()
        self.editor.click()
        self.page.keyboard.press("Control+a")
        self.page.keyboard.insert_text(f"{source}\n# save {self.saves}\n")
        time.sleep(self.pause)
        told = self.page.evaluate_handle("words => ({ promise: timing.check(words) })", words)
        self.page.keyboard.press("Control+Enter")
        first, last = told.evaluate("told => told.promise")
        self.first.append(first / 1000)
        return last / 1000

    def typing(self, where: str) -> list[float]:
        """Return the seconds that each of some keys takes to be seen."""
        self.page.bring_to_front()
        self.page.evaluate("timing.keys.length = 0")
        (self.editor if where == EDITOR else self.page.locator("#plain")).click()
        for number in range(KEYS):
            self.page.keyboard.press(TYPED[number % len(TYPED)])
            time.sleep(BETWEEN)
        return [taken / 1000 for taken in self.page.evaluate("count => timing.seen(count)", KEYS)]


@contextlib.contextmanager
def served(folder: Path) -> Iterator[re.Match[str]]:
    """Serve the book of a copy of the course; yield its link."""
    (folder / "book").mkdir()
    for part in ("src", "theme", "book.toml"):
        (folder / "book" / part).symlink_to(ROOT / "book" / part)
    server = subprocess.Popen(
        [sys.executable, *task_arguments("book"), "--no-open", "--port", str(_free_port())],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(folder)},
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert server.stderr is not None
    try:
        found = next(filter(None, map(LINK.search, server.stderr)), None)
        if not found:
            raise RuntimeError("`./run book` did not say where the book is")
        yield found
    finally:
        server.send_signal(signal.SIGINT)
        server.wait()
        server.stderr.close()


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


def run(steps: Sequence[Step], rounds: int, pause: float, out: Path | None) -> None:
    """Time checks of some steps and keys, and print a table."""
    from tools.book_maker.browser import WIDTHS, chromium, open_page

    result = conditions(rounds)
    with tempfile.TemporaryDirectory() as name, ExitStack() as opened:
        browser = opened.enter_context(chromium())
        ways: dict[tuple[str, str], tuple[Any, str, str]] = {}
        pages = {}
        for step in steps:
            watched = WatchedStep(step, Path(name) / f"watch-{step.task}", pause)
            opened.enter_context(closing(watched.terminal))
            link = opened.enter_context(served(course_with(expected(step), Path(name) / f"page-{step.task}", step)))
            pages[step.task] = ServedStep(open_page(browser, max(WIDTHS), "light"), link, step, pause)
            words = NUMBERS if "mark.compiled" in step.check_file.read_text() else ALL
            for way, timed in ((PAGE, pages[step.task]), (WATCH, watched)):
                ways[step.task, way] = timed, step.solution_file.read_text(), words
        measured = pages[steps[0].task]
        keys: dict[str, list[list[float]]] = {EDITOR: [], FIELD: []}

        def measure(way: tuple[str, str]) -> float:
            timed, source, words = ways[way]
            return timed.seconds(source, words)

        def type_text(where: str) -> float:
            keys[where].append(measured.typing(where))
            return median(keys[where][-1])

        take_turns(ways, 1, measure)  # fills the caches
        for page in pages.values():
            page.first.clear()
        times = take_turns(ways, rounds, measure)
        typed = take_turns(keys, rounds, type_text)
    result["load afterwards"] = load()
    result["rows"] = [
        row
        for task, page in pages.items()
        for row in (
            figures(f"Ctrl-Enter to the first line, {task}", page.first),
            figures(f"Ctrl-Enter to the verdict of the numbers, {task}", times[task, PAGE], times[task, WATCH]),
        )
    ] + [figures("a key to the frame that shows it", typed[EDITOR], typed[FIELD], max(map(max, keys[EDITOR])))]
    finish(as_markdown(result), result, out)


def figures(what: str, some: list[float], beside: list[float] | None = None, worst: float | None = None) -> Result:
    """Return a row: the median and the worst of some times, and how often the others fit into them."""
    row = {"what": what, "median": seconds(some, 4), "worst": round(worst or max(some), 4)}
    return row | ({"ratio": ratio(some, beside)} if beside else {})


def as_markdown(result: Result) -> str:
    """Return the figures as a table."""
    return table(COLUMNS, result["rows"])
