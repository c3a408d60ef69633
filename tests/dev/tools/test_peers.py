"""`./run bench-peers`: what differs is not timed, what fails is told, and figures of every processor stay apart."""

import copy
import json
import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from checker.course.paths import ROOT
from checker.processor import instruction_sets
from tools.benchmarks import harness
from tools.benchmarks.backends import Workload
from tools.benchmarks.peers import environments, measuring, models, results
from tools.benchmarks.peers.catalog import PEERS, REFERENCE, TOLERANCES, WAYS, not_worth_waiting_for, ways_of
from tools.benchmarks.peers.measuring import SMALL, Plan, plan_of
from tools.benchmarks.peers.outputs import DifferentOutput, compare, log_probabilities
from tools.benchmarks.peers.programs import graphs

FORWARD, TEXT = Workload("forward", "", 2, 5), Workload("text", "", 2, 4, 3)
COURSE, INT8, LAST_ONLY = WAYS[0], ways_of(["ctranslate2"])[1], ways_of(["llama.cpp"])[0]


def logits(*shape):
    return 3 * np.random.default_rng(5).standard_normal(shape).astype(np.float32)


def title(way):
    return way.title


# ---------------------------------------------------------------- outputs


def test_logits_are_compared_up_to_what_the_precision_explains():
    right = logits(2, 5, 11)
    expected = log_probabilities(right)
    np.testing.assert_allclose(np.exp(expected).sum(axis=-1), 1, rtol=1e-5)
    assert compare(COURSE, FORWARD, right, expected) < 1e-6
    assert compare(COURSE, FORWARD, right + 7, expected) < 1e-6  # the same probabilities
    wrong = right.copy()
    wrong[1, 3, 2] += 0.02 * np.ptp(expected)
    with pytest.raises(DifferentOutput, match="differs from Hugging Face"):
        compare(COURSE, FORWARD, wrong, expected)
    assert 0.005 < compare(INT8, FORWARD, wrong, expected) < TOLERANCES["int8"]
    wrong[1, 3, 2] = np.nan
    with pytest.raises(DifferentOutput, match="nan"):
        compare(INT8, FORWARD, wrong, expected)


def test_a_peer_that_computes_the_last_logits_is_compared_there():
    right = logits(2, 5, 11)
    expected = log_probabilities(right)
    assert compare(LAST_ONLY, FORWARD, right[:, -1:], expected) < 1e-6
    with pytest.raises(DifferentOutput):
        compare(LAST_ONLY, FORWARD, expected[:, -2:-1], expected)
    with pytest.raises(DifferentOutput, match="shape"):
        compare(LAST_ONLY, FORWARD, expected[:1, -1:], expected)


def test_a_text_may_part_only_where_two_tokens_are_equally_likely():
    told = logits(2, 3, 9)
    told[1, 1, [2, 6]] = told.max() + 1
    told[1, 1, 6] -= np.float32(1e-6)
    expected = log_probabilities(told)
    text = told.argmax(axis=-1)
    assert compare(COURSE, TEXT, text, expected) == 0
    text[1, 1:] = 6, (text[1, 2] + 1) % 9
    assert compare(COURSE, TEXT, text, expected) < 1e-5
    text[0, 0] = told[0, 0].argmin()
    for way in (COURSE, INT8):
        with pytest.raises(DifferentOutput):
            compare(way, TEXT, text, expected)
    with pytest.raises(DifferentOutput, match="wrote"):
        compare(COURSE, TEXT, text[:, :2], expected)


def test_every_precision_has_a_tolerance():
    assert {way.dtype for way in WAYS} | {way.cache for way in WAYS} == TOLERANCES.keys()
    assert [way.title for way in WAYS if way.tolerance < 1e-4] == [
        "this course",
        "this course, with kernels",
        "Hugging Face, sdpa",
        "Hugging Face, eager",
        "Hugging Face, torch.compile",
        "CTranslate2",
        "ONNX Runtime",
        "OpenVINO",
    ]


# ---------------------------------------------------------------- the catalog


def test_a_way_has_a_name_of_its_own_and_a_peer():
    assert len({way.title for way in WAYS}) == len(WAYS)
    assert {way.peer for way in WAYS} == PEERS.keys()
    assert REFERENCE.dtype == "float32"
    assert WAYS[0].of(FORWARD) == replace(FORWARD, way="MAX")


def test_a_plan_leaves_out_what_is_too_large():
    shapes = {(work.batch, work.length) for work in Plan().forwards()}
    assert (1, 1024) in shapes
    assert (8, 128) in shapes
    assert (8, 512) not in shapes
    plan = plan_of(False, parts=["generation"], lengths=[3], batches=None)
    assert [(work.batch, work.length) for work in plan.texts()] == [(1, 3), (8, 3)]
    assert plan.parts == ("generation",)
    assert plan_of(True, parts=None, lengths=None, batches=None) == SMALL


