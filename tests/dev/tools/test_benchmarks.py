"""The benchmarks: nothing is timed that computes something else, and figures are shown as they were measured."""

import json
import re
import subprocess
import sys

import numpy as np
import pytest

from checker.errors import UserError
from checker.files import ROOT
from play.processor import instruction_sets
from tools.benchmarks import bench, harness, recorded, serving, turns
from tools.benchmarks.random_weights import random_checkpoint
from tools.benchmarks.turns import COURSE, Answer, Way, compare, difference, log_probabilities
from tools.benchmarks.workers import TEXT, Workload
from tools.course_copy import python

OURS, Q4_0 = bench.WAYS[0], bench.WAYS[-1]


def logits(*shape):
    return 3 * np.random.default_rng(5).standard_normal(shape).astype(np.float32)


def changed(array, place, by):
    array = array.copy()
    array[place] += by
    return array


def test_how_far_an_output_is_from_the_right_one():
    right = logits(2, 11)
    spread = float(np.ptp(log_probabilities(right)))
    assert difference(right + 7, right) <= OURS.tolerance  # the same probabilities
    assert OURS.tolerance < difference(changed(right, (1, 2), 0.03 * spread), right) <= Q4_0.tolerance
    assert np.isnan(difference(changed(right, (1, 2), np.nan), right))


def test_a_text_may_part_only_where_two_tokens_are_equally_likely():
    scores = logits(2, 3, 9)
    scores[1, 1, [2, 6]] = scores.max() + 1
    scores[1, 1, 6] -= np.float32(1e-6)
    text = scores.argmax(axis=-1)
    assert difference(text, scores) == 0
    text[1, 1:] = 6, (text[1, 2] + 1) % 9  # a tie, after which the texts have nothing to do with each other
    assert difference(text, scores) < OURS.tolerance
    wrong = changed(text, (0, 0), scores[0, 0].argmin() - text[0, 0])
    assert difference(wrong, scores) > Q4_0.tolerance


LIBRARY = """
import numpy as np
from tools.benchmarks.workers import work

def prepare(checkpoint, workload):
    if workload.how == "fail":
        raise MemoryError("no room")
    array = np.arange(workload.length, dtype=np.float32)[None]
    array = {"wrong": -array, "nan": np.nan * array, "short": array[:, 1:]}.get(workload.how, array)
    return lambda: print("noise") or array, lambda array: array

work("Library 1.0", prepare)
"""


@pytest.fixture
def ways(tmp_path, monkeypatch):
    """A library that is made up: some ways to run it."""
    package = tmp_path / "tools" / "benchmarks" / "peers"
    package.mkdir(parents=True)
    for name in ("made_up", COURSE):
        (package / f"{name}.py").write_text(LIBRARY)
    begin = subprocess.run

    def run(line, cwd, **more):
        file = package / f"{line[2].rpartition('.')[2]}.py"
        return begin([sys.executable, file, *line[3:]], env={"PYTHONPATH": str(ROOT)}, cwd=cwd, **more)

    monkeypatch.setattr(turns.subprocess, "run", run)
    monkeypatch.setattr(harness, "PAUSE", 0)
    return [Way(how, "made_up", how=how) for how in ("fine", "fail", "wrong", "nan", "short")]


def test_only_what_is_right_is_timed(ways, tmp_path):
    """What fails or is wrong is left out, and if this course is wrong, nothing is timed."""
    right = {Workload("part", length=length): np.arange(length, dtype=np.float32)[None] for length in (2, 3)}
    answers, failed = compare(ways, right, tmp_path, 2, 0.001)
    ((way, (one, two)),) = answers.items()
    assert (way.title, one.version) == ("fine", "Library 1.0")
    assert one.seconds.keys() == two.seconds.keys() == right.keys()
    assert min(*one.seconds.values(), *two.seconds.values()) > 0
    assert one.bytes > 1e7
    reasons = {
        "fail": "no room",
        "wrong": "part of 1 x 2: it differs by",
        "nan": "differs by nan",
        "short": "the shape (1, 1) instead of (1, 2)",
    }
    assert all(reasons[title] in why for title, why in failed.items())
    assert failed.keys() == reasons.keys()
    for how in ("wrong", "fail"):
        with pytest.raises(UserError, match=f"^course {how}: "):
            compare([Way(f"course {how}", COURSE, how=how)], right, tmp_path, 1, 0.0)


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


def test_the_process_that_starts_the_others_does_not_import_max():
    """MAX sets PYTHONEXECUTABLE to the python3 that it finds, and the processes begun after that are of that Python."""
    code = "import sys, tools.benchmarks.bench; sys.exit(not {'max', 'torch'}.isdisjoint(sys.modules))"
    python(ROOT, "-c", code, status=0)


