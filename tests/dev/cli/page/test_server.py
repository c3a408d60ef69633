"""The process that serves the book: it ends with all that it has started, and knows when the book is to be built."""

import concurrent.futures
import contextlib
import errno
import http.client
import os
import signal
import time

import psutil
import pytest

from checker.course.steps import find_step
from checker.errors import UserError
from cli.page import server
from tests.dev.cli.page.serving import serve
from tools.course_copy import python

pytestmark = pytest.mark.slow

SOLUTION = find_step("w05").read_solution().text


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGKILL, -signal.SIGKILL)])
def test_it_ends_with_all_that_it_has_started(site, number, status):
    site.course.write("w05", f"{SOLUTION}\nsum(iter(int, 1))\n")  # a loop of C, which notices nothing
    with serve(site.course) as other, concurrent.futures.ThreadPoolExecutor(1) as pool:
        answer = pool.submit(other.ask, "/api/steps/warmup_05/check", {})
        server, deadline = psutil.Process(other.server.pid), time.monotonic() + 30
        while not any(child.cpu_times().user > 0.6 for child in server.children(recursive=True)):
            assert time.monotonic() < deadline, "no child got so far"
            time.sleep(0.02)
        started = server.children(recursive=True)
        os.killpg(other.server.pid, number)
        assert other.server.wait(10) == status
        _, alive = psutil.wait_procs(started, timeout=5)
        assert [child for child in alive if child.status() != psutil.STATUS_ZOMBIE] == []
        with contextlib.suppress(http.client.HTTPException, OSError):
            answer.result()


def test_where_no_port_can_be_opened_that_is_said(monkeypatch):
    def refuse(address):
        raise PermissionError(errno.EACCES, "not allowed")

    monkeypatch.setattr("socket.create_server", refuse)
    with pytest.raises(UserError, match="No port of this machine can be opened"):
        server.serve(print, port=None, open_=False, trusted=())
    with pytest.raises(UserError, match="Port 80 cannot be opened: not allowed"):
        server.serve(print, port=80, open_=False, trusted=())


def test_the_book_is_built_again_when_a_source_has_changed(site):
    state = site.course.root, "-c", "from cli.page import server; print(server.is_built())"
    source = site.course.root / "tools" / "book_maker" / "new.py"
    test = site.course.root / "tests" / "dev" / "test_new.py"
    test.parent.mkdir(exist_ok=True)
    test.write_text("")
    site.course.write("w05", "x = 1\n")
    assert python(*state).stdout == "True\n", "neither a learner's step nor a test of the tool is a source"
    test.unlink()
    source.write_text("")
    assert python(*state).stdout == "False\n"
    source.unlink()
