"""What the server counts and times, for Prometheus.

Names follow Prometheus' conventions: seconds, and ``_total`` for what only grows. No label is a client's choice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, disable_created_metrics
from prometheus_client.core import CounterMetricFamily, SummaryMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector

from play.serving.front.admission import Places
from play.serving.front.recording import CURRENT, Record
from play.serving.front.standing import Standing
from play.serving.front.validating import PATHS

LONG = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600)  # seconds of a request
SHORT = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5)  # seconds of a token


@dataclass(frozen=True)
class Batches:
    """What is known of the batches that the model has run so far."""

    count: int
    texts: int  # in all of them together
    pages_used: int  # of the cache, after the last one
    pages: int


class Metrics:
    """Every figure of one server, in a registry of its own."""

    def __init__(self) -> None:
        disable_created_metrics()  # a series for each of them, which nobody reads
        self.registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        self.requests = Counter(
            "gpt2_requests",
            "Requests that have ended, by path and status; a stream that failed has that of its error, 499 is a client "
            "that left.",
            ["path", "status"],
            registry=registry,
        )
        self.ended = Counter("gpt2_requests_ended_early", "Requests that the server ended.", registry=registry)
        self.request_seconds = Histogram(
            "gpt2_request_seconds", "How long a complete completion took.", registry=registry, buckets=LONG
        )
        self.prompt_tokens = Counter("gpt2_prompt_tokens", "Tokens of prompts.", registry=registry)
        self.generated_tokens = Counter("gpt2_generated_tokens", "Tokens that were generated.", registry=registry)
        self.first_token = Histogram(
            "gpt2_time_to_first_token_seconds",
            "From a request's arrival to its first token.",
            registry=registry,
            buckets=LONG,
        )
        self.time_per_token = Histogram(
            "gpt2_time_per_token_seconds",
            "Between two tokens of a text, on average over the text.",
            registry=registry,
            buckets=SHORT,
        )

    def watch(self, standing: Standing, places: Places) -> None:
        """Add what is known of the server at any moment."""
        self._gauge("ready", "1 if requests are taken.", lambda: standing.obstacle() is None)
        self._gauge("texts_running", "Texts in the batch.", lambda: places.running)
        self._gauge("texts_waiting", "Texts that wait for a place in the batch.", lambda: places.waiting)
        self._gauge("batch_places", "Texts that may run at once.", lambda: places.batch)
        self._gauge("queue_places", "Texts that may wait.", lambda: places.queue)
        self.registry.register(_Restarts(standing))

    def watch_batches(self, look: Callable[[], Batches]) -> None:
        """Add what is known of the batches that the model has run."""
        self._gauge("cache_pages_used", "Pages of the cache in use.", lambda: look().pages_used)
        self._gauge("cache_pages", "Pages of the cache.", lambda: look().pages)
        self.registry.register(_BatchSize(look))

    def _gauge(self, name: str, meaning: str, look: Callable[[], float]) -> None:
        Gauge(f"gpt2_{name}", meaning, registry=self.registry).set_function(look)

    def took_to_first_token(self, seconds: float) -> None:
        """Time a text's first token; the request that is being answered has the earliest of its texts."""
        self.first_token.observe(seconds)
        if (record := CURRENT.get(None)) and record.first_token is None:
            record.first_token = seconds

    def took_per_token(self, seconds: float) -> None:
        """Time the further tokens of a text, each on average."""
        self.time_per_token.observe(seconds)

    def read_tokens(self, count: int) -> None:
        """Count the tokens of the prompts of the request that is being answered."""
        self.prompt_tokens.inc(count)
        if record := CURRENT.get(None):
            record.prompt_tokens += count

    def generated(self, count: int) -> None:
        """Count the tokens that were generated for the request that is being answered."""
        self.generated_tokens.inc(count)
        if record := CURRENT.get(None):
            record.generated_tokens += count

    def add(self, record: Record) -> None:
        """Count a request that has ended."""
        path = record.path if record.path in PATHS else "other"
        self.requests.labels(path, str(record.outcome)).inc()
        self.ended.inc(bool(record.ended))
        if record.texts and record.outcome == 200:
            self.request_seconds.observe(record.seconds)

    def page(self) -> tuple[bytes, str]:
        """Return everything as text, and the type of that text."""
        return generate_latest(self.registry), CONTENT_TYPE_LATEST


@dataclass(eq=False)
class _BatchSize(Collector):
    """The mean of a batch is the quotient of two rates."""

    look: Callable[[], Batches]

    def collect(self) -> Iterator[SummaryMetricFamily]:
        batches = self.look()
        yield SummaryMetricFamily(
            "gpt2_batch_size", "Texts in a batch.", count_value=batches.count, sum_value=batches.texts
        )


@dataclass(eq=False)
class _Restarts(Collector):
    standing: Standing

    def collect(self) -> Iterator[CounterMetricFamily]:
        yield CounterMetricFamily(
            "gpt2_model_restarts", "How often the model was started again.", value=self.standing.restarts
        )
