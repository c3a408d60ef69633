"""The benchmark of speed: it times nothing that is wrong, and shows what it measured."""

import copy
import itertools
import json
import re
import subprocess
import sys
import time

import numpy as np
import pytest

from checker.course.paths import ROOT
from solutions.solution_01 import GPT2Config
from tools.benchmarks import harness, training
from tools.benchmarks.backends import Workload
from tools.benchmarks.comparison import Comparison, WrongOutput, check_output
from tools.benchmarks.speed import Plan, as_markdown, forward, forward_flops, tables
from tools.benchmarks.step import RATE, torch_step
from tools.book_maker.figures import growth

torch = pytest.importorskip("torch")
hugging_face = pytest.importorskip("tools.hugging_face")

pytestmark = pytest.mark.slow

ATTENTION = Workload("attention", "MAX", 2, 7)
TEXT = Workload("text", "MAX", 1, 4, 3)
STEP = Workload("step", "Hugging Face", 2, 7)


def bench(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "tools", "bench", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


def numbers(*shape):
    return np.random.default_rng(7).standard_normal(shape).astype(np.float32)


def test_an_output_that_differs_is_refused():
    output = numbers(2, 7, 15)
    assert check_output(ATTENTION, [output], [output]) == 0
    assert 0 < check_output(ATTENTION, [output + np.float32(1e-6)], [output]) < 1e-5
    for wrong in (output + np.float32(1e-3), output[:, :6], np.full_like(output, np.nan)):
        with pytest.raises(WrongOutput):
            check_output(ATTENTION, [wrong], [output])


def test_a_text_may_differ_only_where_two_tokens_are_equally_likely():
    logits = numbers(1, 3, 9)
    logits[0, 1, [2, 5]] = logits.max() + 1
    logits[0, 1, 5] -= np.float32(1e-6)
    theirs = logits.argmax(axis=-1)
    ours = theirs.copy()
    assert check_output(TEXT, [ours, logits], [theirs, logits]) == 0
    ours[0, 1:] = 5, (theirs[0, 2] + 1) % 9  # a tie, after which the texts have nothing to do with each other
    assert check_output(TEXT, [ours, logits], [theirs, logits]) < 1e-5
    ours[0, 0] = (theirs[0, 0] + 1) % 9  # no tie
    with pytest.raises(WrongOutput):
        check_output(TEXT, [ours, logits], [theirs, logits])


@pytest.fixture
def checkpoints(tmp_path):
    """Two small checkpoints, of which the second has one weight of another sign."""
    model, _ = hugging_face.awkward_model()
    model.save_pretrained(tmp_path / "right")
    with torch.no_grad():
        model.transformer.h[1].mlp.c_fc.weight[3, 2] *= -1
    model.save_pretrained(tmp_path / "wrong")
    return tmp_path / "right", tmp_path / "wrong"


def test_nothing_is_timed_when_the_models_differ(checkpoints, tmp_path):
    right, wrong = checkpoints
    plan = Plan(lengths=(5,))
    for theirs in (right, wrong):
        compare = Comparison(right, tmp_path, 1, 0.001, theirs)
        try:
            if theirs == right:
                (row,) = forward(compare, plan)
                assert row["MAX, ms"] > 0
                assert row["largest difference"] < 1e-5
            else:
                with pytest.raises(WrongOutput, match="nothing was timed"):
                    forward(compare, plan)
        finally:
            compare.close()


@pytest.mark.nightly
def test_a_run_prints_what_it_writes(tmp_path):
    path, small = tmp_path / "speed.json", ROOT / "models" / "moby-dick"
    done = bench("--quick", "--rounds", "1", "--only", "forward", "--model", str(small), "--out", str(path))
    assert done.returncode == 0, done.stderr
    result = json.loads(path.read_text())
    assert done.stdout.strip() == as_markdown(result)
    assert set(tables(result)) == {"forward"}
    assert all(row["MAX, ms"] > 0 for row in result["forward"])


def test_two_steps_of_pytorch_are_those_of_its_users(checkpoints):
    """Losses of two steps, and the norm of the first, once more with the unfused optimizer and by hand."""
    right, _ = checkpoints
    model = hugging_face.GPT2LMHeadModel.from_pretrained(right).eval()
    step, read = torch_step(copy.deepcopy(model), STEP)
    first, second, norm = read(step())[0]
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, betas=(0.9, 0.95), weight_decay=0.0)
    input_ids = torch.from_numpy(STEP.token_ids(model.config.vocab_size))
    for found in ([first, 100 * norm], [second]):
        model.zero_grad()
        wanted = model(input_ids, labels=input_ids).loss
        wanted.backward()
        squares = sum(float((parameter.grad**2).sum()) for parameter in model.parameters())
        np.testing.assert_allclose(found, [wanted.item(), squares**0.5][: len(found)], rtol=1e-4)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()  # of two steps the decay at such a rate is not seen
    assert second < first


@pytest.mark.nightly
def test_a_step_in_max_is_pytorchs(checkpoints, tmp_path):
    """The two are compared, and a wrong weight is noticed."""
    right, wrong = checkpoints
    for theirs in (right, wrong):
        compare = Comparison(right, tmp_path, 1, 0.001, theirs)
        try:
            if theirs == right:
                times, largest = compare.run(STEP, "MAX", "Hugging Face", "bfloat16")
                assert set(times) == {"MAX", "Hugging Face", "bfloat16"}
                assert largest < 0.03
            else:
                with pytest.raises(WrongOutput, match="nothing was timed"):
                    compare.run(STEP, "MAX")
        finally:
            compare.close()


