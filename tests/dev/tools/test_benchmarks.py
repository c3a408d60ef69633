"""The benchmarks: nothing is timed that computes something else, and figures are shown as they were measured."""

import json
import re
import subprocess
import sys
from contextlib import closing

import numpy as np
import pytest

from checker.course.steps import ROOT
from play.processor import instruction_sets
from tools.benchmarks import bench, harness, preparing
from tools.benchmarks.comparison import Comparison, Way, largest_difference
from tools.benchmarks.peers import tables
from tools.benchmarks.peers.catalog import REFERENCE, WAYS
from tools.benchmarks.preparing import COURSE, LLAMA_CPP, PEERS
from tools.benchmarks.workers import Workload
from tools.course_copy import python

OURS, INT8 = WAYS[0], next(way for way in WAYS if way.dtype == "int8")


def logits(*shape):
    return 3 * np.random.default_rng(5).standard_normal(shape).astype(np.float32)


def changed(array, place, by):
    array = array.copy()
    array[place] += by
    return array


def test_how_far_an_output_is_from_the_right_one():
    right = logits(2, 11)
    spread = float(np.ptp(bench.log_probabilities(right)))
    assert bench.difference(right + 7, right) <= OURS.tolerance  # the same probabilities
    assert 0.02 <= bench.difference(changed(right, (1, 2), 0.03 * spread), right) <= INT8.tolerance
    assert largest_difference(right, right) == 0
    assert largest_difference(changed(right, (1, 2), 1e-3 * right.max()), right) == pytest.approx(1e-3, rel=0.1)
    wrong = changed(right, (1, 2), np.nan)
    assert np.isnan([bench.difference(wrong, right), largest_difference(wrong, right)]).all()


def test_a_text_may_part_only_where_two_tokens_are_equally_likely():
    scores = logits(2, 3, 9)
    scores[1, 1, [2, 6]] = scores.max() + 1
    scores[1, 1, 6] -= np.float32(1e-6)
    text = scores.argmax(axis=-1)
    assert bench.difference(text, scores) == 0
    text[1, 1:] = 6, (text[1, 2] + 1) % 9  # a tie, after which the texts have nothing to do with each other
    assert bench.difference(text, scores) < OURS.tolerance
    wrong = changed(text, (0, 0), scores[0, 0].argmin() - text[0, 0])
    assert bench.difference(wrong, scores) > INT8.tolerance


LIBRARY = """
import sys
import numpy as np
from tools.benchmarks.workers import be

def prepare(folder, workload):
    if workload.how == "fail" and workload.length > 1:
        raise MemoryError("no room")
    array = np.ones(workload.length, np.float32)
    if workload.length > 1:
        array = {"wrong": 2 * array, "nan": np.nan * array, "short": array[1:]}.get(workload.how, array)
    return lambda: print("noise") or array, lambda array: array

be("Library 1.0", prepare)
"""


@pytest.fixture
def compare(tmp_path, monkeypatch):
    """This course's library and another, both made up."""
    (tmp_path / "library.py").write_text(LIBRARY)
    command = ["env", f"PYTHONPATH={ROOT}", sys.executable, str(tmp_path / "library.py"), "."]
    monkeypatch.setattr(preparing, "command", lambda library, dtype, checkpoint: command)
    with closing(Comparison(tmp_path, Way("reference", "other"), 2, 0.001)) as comparison:
        yield comparison


def test_only_what_is_right_is_timed(compare):
    """What fails or is wrong is left out from then on; and if this course is wrong, nothing is timed."""
    ways = [Way(how, "other", how=how) for how in ("fine", "fail", "wrong", "nan", "short")]
    for length, timed in ((1, ["fine", "fail", "wrong", "nan", "short"]), (2, ["fine"]), (1, ["fine"])):
        times = compare.run(Workload("part", length=length), ways)
        assert list(times) == timed
        assert all(len(some) == 2 and min(some) > 0 for some in times.values())
    assert compare.versions == {"other": "Library 1.0"}
    reasons = {
        "fail": "no room",
        "wrong": "differs by 1.0e+00",
        "nan": "differs by nan",
        "short": "the shape (1,) instead of (2,)",
    }
    assert all(reasons[title] in why for title, why in compare.failed.items())
    assert compare.failed.keys() == reasons.keys()
    for how in ("wrong", "fail"):
        with pytest.raises(RuntimeError, match=f"course {how}, part of 1 x 2"):
            compare.run(Workload("part", length=2), [Way(f"course {how}", COURSE, how=how)])
    peaks = compare.peaks(Workload("part", length=2), [Way("fine", "other"), Way("no room", "other", how="fail")])
    assert list(peaks) == ["fine"]
    assert peaks["fine"] > 1e7


