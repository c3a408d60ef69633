"""What those that run a server are told: figures for Prometheus, a dashboard that draws them, and lines of a log."""

import io
import json
import logging
import re

import pytest
from prometheus_client.parser import text_string_to_metric_families

from checker.course.paths import ROOT
from play.serving import logs
from play.serving.front.admission import Places
from play.serving.front.recording import CURRENT, Record
from play.serving.front.standing import Standing
from play.serving.metrics import Batches, Metrics

pytestmark = pytest.mark.slow

DASHBOARD = ROOT / "deploy/grafana.json"


@pytest.fixture
def metrics():
    made = Metrics()
    made.watch(Standing(), Places(32, 256))
    made.watch_batches(lambda: Batches(4, 10, 3, 64))
    return made


def series(metrics):
    """Every figure, by name and labels, as Prometheus would read it."""
    text = metrics.page()[0].decode()
    samples = [one for family in text_string_to_metric_families(text) for one in family.samples]
    return {(one.name, *one.labels.values()): one.value for one in samples}


def test_a_request_is_counted_by_path_and_status(metrics):
    for path, status in (("/v1/completions", 200), ("/v1/completions", 429), ("/../../etc", 404), ("/x" * 9999, 404)):
        metrics.add(Record("id", "POST", path, status=status, seconds=0.2, texts=1, complete=True))
    ended = dict(texts=1, ended="the model ended", error=503)
    metrics.add(Record("id", "POST", "/v1/completions", status=503, seconds=0.2, complete=True, **ended))
    found = series(metrics)
    requests = {labels: value for (name, *labels), value in found.items() for labels in [tuple(labels)] if name == "gpt2_requests_total"}  # fmt: skip
    completions = {("/v1/completions", status): 1 for status in ("200", "429", "503")}
    assert requests == completions | {("other", "404"): 2}
    assert found["gpt2_requests_ended_early_total",] == 1
    assert found["gpt2_request_seconds_count",] == 1  # a refusal takes no time
    assert found["gpt2_request_seconds_bucket", "0.1"] == 0
    assert found["gpt2_request_seconds_bucket", "0.25"] == 1


def test_a_stream_that_ended_early_is_not_counted_as_a_completion(metrics):
    stream = dict(id="id", method="POST", path="/v1/completions", status=200, texts=1, seconds=9.0)
    metrics.add(Record(**stream, complete=True, ended="it took too long", error=504))  # its last event says so
    metrics.add(Record(**stream))  # the client left
    metrics.add(Record(**stream | {"status": 0}))  # the client left before the answer began
    found = series(metrics)
    counted = {name[2]: value for name, value in found.items() if name[0] == "gpt2_requests_total"}
    assert counted == {"504": 1, "499": 2}
    assert found["gpt2_request_seconds_count",] == 0
    assert found["gpt2_requests_ended_early_total",] == 1


def test_the_figures_of_a_moment_are_looked_up(metrics):
    standing, places = Standing(), Places(32, 256)
    metrics = Metrics()
    metrics.watch(standing, places)
    assert series(metrics)["gpt2_ready",] == 0
    standing.open(object())
    standing.restarts, places.taken = 2, 40
    found = series(metrics)
    assert (found["gpt2_ready",], found["gpt2_model_restarts_total",]) == (1, 2)
    assert (found["gpt2_texts_running",], found["gpt2_texts_waiting",]) == (32, 8)
    standing.drain()
    assert series(metrics)["gpt2_ready",] == 0


def test_tokens_are_counted_for_all_and_for_the_request(metrics):
    record = Record("id", "POST", "/v1/completions")
    token = CURRENT.set(record)
    metrics.read_tokens(3)
    metrics.generated(20)
    metrics.took_to_first_token(0.5)
    metrics.took_to_first_token(0.7)  # of another text of the same request
    metrics.took_per_token(0.01)
    CURRENT.reset(token)
    metrics.generated(5)  # for nobody that is known
    found = series(metrics)
    assert (found["gpt2_prompt_tokens_total",], found["gpt2_generated_tokens_total",]) == (3, 25)
    assert (record.prompt_tokens, record.generated_tokens, record.first_token) == (3, 20, 0.5)
    assert found["gpt2_time_to_first_token_seconds_sum",] == pytest.approx(1.2)
    assert found["gpt2_time_per_token_seconds_count",] == 1
    assert (found["gpt2_batch_size_sum",], found["gpt2_batch_size_count",]) == (10, 4)
    assert (found["gpt2_cache_pages_used",], found["gpt2_cache_pages",]) == (3, 64)


def test_the_dashboard_draws_figures_that_there_are_and_all_of_them(metrics):
    metrics.add(Record("id", "POST", "/v1/completions", status=200))
    names = {name for name, *_ in series(metrics)}
    dashboard = json.loads(DASHBOARD.read_text())
    drawn = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    named = {name for expression in drawn for name in re.findall(r"\b(?:gpt2|process)_\w+", expression)}
    assert named - names == set()
    left_out = {name for name in names - named if name.startswith("gpt2_") and not name.endswith(("_sum", "_count"))}
    assert left_out == set()
    assert len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"])


@pytest.fixture
def log(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr(logs.sys, "stderr", stream)
    state = logs.LOGGER.handlers[:], logs.LOGGER.level, logs.LOGGER.propagate
    logs.write_json()
    yield lambda: [json.loads(line) for line in stream.getvalue().splitlines()]
    logs.LOGGER.handlers[:], logs.LOGGER.level, logs.LOGGER.propagate = state


def test_a_line_of_the_log_is_an_object_whatever_is_in_it(log):
    logs.say('a "quoted"\nmessage with é and \x1b[31m')
    logs.log_request(Record("an-id", "POST", "/x\n" * 1000, status=404, complete=True))
    logs.log_request(Record("other", "GET", "/v1/models", ended="it took too long", first_token=0.123456, texts=2))
    said, refused, ended = log()
    assert said["message"] == 'a "quoted"\nmessage with é and \x1b[31m'
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", said["time"])
    assert (refused["message"], refused["id"], refused["status"], len(refused["path"])) == (
        "request",
        "an-id",
        404,
        200,
    )
    assert "ended" not in refused
    assert (ended["ended"], ended["first_token_seconds"], ended["texts"]) == ("it took too long", 0.1235, 2)


def test_an_error_is_on_one_line_too(log):
    try:
        raise ValueError("a\nb")
    except ValueError:
        logs.LOGGER.exception("it broke")
    (line,) = log()
    assert (line["level"], line["message"]) == ("error", "it broke")
    assert line["exception"].endswith("ValueError: a\nb")


def test_nothing_is_logged_unless_it_is_asked_for(capsys):
    assert logs.LOGGER.level == logging.NOTSET
    logs.log_request(Record("an-id", "GET", "/"))
    logs.say("quiet")
    assert capsys.readouterr() == ("", "")
