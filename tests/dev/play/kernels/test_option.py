"""``--kernels``: the same tokens as without it, where it is refused, and what is said without a compiler."""

import numpy as np
import pytest

from checker.course.paths import SMALL_MODEL

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def writers():
    """The model of the command without the kernels, and with them."""
    from checker.max_adapter.runtime import prepare
    from play.engine import Writer

    prepare()
    return Writer(), Writer(kernels=True)


def test_two_hundred_greedy_tokens_are_the_same_also_beyond_a_full_context(writers):
    """With nine rows, there are more than the kernel for few rows takes."""
    from solutions.solution_12 import generate_tokens

    config, generator = writers[0].config, np.random.RandomState(1)
    n_positions = config.n_positions
    texts = [writers[0].encode(prompt) for prompt in ("A", "The whale and the ship and the sea. " * 8)]
    full = [generator.randint(0, config.vocab_size, (rows, n_positions - 5), dtype=np.int64) for rows in (1, 2, 9)]
    for ids, count in [*((ids, 200) for ids in texts), *((ids, 12) for ids in full)]:
        plain, kernels = (
            generate_tokens(writer.model, ids, count, temperature=0, n_positions=n_positions) for writer in writers
        )
        np.testing.assert_array_equal(kernels, plain)


def test_a_batch_with_left_padding_has_the_same_logits_and_each_row_those_it_has_alone(writers):
    from solutions.solution_14 import pad_left

    generator = np.random.default_rng(3)
    prompts = [generator.integers(0, writers[0].config.vocab_size, length).tolist() for length in (1, 30, 7, 64)]
    plain, kernels = (writer.model for writer in writers)
    alone = np.concatenate([kernels(np.array([prompt], np.int64)) for prompt in prompts])
    ids = pad_left(prompts)
    np.testing.assert_allclose(kernels(ids), alone, rtol=0, atol=2e-4)
    for _ in range(5):
        expected = plain(ids)
        np.testing.assert_allclose(kernels(ids), expected, rtol=0, atol=2e-4)
        ids = np.concatenate([ids, expected[:, -1:].argmax(axis=-1)], axis=1)


@pytest.mark.nightly
def test_without_a_cache_the_logits_are_those_of_step_11():
    from max.dtype import DType
    from max.experimental.tensor import TensorType

    from checker.max_adapter.runtime import lazily, prepare, tensor
    from play.kernels.modules import with_kernels, with_linear
    from play.kernels.operations import loaded
    from solutions.solution_13 import load_pretrained

    prepare()
    model = load_pretrained(SMALL_MODEL)
    ids = tensor(np.random.default_rng(0).integers(0, 4096, (2, 70)))
    with lazily():
        expected = np.from_dlpack(model(ids))
    with_linear(with_kernels(model))
    with loaded():
        compiled = model.compile(TensorType(DType.int64, ["batch", "seq"]))
    np.testing.assert_allclose(np.from_dlpack(compiled(ids)), expected, rtol=0, atol=2e-4)


def test_ones_own_attention_does_not_run_and_that_is_said(course):
    """A wrong step 07 changes the text without the kernels, and with them it does not."""
    course.write("s07", edits={"scores = scores / math.sqrt(": "scores = scores * math.sqrt("})
    generate = ("-m", "cli", "generate", "Call me", "--seed", "1", "--max-new-tokens", "10")
    done = course.python(*generate, "--mine", "--fill-in", "--anyway", "--kernels")
    assert done.returncode == 0, done.stderr
    assert "the kernels stand in for the attention of s07 and s14" in done.stderr
    assert done.stdout == course.python(*generate).stdout
    for option in (["--no-cache"], ["--device", "gpu"]):
        refused = course.python(*generate, "--kernels", *option)
        assert (refused.returncode, refused.stdout) == (2, "")
        assert "the kernels run on the CPU, with the cache; leave --device gpu and --no-cache away" in refused.stderr


def test_a_compiler_that_is_missing_or_refuses_is_said_and_nothing_is_kept(tmp_path, monkeypatch):
    from play.kernels import operations

    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "__init__.mojo").write_text("def wrong() -> Nothing: pass\n")
    monkeypatch.setattr(operations, "cache_path", lambda *parts, suffix: tmp_path / "kept")
    with pytest.raises(operations.NoKernels, match=r"the kernels do not compile; .* Mojo says: .*Nothing"):
        operations.package(tmp_path / "kernels")
    assert list((tmp_path / "kept").iterdir()) == []
    monkeypatch.setenv("MODULAR_MOJO_MAX_DRIVER_PATH", "/no/such/mojo")
    with pytest.raises(operations.NoKernels, match=r"compiler cannot be started .*leave --kernels away"):
        operations.package(tmp_path / "kernels")