# ---------------------------------------------------------------- greedy text of a graph


def test_the_loop_around_a_graph_writes_the_likeliest_token_of_each_row():
    seen = []

    def begin(batch):
        def step(ids, places):  # the token after n is n + 1
            seen.append(ids.shape)
            assert places == [ids.shape[1] - 1]
            return np.eye(7)[(ids[:, places] + 1) % 7]

        assert batch == 2
        return step

    call, read = graphs.prepare(replace(TEXT, new_tokens=4), 7, begin)
    start = TEXT.token_ids(7)[:, -1]
    (text,) = read(call())
    np.testing.assert_array_equal(text, (start[:, None] + np.arange(1, 5)) % 7)
    assert seen == [(2, 4), (2, 1), (2, 1), (2, 1)]


# ---------------------------------------------------------------- what is timed


@pytest.fixture
def peers(tmp_path, monkeypatch):
    """Those of two ways, whose outputs a test sets by way and workload; an exception is raised."""

    class Idle:
        def __init__(self, *arguments):
            pass

        def close(self):
            pass

    def output(way, workload):
        told = peers.outputs.get((way, workload), logits(2, 5, 11))
        if isinstance(told, Exception):
            raise told
        return [told], 0.1

    monkeypatch.setattr(measuring, "Worker", Idle)
    peers = measuring.Peers(tmp_path, [COURSE, INT8], turn=0.3)
    peers.outputs = {}
    monkeypatch.setattr(peers, "output", output)
    yield peers
    peers.close()


SHORT = replace(FORWARD, length=4)


def test_what_fails_once_is_timed_with_everything_else(peers):
    peers.outputs[INT8, SHORT] = RuntimeError("no memory")
    peers.check(FORWARD)
    peers.check(SHORT)
    assert peers.checked[FORWARD].calls == {COURSE: 3, INT8: 3}
    assert peers.checked[SHORT].calls == {COURSE: 3}
    assert peers.checked[SHORT].failed == {INT8.title: "no memory"}
    assert peers.ways == [COURSE, INT8]
    assert peers.different == {}


def test_what_computes_something_else_once_is_never_timed(peers):
    peers.outputs[INT8, SHORT] = logits(2, 5, 11) + 5 * np.eye(5, 11)
    for work in (FORWARD, SHORT, replace(FORWARD, length=3)):
        peers.check(work)
    assert all(found.calls == {COURSE: 3} for found in peers.checked.values())
    assert all(found.differences.keys() == {COURSE.title} for found in peers.checked.values())
    assert peers.ways == [COURSE]
    assert "(forward of 2 x 4)" in peers.different[INT8.title]


# ---------------------------------------------------------------- environments


def test_an_environment_is_ready_only_with_the_pins_of_now(tmp_path, monkeypatch):
    monkeypatch.setattr(environments, "HOME", tmp_path / "home")
    monkeypatch.setattr(environments, "REQUIREMENTS", tmp_path)
    (tmp_path / "peer-x.txt").write_text("a==1\n")
    assert not environments.is_ready("x")
    environments.root_of("x").mkdir(parents=True)
    (environments.root_of("x") / "installed.txt").write_text("a==1\n")
    assert environments.is_ready("x")
    environments.make("x")  # nothing to do
    (tmp_path / "peer-x.txt").write_text("a==2\n")
    assert not environments.is_ready("x")


@pytest.mark.slow
def test_what_cannot_be_installed_is_said_and_tried_again(tmp_path, monkeypatch):
    monkeypatch.setattr(environments, "HOME", tmp_path / "home")
    monkeypatch.setattr(environments, "REQUIREMENTS", tmp_path)
    (tmp_path / "peer-x.txt").write_text("./there-is-no-such-package\n")
    for _ in range(2):
        with pytest.raises(environments.CannotPrepare, match=r"peer-x\.txt could not be installed"):
            environments.make("x")
    (tmp_path / "peer-x.txt").write_text("")
    environments.make("x")
    assert environments.is_ready("x")
    assert subprocess.run([environments.executable("x"), "-c", ""], check=False).returncode == 0


@pytest.mark.slow
def test_an_export_that_fails_leaves_the_end_of_its_log(tmp_path, monkeypatch):
    monkeypatch.setattr(environments, "executable", lambda peer: sys.executable)
    why = models.export("gguf-F32", tmp_path)  # without a checkpoint
    assert 1 <= len(why.splitlines()) <= models.LOG_LINES
    assert "Error" in why.splitlines()[-1]
    assert not (tmp_path / "gguf-F32").exists()
    (tmp_path / "gguf-F32").mkdir()
    assert models.export("gguf-F32", tmp_path) == ""


