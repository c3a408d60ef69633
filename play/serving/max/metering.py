"""What MAX measures, brought into our metrics, and into memory that two processes share.

MAX hands each of its measurements to a client. In the server's process that is a :class:`Meter`; the process that runs
the model has a :class:`BatchMeter`, which writes what it learns of a batch into shared memory, where a probe reads it.
"""

from __future__ import annotations

import functools
import multiprocessing
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from enum import IntEnum
from typing import Any

from max.serve.config import Settings
from max.serve.telemetry.metrics import MaxMeasurement, MetricClient

from play.serving.metrics import Batches, Metrics


class Shared(IntEnum):
    """The places in the shared memory, in the order of :class:`play.serving.metrics.Batches`."""

    COUNT = 0
    TEXTS = 1
    PAGES_USED = 2
    PAGES = 3


class BatchMeter(MetricClient):
    """Keeps what is learned of batches, in the process that runs the model."""

    def __init__(self, shared: Any) -> None:
        self.shared = shared

    def send_measurement(self, metric: MaxMeasurement) -> None:
        """Take one measurement."""
        name, shared = metric.instrument_name, self.shared
        if name == "maxserve.batch_size":
            shared[Shared.TEXTS] += metric.value
            shared[Shared.COUNT] += 1
        elif name == "maxserve.cache.num_used_blocks":
            shared[Shared.PAGES_USED] = metric.value
        elif name == "maxserve.cache.num_total_blocks":
            shared[Shared.PAGES] = metric.value

    def cross_process_factory(self, settings: Settings) -> Callable[[], AbstractAsyncContextManager[MetricClient]]:
        """Return what makes a client like this one in another process."""
        return functools.partial(_batch_meter, self.shared)


@asynccontextmanager
async def _batch_meter(shared: Any) -> AsyncGenerator[MetricClient, None]:
    yield BatchMeter(shared)


class Meter(MetricClient):
    """Adds what MAX measures of requests to the metrics."""

    def __init__(self, metrics: Metrics) -> None:
        self.metrics = metrics
        self.shared = multiprocessing.get_context("spawn").RawArray("d", len(Shared))
        metrics.watch_batches(self.batches)

    def batches(self) -> Batches:
        """Return what is known of the batches that the model has run."""
        return Batches(*(int(self.shared[place]) for place in Shared))

    def send_measurement(self, metric: MaxMeasurement) -> None:
        """Take one measurement; MAX's times are in milliseconds."""
        name, value, metrics = metric.instrument_name, metric.value, self.metrics
        if name == "maxserve.time_to_first_token":
            metrics.took_to_first_token(value / 1000)
        elif name == "maxserve.time_per_output_token":
            metrics.took_per_token(value / 1000)
        elif name == "maxserve.num_input_tokens":
            metrics.read_tokens(int(value))
        elif name == "maxserve.num_output_tokens":
            metrics.generated(int(value))

    def cross_process_factory(self, settings: Settings) -> Callable[[], AbstractAsyncContextManager[MetricClient]]:
        """Return what makes the client of the process that runs the model."""
        return functools.partial(_batch_meter, self.shared)