def test_every_round_has_new_processes_in_an_order_that_reverses(compare, monkeypatch):
    begun, line = [], preparing.command("other", "float32", compare.checkpoint)
    monkeypatch.setattr(preparing, "command", lambda library, dtype, checkpoint: begun.append(dtype) or line)
    monkeypatch.setattr(harness, "PAUSE", 0)
    workloads = [Workload("part", length=length) for length in (1, 2)]
    times = compare.run_anew(workloads, [Way("one", "other", "A"), Way("two", "other", "B")])
    assert begun == ["float32", "A", "B", "B", "A"]  # the reference's output is right in every round
    assert list(times) == workloads
    assert all([*map(len, some.values())] == [2, 2] for some in times.values())


def test_a_tool_that_is_gone_is_in_the_commit_that_is_named():
    """The pages and figures name commits as they are written here: eight digits after the word."""
    texts = [
        file.read_text()
        for folder in ("book/src", "tools/benchmarks/figures")
        for file in (ROOT / folder).iterdir()
        if file.suffix in (".md", ".json")
    ]
    named = set(re.findall(r"\bcommit\W{1,4}([0-9a-f]{8})\b", "\n".join([*texts, (ROOT / "CHANGELOG.md").read_text()])))
    assert named
    if _git("rev-parse", "--is-shallow-repository").stdout.strip() != "false":
        pytest.skip("the history is not here")
    assert not [commit for commit in named if _git("merge-base", "--is-ancestor", commit, "HEAD").returncode]


def _git(*arguments):
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)


def test_ways_take_turns_in_an_order_that_reverses(monkeypatch):
    monkeypatch.setattr(harness, "PAUSE", 0)
    order = []
    times = harness.take_turns("ab", 3, lambda way: order.append(way) or float(len(order)))
    assert order == ["a", "b", "b", "a", "a", "b"]
    assert times == {"a": [1, 4, 5], "b": [2, 3, 6]}
    assert harness.ratio(times["b"], times["a"]) == 1.2


def test_the_process_that_starts_the_others_does_not_import_max():
    """MAX sets PYTHONEXECUTABLE to the python3 that it finds, and the processes begun after that are of that Python."""
    code = "import sys, tools.benchmarks.bench; sys.exit(not {'max', 'torch'}.isdisjoint(sys.modules))"
    python(ROOT, "-c", code, status=0)


def test_figures_that_are_not_measured_again_stay(tmp_path):
    file = tmp_path / "figures.json"
    one = {"note": "with older kernels", "failed": {"b": "why"}, "parts": {"core": [1, 2], "row": {"a": 1, "b": 2}}}
    file.write_text(json.dumps({"One": one, "Two": {"date": "2"}}))
    result = {"machine": "One", "parts": {"core": [3], "row": {"b": 4}}}
    harness.finish_on_this_processor(str, result, file)
    kept = {"One": result | {"parts": {"core": [3], "row": {"a": 1, "b": 4}}}, "Two": {"date": "2"}}
    assert json.loads(file.read_text()) == kept


def test_a_table_marks_the_best_of_float32_and_what_was_not_timed():
    row = {"batch": 1, "length": 8, "ms": {OURS.title: 5.0, "CTranslate2": 6.0, INT8.title: 2.0, "OpenVINO": 1.0}}
    result = {"date": "2026-11-26", "instruction sets": ["AVX2"], "rounds": 3, "busy": 0.1}
    result |= {
        "failed": {"OpenVINO": "end of a log"},
        "parts": {"forward": {"1 x 8": row}},
    }
    printed = tables.as_markdown({"One": result})
    assert "| One | AVX2 | 2026-11-26 | 3 | 0.1 |" in printed
    lines = f"{OURS.title} | **5.0**", "CTranslate2 | 6.0", f"{INT8.title} | 2.0", "OpenVINO | not timed"
    for line in lines:
        assert f"\n| {line} |" in printed
    assert "OpenVINO on One:\n\n```text\nend of a log" in printed


