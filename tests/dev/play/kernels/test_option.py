"""``--kernels``: the same tokens as without it, whatever one's own attention does."""

import numpy as np
import pytest

pytestmark = pytest.mark.slow


@pytest.mark.third  # the text of the command is compared below, every day
def test_tokens_are_the_same_beyond_a_full_context_and_logits_with_left_padding():
    """With nine rows, there are more than the kernel for few rows takes."""
    from checker.max_adapter.runtime import prepare
    from play.engine import Writer
    from solutions.solution_12 import generate_tokens
    from solutions.solution_14 import pad_left

    prepare()
    writers, generator = (Writer(), Writer(kernels=True)), np.random.default_rng(3)
    vocab, n_positions = writers[0].config.vocab_size, writers[0].config.n_positions
    for rows in (1, 9):
        ids, greedy = (
            generator.integers(0, vocab, (rows, n_positions - 5)),
            dict(temperature=0, n_positions=n_positions),
        )
        np.testing.assert_array_equal(*(generate_tokens(writer.model, ids, 12, **greedy) for writer in writers))
    prompts = [generator.integers(0, vocab, length).tolist() for length in (1, 30, 7, 64)]
    for _ in range(3):
        kernels, plain = (writer.model(pad_left(prompts)) for writer in reversed(writers))
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