def test_figures_are_the_medians_of_processes_and_a_text_without_its_first_token():
    text, first = (Workload(TEXT, 2, 16, count) for count in (5, 1))
    answers = {OURS: [Answer({}, {first: 0.5, text: 0.5 + later}, 3_000_000, "") for later in (0.4, 0.8, 2.0)]}
    generation = {"most memory, MB": {OURS.title: 3.0}, "2, after 16": {OURS.title: 10.0}}  # 2 texts, 0.2 s a token
    assert bench.medians("generation", answers) == generation
    for part in bench.SINGLE:
        assert bench.medians(part, answers)["later token after 16"] == {OURS.title: 200.0}
    parts = {"forward": {"1 x 8": {OURS.title: 5.04, Q4_0.title: 2.0}, "1 x 64": {Q4_0.title: 7.0}}}
    parts |= {bench.SMOLLM2: {"later token after 256": {OURS.title: 25.94}}}
    printed = bench.as_markdown({"One": {"date": "2026-11-26", "parts": parts}})
    assert printed.startswith("**One**, 2026-11-26\n\n")
    for line in (f"{OURS.title} | 5.0 | ", f"{Q4_0.title} | 2.0 | 7.0", f"{OURS.title} | 25.9"):
        assert f"\n| {line} |" in printed


def test_without_pytorch_on_the_gpu_nothing_is_filed(monkeypatch, tmp_path):
    ran = {OURS: [Answer({}, {}, 0, "MAX 1")]}, {"Hugging Face, float32": "no CUDA"}
    for name, result in (("random_checkpoint", tmp_path), ("reference", {}), ("compare", ran), ("medians", {})):
        monkeypatch.setattr(bench, name, lambda *_, result=result: result)
    with pytest.raises(UserError, match=r"PyTorch must name the GPU, and cannot use one here: .*no CUDA"):
        bench.run(["gpu"], quick=True, rounds=1, out=tmp_path / "figures.json")
    assert not [*tmp_path.iterdir()]


def test_a_note_that_several_processors_share_is_shown_once():
    results = {
        "One": {"note": "by older kernels"},
        "Two": {},
        "Three": {"note": "by older kernels"},
        "Four": {"note": "n"},
    }
    assert recorded.notes(results) == "- One; Three: by older kernels.\n- Four: n."


def printed_and_written(path, *arguments):
    """Run a benchmark in its shortest form; return what it prints, and what it writes."""
    command = ("-m", "tools", *arguments, "--rounds", "1", "--out", path)
    return python(ROOT, *command, status=0, timeout=1800).stdout, json.loads(path.read_text())


@pytest.mark.nightly
def test_every_way_runs_a_tiny_model(tmp_path):
    pytest.importorskip("torch")
    printed, written = printed_and_written(tmp_path / "figures.json", "bench", "--quick")
    (result,) = written.values()  # of this processor
    assert result["parts"].keys() == bench.HEADS.keys() - {*bench.SINGLE}
    lacking = set() if "AVX-512" in instruction_sets() else {"this course, bfloat16"}
    for by_column in result["parts"].values():
        assert all(by_way.keys() == {way.title for way in bench.WAYS} - lacking for by_way in by_column.values())
    assert printed.startswith(f"**{harness.machine()}**")


@pytest.mark.nightly
def test_smollm2_is_hugging_faces(smollm2_file, tmp_path):
    pytest.importorskip("torch")
    _, written = printed_and_written(tmp_path / "figures.json", "bench", "--quick", "--only", "smollm2")
    (result,) = written.values()
    titles = {way.title for way in bench.LLAMA_WAYS}
    assert all(by_way.keys() == titles for by_way in result["parts"]["smollm2"].values())


@pytest.mark.nightly
def test_gpt2_small_is_hugging_faces_at_its_full_size():
    """Its logits, and the text that it writes: 124 million seeded weights."""
    pytest.importorskip("torch")
    benchmark = bench.Benchmark(lengths=(16,), prompts=(16,), batches=(1,), new_tokens=20)
    for part in ("forward", "generation"):
        right = turns.reference(bench.REFERENCE, benchmark.workloads(part), random_checkpoint())
        answers, _ = compare([OURS], right, random_checkpoint(), 1, 0.0)
        assert answers.keys() == {OURS}


@pytest.mark.nightly
def test_a_server_is_asked_by_each_number_of_clients(tmp_path):
    """A request has 32 tokens, so the requests of a second are that part of its tokens."""
    line = "bench-serve --servers max --clients 1,2"
    printed, written = printed_and_written(tmp_path / "figures.json", *line.split())
    rates = written["tokens a second"]["moby-dick"]["max"]
    assert list(rates) == ["1", "2"]
    cells = [serving.TITLES["max"], *(f"{rate:.0f} ({rate / 32:.1f})" for rate in rates.values())]
    assert f"| {' | '.join(cells)} |" in printed


@pytest.mark.nightly
def test_every_verdict_of_the_loop_is_timed(tmp_path):
    printed, result = printed_and_written(tmp_path / "figures.json", "bench-loop")
    for seconds in result["seconds"].values():
        assert f"{seconds:.2f}" in printed
