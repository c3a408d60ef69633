"""MAX's own figures of requests, batches and the cache, at our ``/metrics`` and in the records of requests.

MAX hands each of its measurements to a client. That of the server's process commits them to MAX's figures at once; that
of the process that runs the model sends them there through a queue.
"""

from __future__ import annotations

import functools
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from max.serve.config import Settings
from max.serve.telemetry.metrics import MaxMeasurement, MetricClient
from max.serve.telemetry.process_controller import ProcessMetricClient

from play.serving.life import SIGNALS
from play.serving.records import CURRENT


class Meter(MetricClient):
    """The client of the server's process."""

    def __init__(self) -> None:
        self.queue: Any = multiprocessing.get_context("spawn").Queue()
        self.last_batch = 0.0  # when the model last ran one, by time.monotonic()
        threading.Thread(target=self._commit_batches, daemon=True).start()

    def _commit_batches(self) -> None:
        while True:
            for measurement in self.queue.get():
                measurement.commit()
            self.last_batch = time.monotonic()

    def send_measurement(self, metric: MaxMeasurement) -> None:
        """Take one measurement; MAX's times are in milliseconds."""
        metric.commit()
        if record := CURRENT.get(None):
            if metric.instrument_name == "maxserve.num_input_tokens":
                record.prompt_tokens += int(metric.value)
            elif metric.instrument_name == "maxserve.num_output_tokens":
                record.generated_tokens += int(metric.value)
            elif metric.instrument_name == "maxserve.time_to_first_token":  # of several texts, that of the first
                record.first_token_seconds = record.first_token_seconds or metric.value / 1000

    def cross_process_factory(self, settings: Settings) -> Callable[[], AbstractAsyncContextManager[MetricClient]]:
        """Return what makes the client of the process that runs the model."""
        return functools.partial(_client_of_the_model, self.queue)


@asynccontextmanager
async def _client_of_the_model(queue: Any) -> AsyncGenerator[MetricClient, None]:
    """Make the client. MAX does this first in that process, so this also ties its end to that of the server.

    It ends with the server alone. A signal may go to all processes of a group, as systemd and a terminal send it, and
    requests go on meanwhile.
    """
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    threading.Thread(target=_end_with_the_server, daemon=True).start()
    yield ProcessMetricClient(queue)


def _end_with_the_server() -> None:
    server = multiprocessing.parent_process()
    assert server, "MAX starts this process by multiprocessing"
    server.join()
    os._exit(1)