def test_llama_cpp_is_installed_again_when_its_pins_change_or_it_failed(monkeypatch, tmp_path):
    pins, made = tmp_path / "pins.json", []
    (tmp_path / "package.json").write_text('{"dependencies": {"node-llama-cpp": "1"}}')
    for name, value in (("PINS", pins), ("INSTALLED", tmp_path / "llama"), ("relative_path", str)):
        monkeypatch.setattr(preparing, name, value)
    monkeypatch.setattr(preparing, "_run", lambda line, *rest: made.append(line))
    for text, times in (("1", 1), ("1", 1), ("2", 2)):
        pins.write_text(text)
        preparing.install_llama_cpp()
        assert len(made) == times
    pins.write_text("3")
    monkeypatch.setattr(preparing, "_run", lambda line, *rest: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        preparing.install_llama_cpp()
    assert not preparing.is_installed()


def printed_and_written(path, *arguments):
    """Run a benchmark in its shortest form; return what it prints, and what it writes."""
    eager = {"TORCHDYNAMO_DISABLE": "1"}  # torch.compile takes minutes, and is not ours
    command = ("-m", "tools", *arguments, "--rounds", "1", "--out", path)
    return python(ROOT, *command, status=0, timeout=1800, **eager).stdout, json.loads(path.read_text())


@pytest.mark.nightly
@pytest.mark.parametrize("peer", PEERS)
def test_a_peer_runs_a_tiny_model(peer, tmp_path):
    pytest.importorskip("torch")
    if peer == LLAMA_CPP and not preparing.is_installed():
        pytest.skip("llama.cpp is not installed; `./run bench --quick` does that")
    printed, written = printed_and_written(tmp_path / "figures.json", "bench", "--quick", "--peers", peer)
    (result,) = written.values()  # of this processor
    assert result["parts"].keys() == set(bench.MEASURED) - {"gpu"}
    for part, rows in result["parts"].items():
        for row in rows.values():
            timed = {title for title, figure in row[tables.PARTS[part].unit].items() if figure is not None}
            lacking = set() if "AVX-512 BF16" in instruction_sets() else {"this course, bfloat16"}
            assert timed == {way.title for way in WAYS if way.library == peer} - lacking
    assert f"| {next(way.title for way in WAYS if way.library == peer)} |" in printed


@pytest.mark.nightly
def test_gpt2_small_is_hugging_faces_at_its_full_size():
    """Its logits, and the text that it writes: 124 million seeded weights."""
    pytest.importorskip("torch")
    plan = bench.Plan(lengths=(16,), prompts=(16,), batches=(1,), new_tokens=20, turn=0.0)
    with closing(Comparison(preparing.checkpoint_of(), REFERENCE, 1, plan.turn, bench.difference)) as compare:
        (logits,), (text,) = (list(part(compare, [OURS], plan)) for part in (bench.forward, bench.generation))
    assert logits["ms"].keys() == text["tokens/s"].keys() == {OURS.title}


@pytest.mark.nightly
def test_a_server_is_asked_by_each_number_of_clients(tmp_path):
    """A request has 32 tokens, so the requests of a second are that part of its tokens."""
    line = "bench-serve --servers max --clients 1,2"
    printed, written = printed_and_written(tmp_path / "figures.json", *line.split())
    rates = written["tokens a second"]["moby-dick"]["max"]
    assert list(rates) == ["1", "2"]
    assert f"| max | {' | '.join(f'{rate:.0f} ({rate / 32:.1f})' for rate in rates.values())} |" in printed


@pytest.mark.nightly
def test_every_verdict_of_the_loop_is_timed(tmp_path):
    printed, result = printed_and_written(tmp_path / "figures.json", "bench-loop")
    for what in ("the compiled verdict", "watch: from a save to the mistake", "page: from Ctrl-Enter to the mistake"):
        (seconds,) = (taken for verdict, taken in result["seconds"].items() if verdict.startswith(what))
        assert f"{seconds:.2f}" in printed