def test_a_step_costs_three_times_a_forward_pass():
    config = GPT2Config()
    assert training.step_flops(config, 2, 5) == 6 * forward_flops(config, 5)
    weights = 12 * 12 * 768**2 + 50257 * 768
    assert 6 * weights * 1024 < training.step_flops(config, 1, 1024) < 1.2 * 6 * weights * 1024


def test_the_process_that_starts_the_others_does_not_import_max():
    """MAX sets PYTHONEXECUTABLE to the python3 that it finds, and the processes begun after that are of that Python."""
    code = "import sys, tools.benchmarks.training; sys.exit('max' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0


def trained(size, tokens, **more):
    """What one run of the benchmark of training has measured, of one size."""
    row = {"model": training.SIZES[size].name, "tokens": tokens, "MAX, tokens/s": 100.0 * tokens}
    part = {"rounds": 3, "load": 0.1, "row": row | more, "failed": {}}
    head = {"machine": "m", "instruction sets": ["AVX2"], "versions": {"max": "MAX 1"}}
    return head | {"parts": {size: part}}


def test_the_figures_of_training_stay_apart_by_processor_and_by_size(monkeypatch):
    results = {}
    for name, result in (("one", trained("small", 7)), ("one", trained("gpt2", 9)), ("two", trained("gpt2", 5))):
        monkeypatch.setattr(harness, "key", lambda name=name: name)
        results = training.merge(results, result)
    assert {name: list(result["parts"]) for name, result in results.items()} == {
        "one": ["small", "gpt2"],
        "two": ["gpt2"],
    }
    results["two"]["parts"]["gpt2"]["failed"]["torch.compile"] = "no compiler\n"
    shown = training.by_processor(results)
    assert [line for line in shown.splitlines() if line.startswith("**")] == ["**one**", "**two**"]
    assert re.findall(r"\| (\d+) \| (\d+) \|", shown) == [("7", "700"), ("9", "900"), ("5", "500")]
    assert "GB" not in shown
    assert training.failed(results) == "GPT-2 small, torch.compile, on two failed:\n\n```text\nno compiler\n```"
    del results["two"]
    assert training.failed(results) == "Each of them ran on every processor."


def test_a_part_that_does_not_exist_is_named_before_anything_runs():
    done = bench("--only", "attention,atention")
    assert done.returncode == 2
    assert "there is no such part" in done.stderr


def test_every_figure_of_a_table_is_the_files():
    result = json.loads((ROOT / "tools" / "benchmarks" / "figures" / "speed.json").read_text())
    changed = copy.deepcopy(result)
    changed["forward"][1]["MAX, ms"] += 1000
    before, after = (as_markdown(figures).splitlines() for figures in (result, changed))
    assert sum(one != other for one, other in zip(before, after, strict=True)) == 1


def test_the_picture_of_growth_says_what_it_needs():
    with pytest.raises(ValueError, match="--out"):
        growth.cost({})


def test_a_forward_pass_counts_each_token_with_those_before_it():
    config = GPT2Config()
    linear = 2 * (12 * 12 * 768**2 + 50257 * 768)
    assert forward_flops(config, 3) == 3 * linear + 12 * 4 * 768 * (1 + 2 + 3)


def test_ways_take_turns_in_an_order_that_reverses():
    order = []
    times = harness.take_turns("ab", 3, lambda way: order.append(way) or float(len(order)))
    assert order == ["a", "b", "b", "a", "a", "b"]
    assert times == {"a": [1, 4, 5], "b": [2, 3, 6]}
    assert harness.ratio(times["b"], times["a"]) == 1.2


def test_a_turn_waits_until_what_the_one_before_started_comes_to_rest():
    code = """
import time
print("ready", flush=True)
input()
while time.process_time() < 0.6:
    pass
input()
"""
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", code], stdin=pipe, stdout=pipe, text=True) as busy:
        assert busy.stdin
        assert busy.stdout
        assert busy.stdout.readline() == "ready\n"

        def measure(way):
            started.append(time.monotonic())
            if way == "busy":
                busy.stdin.write("\n")
                busy.stdin.flush()
            return 0.0

        started = []
        harness.take_turns(["busy", "other"], 1, measure)
        busy.stdin.close()
    assert started[1] - started[0] > 0.4


def test_waiting_for_what_never_rests_ends():
    used = itertools.count()  # a second of processor time at each look
    start = time.monotonic()
    harness.rest(lambda: float(next(used)), longest=0.3)
    assert 0.3 <= time.monotonic() - start < 5
    assert next(used) > 2


def test_a_figure_that_a_row_lacks_leaves_its_cell_empty():
    columns = [harness.Column("way", "way"), harness.Column("share", "share", ".0%", rule="--:")]
    made = harness.table(columns, [{"way": "a", "share": 0.25}, {"way": "b"}])
    assert made.splitlines() == ["| way | share |", "|---|--:|", "| a | 25 % |", "| b |  |"]
