"""A tokenizer, and windows whose order depends on the step alone."""

import numpy as np
import pytest

from play.training.plan import Plan
from play.training.windows import (
    NOT_COUNTED,
    Blend,
    Windows,
    count_bytes,
    learn_tokenizer,
    token_ids,
    validation_windows,
)


def test_any_text_can_be_written_and_a_short_one_has_fewer_tokens_than_were_asked_for():
    tokenizer = learn_tokenizer(["the whale the whale"], 1024)
    assert 257 < tokenizer.get_vocab_size() < 300
    for text in ("the whale", "ホエール ü 🐳", " \n\t", ""):
        assert tokenizer.decode(tokenizer.encode(text).ids) == text
    text = "Moby ü 🐳\n"
    assert count_bytes(tokenizer, validation_windows(token_ids(tokenizer, [text]), plan())) == len(text.encode())


def plan(**numbers):
    return Plan(**(dict(positions=8, batch=3, seed=1) | numbers))


def test_an_epoch_has_every_window_once_wherever_it_begins():
    for length in (8, 9, 15, 16, 101):
        windows, first = Windows(np.arange(length), plan()), set()
        for epoch in range(80):
            starts = np.sort(windows.epoch(epoch))
            assert len(starts) == windows.per_epoch >= 1
            assert (np.diff(starts) == 7).all()
            assert 0 <= starts[0] <= starts[-1] <= length - 8 < starts[-1] + 7 + 7
            first.add(int(starts[0]))
        assert len(first) == min(7, length - 7)


@pytest.mark.parametrize("share", [0.05, 0.3, 0.5])
@pytest.mark.parametrize("numbers", [dict(steps=7, batch=1), dict(steps=100, accumulate=2)], ids=str)
def test_the_share_of_the_text_grows_to_twice_its_mean_and_every_window_comes_once_in_an_epoch(share, numbers):
    """The tokens of the text are below 1000, those of the other above."""
    made = plan(share=share, **numbers)
    windows = {True: Windows(np.arange(101), made), False: Windows(np.arange(1000, 1301), made)}
    blend = Blend(windows[True], windows[False], made)
    read = np.concatenate([batch for step in range(1, made.steps + 1) for batch in blend.batches(step)])
    np.testing.assert_array_equal(np.concatenate(list(blend.batches(2))), np.split(read, made.steps)[1])
    assert read.shape == (made.windows, 8)
    is_text = read[:, 0] < 1000
    assert is_text.sum() == int(share * len(read))
    for part in (1 / 2, 3 / 4, 1):
        first = int(part * len(read))
        assert is_text[:first].sum() == pytest.approx(share * part * first, abs=1)
    for of_text, source in windows.items():
        rows = read[is_text == of_text]
        np.testing.assert_array_equal(rows, source.read(np.arange(len(rows))))


@pytest.mark.parametrize("length", [2, 8, 9, 15, 22, 100])
def test_each_held_out_token_but_the_first_is_predicted_once(length):
    predicted = []
    for inputs, targets in validation_windows(np.arange(1000, 1000 + length), plan()):
        assert inputs.shape == targets.shape == (3, 8)
        rows, places = np.nonzero(targets != NOT_COUNTED)
        np.testing.assert_array_equal(inputs[rows, places] + 1, targets[rows, places])
        np.testing.assert_array_equal(inputs[rows, 0] + places, inputs[rows, places])
        predicted += targets[rows, places].tolist()
    assert sorted(predicted) == list(range(1001, 1000 + length))
    spread = np.concatenate([targets.ravel() for _, targets in validation_windows(np.arange(10_000), plan())])
    counted = spread[spread != NOT_COUNTED]
    assert (len(counted) <= 128 * 7, counted.min() < 10, counted.max() > 9_990) == (True, True, True)
