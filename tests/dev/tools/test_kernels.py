"""The benchmark of the kernels: it compares before it times, shows what it measured, and keeps processors apart."""

import copy
import json
import subprocess
import sys

import numpy as np
import pytest

from checker.course.paths import ROOT, SMALL_MODEL
from solutions.solution_01 import GPT2Config
from tools.benchmarks import harness
from tools.benchmarks.comparison import WrongOutput
from tools.benchmarks.kernels import ladder, timing
from tools.benchmarks.kernels.workloads import WEIGHT_BYTES, core_flops
from tools.book_maker.values.arithmetic import matrix_weights

pytest.importorskip("torch")
pytest.importorskip("transformers")


def test_a_core_counts_each_query_with_the_keys_up_to_itself():
    assert core_flops(2, 3) == 2 * 768 * 4 * (1 + 2 + 3)


def test_the_layers_are_all_of_gpt2_small():
    assert 4 * matrix_weights(GPT2Config()) == WEIGHT_BYTES


# ---------------------------------------------------------------- the ladder


def test_every_rung_changes_what_it_says_it_changes():
    made = [rung.texts() for rung in ladder.LADDER]
    assert all("def causal_attention(" in texts["step_21.mojo"] for texts in made)
    assert len({json.dumps(texts, sort_keys=True) for texts in made}) == len(made)
    assert made[-1]["heads.mojo"] == (ROOT / "play/kernels/heads.mojo").read_text()  # the last is the kernel itself


@pytest.mark.parametrize("sizes", [ladder.Sizes(5, 5), ladder.Sizes(1, 7), ladder.Sizes(3, 9)])
def test_what_the_rungs_are_compared_with_is_pytorchs(sizes):
    import torch

    query, key, value = map(torch.from_numpy, sizes.arrays())
    mask = torch.ones(sizes.seq, sizes.total, dtype=torch.bool).tril(sizes.total - sizes.seq)
    wanted = torch.nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
    found = ladder.expected(*sizes.arrays())
    np.testing.assert_allclose(found, wanted.transpose(1, 2).flatten(2).numpy(), rtol=0, atol=2e-6)


class Wrong(ladder.Graph):
    """A graph whose last number is off."""

    def __init__(self, rung):
        self.rung = rung

    def __call__(self, arrays):
        found = ladder.expected(*arrays)
        found[0, -1, -1] += 0.01
        return found


def test_nothing_is_timed_when_a_rung_is_wrong(monkeypatch):
    monkeypatch.setattr(ladder, "Graph", Wrong)
    with pytest.raises(WrongOutput, match=r"the formula.*wrong for 5 tokens, and nothing was timed"):
        ladder.climb(1, 0.001, ladder.QUICK_SIZES)


# ---------------------------------------------------------------- the file of figures


def figures(part="ladder", ms=3.0, **head):
    rows = [{"rung": "one", "ms": {"8": ms, "1 after 1023": 2 * ms}}, {"rung": "two", "ms": {"8": 1.0}}]
    parts = {part: {"rounds": 3, "load": 0.1, "rows": rows}}
    return {"machine": "this one", "instruction sets": [], "versions": {"max": "1"}, "parts": parts} | head


def test_parts_are_replaced_one_by_one_and_other_processors_stay():
    first = timing.merge({"another": figures()}, figures())
    both = timing.merge(first, figures(part="core", versions={"hugging-face": "2"}))
    assert both["another"] == figures()
    mine = both[harness.key()]
    assert mine["parts"].keys() == {"ladder", "core"}
    assert mine["versions"] == {"max": "1", "hugging-face": "2"}
    again = timing.merge(both, figures(ms=9.0))
    assert again[harness.key()]["parts"]["ladder"]["rows"][0]["ms"]["8"] == 9
    assert again[harness.key()]["parts"]["core"] == mine["parts"]["core"]


@pytest.mark.parametrize("other", [{"versions": {"max": "2"}}, {"machine": "another"}, {"instruction sets": ["AVX2"]}])
def test_figures_of_another_version_or_machine_are_dropped(other):
    before = timing.merge({}, figures(part="core"))
    assert timing.merge(before, figures(**other))[harness.key()]["parts"].keys() == {"ladder"}


def test_the_table_shows_every_figure():
    result = figures()
    printed = timing.as_markdown(result)
    assert printed.splitlines()[0] == "| milliseconds, by tokens | 8 tokens | 1 after 1023 |"
    assert printed.splitlines()[2] == "| one | 3 | 6 |"
    changed = copy.deepcopy(result)
    changed["parts"]["ladder"]["rows"][1]["ms"]["8"] = 1.5
    assert timing.as_markdown(changed) != printed
    assert "**this one**" in timing.by_processor({"this one": result}, "ladder")
    assert timing.by_processor({"this one": result}, "core") == ""


@pytest.mark.parametrize(
    "part",
    [
        pytest.param("core", marks=pytest.mark.slow),
        *(pytest.param(part, marks=pytest.mark.nightly) for part in timing.PARTS if part != "core"),
    ],
)
def test_a_run_prints_what_it_writes(tmp_path, part):
    path = tmp_path / "kernels.json"
    command = [sys.executable, "-m", "tools", "bench-kernels", "--quick", "--rounds", "1", "--model", str(SMALL_MODEL)]
    done = subprocess.run(
        [*command, "--only", part, "--out", str(path)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    (result,) = json.loads(path.read_text()).values()
    assert done.stdout.strip() == timing.as_markdown(result)
    rows = result["parts"][part]["rows"]
    assert rows
    assert all(row.get("largest difference", 0) < 1e-4 for row in rows)
