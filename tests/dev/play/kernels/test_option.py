"""``--kernels``: the same tokens as without it, whatever one's own attention does."""

import numpy as np
import pytest

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def writers():
    """The model of the command without the kernels, and with them."""
    from checker.max_adapter.runtime import prepare
    from play.engine import Writer

    prepare()
    return Writer(), Writer(kernels=True)


@pytest.mark.third  # the text of the command is compared below, every day
def test_greedy_tokens_are_the_same_also_beyond_a_full_context_and_logits_with_left_padding(writers):
    """With nine rows, there are more than the kernel for few rows takes."""
    from solutions.solution_12 import generate_tokens
    from solutions.solution_14 import pad_left

    config, generator = writers[0].config, np.random.default_rng(3)
    n_positions = config.n_positions
    text = writers[0].encode("The whale and the ship and the sea. " * 8)
    full = [generator.integers(0, config.vocab_size, (rows, n_positions - 5)) for rows in (1, 9)]
    for ids, count in [(text, 100), *((ids, 12) for ids in full)]:
        plain, kernels = (
            generate_tokens(writer.model, ids, count, temperature=0, n_positions=n_positions) for writer in writers
        )
        np.testing.assert_array_equal(kernels, plain)
    prompts = [generator.integers(0, config.vocab_size, length).tolist() for length in (1, 30, 7, 64)]
    for _ in range(3):
        plain, kernels = (writer.model(pad_left(prompts)) for writer in writers)
        np.testing.assert_allclose(kernels, plain, rtol=0, atol=2e-4)
        prompts = [[*prompt, int(token)] for prompt, token in zip(prompts, plain[:, -1].argmax(axis=-1), strict=True)]


def test_ones_own_attention_does_not_run_and_that_is_said(course):
    """A wrong step 07 changes the text without the kernels, and with them it does not."""
    course.write("s07", edits={"scores = scores / math.sqrt(": "scores = scores * math.sqrt("})
    generate = ("-m", "cli", "generate", "Call me", "--seed", "1", "--max-new-tokens", "10")
    done = course.python(*generate, "--mine", "--fill-in", "--anyway", "--kernels")
    assert done.returncode == 0, done.stderr
    assert "the kernels stand in for the attention of s07 and s14" in done.stderr
    assert done.stdout == course.python(*generate).stdout
