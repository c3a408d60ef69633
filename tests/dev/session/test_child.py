"""The process of a check: how long it lives."""

import threading
import time

import psutil

from checker.course.steps import find_step
from checker.session.child import Child


def test_a_child_that_waits_outlives_the_thread_that_started_it():
    """The page starts it in a thread that ends with the check before; the kernel's own tie would end it, too."""
    started = []
    resting = threading.Event()

    def start():
        started.append(Child(find_step("w01")))
        resting.wait(60)

    thread = threading.Thread(target=start)
    thread.start()
    while not started:
        time.sleep(0.01)
    with started[0] as child:
        process = psutil.Process(child.process.pid)
        deadline = time.monotonic() + 30
        while process.status() != psutil.STATUS_STOPPED and time.monotonic() < deadline:
            time.sleep(0.02)
        resting.set()
        thread.join()
        time.sleep(0.2)
        assert process.status() == psutil.STATUS_STOPPED
    assert child.process.returncode is not None
    assert child.guard.returncode is not None