# ---------------------------------------------------------------- figures


def figures(ms=5.0, version="1", machine="m"):
    row = {"batch": 1, "length": 8, "ms": {COURSE.title: ms, INT8.title: 2.0}, "failed": {}, "rounds": 3, "load": 0.1}
    versions = {"course": f"MAX {version}"}
    return {"machine": machine, "instruction sets": ["AVX2"], "versions": versions, "parts": {"prefill": [row]}}


def test_figures_of_another_processor_stay(monkeypatch):
    monkeypatch.setattr(harness, "key", lambda: "One")
    first = results.merge({}, figures())
    monkeypatch.setattr(harness, "key", lambda: "Two")
    both = results.merge(first, figures(ms=9.0))
    assert len(both) == 2
    assert {key: both[key] for key in first} == first
    printed = results.as_markdown(both)
    assert all(f"**{key}**" in printed for key in both)


def test_a_row_that_is_measured_again_is_replaced_and_others_stay():
    before = results.merge({}, figures())
    longer = figures(ms=7.0)
    longer["parts"]["prefill"][0]["length"] = 16
    (mine,) = results.merge(before, longer).values()
    assert [row["ms"][COURSE.title] for row in mine["parts"]["prefill"]] == [5.0, 7.0]
    (mine,) = results.merge(before, figures(ms=6.0)).values()
    assert [row["ms"][COURSE.title] for row in mine["parts"]["prefill"]] == [6.0]


def test_a_note_stays_until_all_that_it_is_about_is_measured_again():
    before = results.merge({}, figures())
    (name,) = before
    before[name]["note"] = "beside other work"
    longer = figures(ms=7.0)
    longer["parts"]["prefill"][0]["length"] = 16
    assert harness.notes(results.merge(before, longer)) == f"- {name}: beside other work."
    assert harness.notes(results.merge(before, figures(ms=6.0))) == "- None"


def test_figures_of_another_version_are_not_mixed():
    before = results.merge({}, figures())
    longer = figures(version="2")
    longer["parts"]["prefill"][0]["length"] = 16
    (mine,) = results.merge(before, longer).values()
    assert [row["length"] for row in mine["parts"]["prefill"]] == [16]


def test_the_table_marks_the_best_of_float32_and_what_was_not_timed():
    result = figures()
    result["parts"]["prefill"][0]["failed"] = {"OpenVINO": "last line of a log"}
    printed = results.as_markdown({"One": result})
    assert f"| {COURSE.title} | **5.0** |" in printed
    assert f"| {INT8.title} | 2.0 |" in printed
    assert "| OpenVINO | not timed |" in printed
    assert "last line of a log" in printed
    changed = copy.deepcopy(result)
    changed["parts"]["prefill"][0]["ms"][INT8.title] = 3.0
    assert results.as_markdown({"One": changed}) != printed


@pytest.mark.parametrize("instructions", [["AVX-512", "AVX-512 BF16"], ["AVX2", "AMX BF16"], ["NEON", "BF16"]])
def test_bfloat16_is_timed_where_a_processor_can_multiply_it(instructions):
    assert not_worth_waiting_for(WAYS, instructions) == {}
    others = [name for name in instructions if "BF16" not in name]
    assert not_worth_waiting_for(WAYS, others).keys() == {way.title for way in WAYS if way.dtype == "bfloat16"}


# ---------------------------------------------------------------- the whole, with what is installed


@pytest.mark.parametrize("arguments", [("--peers", "llama"), ("--only", "prefil")])
def test_what_does_not_exist_is_named_before_anything_runs(arguments):
    done = subprocess.run(
        [sys.executable, "-m", "tools", "bench-peers", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "there is no such" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("peer", PEERS)
def test_a_peer_runs_the_small_model(peer, tmp_path):
    for needed in {"hugging-face", peer} - {"course"}:
        if not environments.is_ready(needed):
            pytest.skip(f"the environment of {needed} is not there; `./run bench-peers --small` makes it")
    out = tmp_path / "peers.json"
    done = subprocess.run(
        [sys.executable, "-m", "tools", "bench-peers", "--small", "--rounds", "1", "--peers", peer, "--out", str(out)],
        cwd=ROOT,
        env=os.environ | {"HF_HUB_OFFLINE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (mine,) = json.loads(out.read_text()).values()
    left_out = not_worth_waiting_for(ways_of([peer]), instruction_sets())
    assert set(results.reasons(json.loads(out.read_text())).values()) == set(left_out.values())
    assert mine["parts"].keys() == set(Plan.parts)
    for part, rows in mine["parts"].items():
        for row in rows:
            assert row[results.PARTS[part][0]].keys() == {way.title for way in ways_of([peer])} - left_out.keys()
    assert done.stdout.strip() == results.as_markdown(json.loads(out.read_text()))
