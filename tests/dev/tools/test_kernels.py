"""The benchmark of the kernels: it compares before it times, and shows what it measured."""

import json
import subprocess
import sys

import pytest

from checker.course.paths import ROOT, SMALL_MODEL
from tools.benchmarks.kernels.workloads import core_flops

pytest.importorskip("torch")
pytest.importorskip("transformers")


def test_a_core_counts_each_query_with_the_keys_up_to_itself():
    assert core_flops(2, 3) == 2 * 768 * 4 * (1 + 2 + 3)


@pytest.mark.parametrize(
    "part", [pytest.param("core", marks=pytest.mark.slow), pytest.param("linear", marks=pytest.mark.nightly)]
)
def test_a_run_prints_what_it_writes(tmp_path, part):
    from tools.benchmarks.kernels.timing import as_markdown

    path = tmp_path / "kernels.json"
    command = [sys.executable, "-m", "tools", "bench-kernels", "--quick", "--rounds", "1", "--model", str(SMALL_MODEL)]
    done = subprocess.run(
        [*command, "--only", part, "--out", str(path)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    result = json.loads(path.read_text())
    assert done.stdout.strip() == as_markdown(result)
    assert result[part]
    assert all(row["largest difference"] < 1e-4 for row in result[part])
