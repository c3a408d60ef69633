"""``--kernels``: the same tokens as without it, where it is refused, and what is said without a compiler."""

import os
import subprocess
import sys

import numpy as np
import pytest

from checker.course.paths import ROOT

WRONG_ATTENTION = {"scores = scores / math.sqrt(": "scores = scores * math.sqrt("}


def run(command, *arguments, root=ROOT):
    environment = os.environ | {"HF_HUB_OFFLINE": "1"}
    return subprocess.run(
        [sys.executable, "-m", "cli", command, *arguments],
        cwd=root,
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


@pytest.fixture(scope="module")
def writers():
    """The model of the command without the kernels, and with them."""
    from checker.max_adapter.runtime import prepare
    from play.engine import Writer

    prepare()
    return Writer(), Writer(kernels=True)


def greedy(writers, ids, count):
    """What both models write, and the configuration's limit slides the text."""
    from solutions.solution_12 import generate_tokens

    n_positions = writers[0].config.n_positions
    return [generate_tokens(one.model, ids, count, temperature=0, n_positions=n_positions) for one in writers]


@pytest.mark.slow
@pytest.mark.parametrize("prompt", ["A", "Call me", "The whale and the ship and the sea. " * 8])
def test_two_hundred_greedy_tokens_are_the_same(writers, prompt):
    plain, kernels = greedy(writers, writers[0].encode(prompt), 200)
    np.testing.assert_array_equal(kernels, plain)


@pytest.mark.slow
@pytest.mark.parametrize("rows", [1, 2, 9])  # 9: more than the kernel for few rows takes
def test_a_text_that_slides_beyond_a_full_context_is_the_same(writers, rows):
    config = writers[0].config
    shape = (rows, config.n_positions - 5)
    ids = np.random.RandomState(rows).randint(0, config.vocab_size, shape, dtype=np.int64)
    plain, kernels = greedy(writers, ids, 12)
    np.testing.assert_array_equal(kernels, plain)


@pytest.mark.slow
def test_a_batch_with_left_padding_has_the_same_logits_and_each_row_those_it_has_alone(writers):
    from solutions.solution_14 import pad_left

    generator = np.random.default_rng(3)
    prompts = [generator.integers(0, writers[0].config.vocab_size, length).tolist() for length in (1, 30, 7, 64)]
    plain, kernels = (one.model for one in writers)
    alone = [kernels(np.array([prompt], np.int64)) for prompt in prompts]
    ids = pad_left(prompts)
    for _ in range(5):
        expected, found = plain(ids), kernels(ids)
        np.testing.assert_allclose(found, expected, rtol=0, atol=2e-4)
        if alone:
            np.testing.assert_allclose(found, np.concatenate(alone), rtol=0, atol=2e-4)
            alone = []
        ids = np.concatenate([ids, expected[:, -1:].argmax(axis=-1)], axis=1)


@pytest.mark.slow
def test_the_command_writes_the_same_text():
    arguments = ("Call me", "--seed", "1", "--max-new-tokens", "40")
    plain, kernels = run("generate", *arguments), run("generate", *arguments, "--kernels")
    assert kernels.returncode == 0, kernels.stderr
    assert kernels.stdout == plain.stdout


@pytest.mark.slow
@pytest.mark.parametrize("option", [("--no-cache",), ("--device", "gpu")])
def test_where_they_do_not_run_is_said(option):
    done = run("generate", "Call me", "--kernels", *option)
    assert (done.returncode, done.stdout) == (2, "")
    assert "the kernels run on the CPU, with the cache; leave --device gpu and --no-cache away" in done.stderr


@pytest.mark.slow
def test_ones_own_attention_does_not_run_and_that_is_said(course):
    """A wrong step 07 changes the text without the kernels, and with them it does not."""
    course.write("s07", edits=WRONG_ATTENTION)
    options = ("Call me", "--mine", "--fill-in", "--anyway", "--max-new-tokens", "10", "--seed", "1", "--kernels")
    done = run("generate", *options, root=course.root)
    assert done.returncode == 0, done.stderr
    assert "the kernels stand in for the attention of s07 and s14" in done.stderr
    assert done.stdout == run("generate", "Call me", "--max-new-tokens", "10", "--seed", "1").stdout


@pytest.fixture
def other_kernels(tmp_path, monkeypatch):
    """Other sources, of which nothing is kept yet, as the folder of the kernels."""
    from play.kernels import operations

    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "__init__.mojo").write_text("def wrong() -> Nothing: pass\n")
    monkeypatch.setattr(operations, "cache_path", lambda *parts, suffix: tmp_path / "kept")
    return operations


def test_a_compiler_that_is_not_there_is_said(other_kernels, tmp_path, monkeypatch):
    monkeypatch.setenv("MODULAR_MOJO_MAX_DRIVER_PATH", "/no/such/mojo")
    with pytest.raises(other_kernels.NoKernels, match=r"compiler cannot be started .*leave --kernels away"):
        other_kernels.package(tmp_path / "kernels")


def test_what_the_compiler_has_against_them_is_said_and_nothing_is_kept(other_kernels, tmp_path):
    with pytest.raises(other_kernels.NoKernels, match=r"the kernels do not compile; .* Mojo says: .*Nothing"):
        other_kernels.package(tmp_path / "kernels")
    assert list((tmp_path / "kept").iterdir()) == []
