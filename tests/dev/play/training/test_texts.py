"""What a training reads: texts and their parts, a tokenizer, and windows whose order depends on the step alone."""

import json
import math

import numpy as np
import pytest

from checker.course.paths import SMALL_MODEL
from play.training.plan import EVALUATIONS, SAMPLES, Plan
from play.training.texts import CHAPTERS, DEV, TEST, moby_dick, moby_dick_corpus, read_corpus
from play.training.windows import (
    NOT_COUNTED,
    Blend,
    Windows,
    count_bytes,
    learn_tokenizer,
    token_ids,
    validation_windows,
)

EVALUATION = json.loads((SMALL_MODEL / "evaluation.json").read_text())


# ---------------------------------------------------------------- texts


def test_moby_dick_is_there_and_cut_as_the_model_card_says():
    chapters, corpus = moby_dick(), moby_dick_corpus()
    assert list(chapters) == list(range(1, CHAPTERS + 1))
    sizes = {part: sum(len(text.encode()) for text in getattr(corpus, part)) for part in ("train", "dev", "test")}
    assert sizes == {part: EVALUATION["bytes"][part] for part in sizes}
    assert list(DEV) == EVALUATION["chapters"]["dev"]
    assert list(TEST) == EVALUATION["chapters"]["test"]
    assert len({*corpus.train, *corpus.dev, *corpus.test}) == CHAPTERS
    assert all(text.endswith("\n") and not text.endswith("\n\n") for text in chapters.values())


def test_the_last_tenth_of_every_text_is_held_out_and_nothing_is_lost(tmp_path):
    texts = ["".join(f"line {number}\n" for number in range(100)), "ein Wal im Meer ü " * 50]
    files = [tmp_path / f"{number}.txt" for number in range(2)]
    for file, text in zip(files, texts, strict=True):
        file.write_text(text, encoding="utf-8")
    corpus = read_corpus(files)
    for text, first, second in zip(texts, corpus.train, corpus.dev, strict=True):
        assert first + second == text
        assert 0.05 * len(text) < len(second) <= 0.1 * len(text) + 1
    assert corpus.train[0].endswith("\n")
    assert corpus.test == []


def test_of_what_is_learned_besides_nothing_is_held_out(tmp_path):
    file = tmp_path / "other.txt"
    file.write_text("one two three four " * 9)
    corpus = read_corpus([], [file])
    assert corpus.also == [file.read_text()]
    assert (corpus.train, corpus.dev) == (moby_dick_corpus().train, moby_dick_corpus().dev)
    assert read_corpus([file], [file, file]).also == 2 * [file.read_text()]
    assert read_corpus([file]).also == read_corpus([]).also == []


def refusal(file):
    with pytest.raises(ValueError, match=r"\w") as caught:
        read_corpus([file])
    said = str(caught.value)
    assert file.name in said
    assert "\n" not in said
    return said


def test_a_text_that_cannot_be_read_is_named(tmp_path):
    file = tmp_path / "some.txt"
    assert "No such file" in refusal(file)
    assert "directory" in refusal(tmp_path)
    file.write_bytes(b"\x7fELF\0\0\1whale")
    assert "is not text" in refusal(file)
    file.write_bytes("Märchen".encode("latin1"))
    assert "is not in UTF-8: byte 1 is 0xe4" in refusal(file)
    for short in (b"", b"whale", b" \n \n"):
        file.write_bytes(short)
        assert "is too short" in refusal(file)


def test_the_mark_of_utf_8_is_no_part_of_the_text(tmp_path):
    file = tmp_path / "some.txt"
    file.write_text("one two three four " * 9, encoding="utf-8-sig")
    assert read_corpus([file]).train[0].startswith("one")


# ---------------------------------------------------------------- the tokenizer


def test_any_text_can_be_written_and_a_short_one_has_fewer_tokens_than_were_asked_for():
    tokenizer = learn_tokenizer(["the whale the whale"], 1024)
    assert 257 < tokenizer.get_vocab_size() < 300
    for text in ("the whale", "ホエール ü 🐳", " \n\t", ""):
        assert tokenizer.decode(tokenizer.encode(text).ids) == text
    assert learn_tokenizer(moby_dick_corpus().dev, 400).get_vocab_size() == 400


# ---------------------------------------------------------------- windows


def plan(**numbers):
    return Plan(**(dict(positions=8, batch=3, seed=1) | numbers))


@pytest.mark.parametrize("length", [8, 9, 15, 16, 50, 101])
def test_an_epoch_has_every_window_once_wherever_it_begins(length):
    windows = Windows(np.arange(length), plan())
    first = set()
    for epoch in range(80):
        starts = np.sort(windows.epoch(epoch))
        assert len(starts) == windows.per_epoch >= 1
        assert (np.diff(starts) == 7).all()
        assert starts[0] >= 0
        assert starts[-1] + 8 <= length
        assert length - starts[-1] < 8 + 7 + 7
        first.add(int(starts[0]))
    assert len(first) == min(7, length - 7)


def test_what_a_step_learns_depends_on_its_number_and_the_seed_alone():
    def read(step, **numbers):
        return np.stack(list(Windows(np.arange(101), plan(**numbers)).batches(step)))

    for step in (1, 4, 5, 100):  # 13 windows per epoch: step 5 has the end of one and the beginning of the next
        np.testing.assert_array_equal(read(step), read(step))
        assert read(step).shape == (1, 3, 8)
        assert (np.diff(read(step)) == 1).all()
        assert (read(step) != read(step, seed=2)).any()
        assert (read(step) != read(step + 1)).any()


def test_accumulated_batches_are_those_of_several_steps():
    windows, together = Windows(np.arange(101), plan()), Windows(np.arange(101), plan(accumulate=2))
    for step in (1, 2, 5):
        found = list(together.batches(step))
        wanted = [*windows.batches(2 * step - 1), *windows.batches(2 * step)]
        np.testing.assert_array_equal(found, wanted)


def blend(**numbers):
    """Windows of a text, whose tokens are below 1000, among those of another, whose tokens are above."""
    made = plan(**numbers)
    return Blend(Windows(np.arange(101), made), Windows(np.arange(1000, 1301), made), made)


@pytest.mark.parametrize("share", [0.05, 0.25, 0.3, 0.5])
@pytest.mark.parametrize("numbers", [dict(steps=2), dict(steps=7, batch=1), dict(steps=100, accumulate=2)], ids=str)
def test_the_share_of_the_text_grows_from_nothing_to_twice_its_mean(share, numbers):
    made = blend(share=share, **numbers)
    read = np.concatenate([batch for step in range(1, made.plan.steps + 1) for batch in made.batches(step)])
    assert (np.diff(read) == 1).all()
    assert read.shape == (made.plan.windows, 8)
    is_text = read[:, 0] < 1000
    assert is_text.sum() == int(share * len(read))
    for part in (1 / 2, 3 / 4, 1):
        first = int(part * len(read))
        assert is_text[:first].sum() == pytest.approx(share * part * first, abs=1)


def test_of_each_text_every_window_comes_once_in_an_epoch():
    made = blend(share=0.25, steps=200)
    read = np.concatenate([batch for step in range(1, 201) for batch in made.batches(step)])
    for found, windows in ((read[read[:, 0] < 1000], made.text), (read[read[:, 0] >= 1000], made.others)):
        np.testing.assert_array_equal(found, windows.read(np.arange(len(found))))
        assert len(found) > windows.per_epoch
        assert len(set(found[: windows.per_epoch, 0])) == windows.per_epoch


def test_the_windows_of_a_blend_depend_on_the_step_alone():
    made = blend(share=0.5, steps=30, accumulate=2)
    for step in (30, 1, 17, 18):
        once, again = (list(made.batches(step)) for _ in range(2))
        np.testing.assert_array_equal(once, again)
        assert np.shape(once) == (2, 3, 8)


def test_a_text_shorter_than_a_window_is_said():
    with pytest.raises(ValueError, match="has 7 tokens, and a window is --positions 8 tokens; give a longer text"):
        Windows(np.arange(7), plan())


@pytest.mark.parametrize("length", [2, 8, 9, 15, 22, 100])
def test_each_held_out_token_but_the_first_is_predicted_once(length):
    predicted = []
    for inputs, targets in validation_windows(np.arange(1000, 1000 + length), plan()):
        assert inputs.shape == targets.shape == (3, 8)
        rows, places = np.nonzero(targets != NOT_COUNTED)
        for row, place in zip(rows, places, strict=True):
            assert inputs[row, place] + 1 == targets[row, place]
            assert inputs[row, 0] + place == inputs[row, place]
            predicted.append(int(targets[row, place]))
    assert sorted(predicted) == list(range(1001, 1000 + length))


def test_of_a_long_text_windows_spread_over_all_of_it_are_taken():
    batches = validation_windows(np.arange(10_000), plan())
    counted = np.concatenate([targets[targets != NOT_COUNTED] for _, targets in batches])
    assert len(counted) <= 128 * 7
    assert counted.min() < 10
    assert counted.max() > 9_990


def test_bytes_are_counted_as_the_text_has_them():
    texts = ["Moby ü 🐳\n", "ein Wal"]
    tokenizer = learn_tokenizer(texts * 5, 300)
    batches = validation_windows(token_ids(tokenizer, texts), plan())
    assert count_bytes(tokenizer, batches) == sum(len(text.encode()) for text in texts)


# ---------------------------------------------------------------- the plan


def test_a_number_that_makes_no_sense_is_said():
    for numbers, said in (
        (dict(layers=0), "--layers 0 is too small; give 1 or more"),
        (dict(vocab=256), r"--vocab 256 is too small; give 257 \(256 bytes"),
        (dict(positions=1), "--positions 1 is too small"),
        (dict(width=10), "--width 10 is not a multiple of --heads 4"),
        (dict(rate=0.0), "--rate 0.0 is not a learning rate"),
        (dict(rate=math.nan), "--rate nan is not a learning rate"),
        (dict(steps=1), "--steps 1 is too small; give 2"),
        (dict(seed=-1), "--seed -1 is too small"),
        (dict(share=0.0), r"--share 0\.0 must be above 0 and at most 0\.5"),
        (dict(share=0.6), r"--share 0\.6 must be above 0 and at most 0\.5"),
        (dict(share=math.nan), "--share nan must be"),
    ):
        with pytest.raises(ValueError, match=said):
            Plan(**numbers)


@pytest.mark.parametrize("steps", [2, 3, 7, 20, 1000, 1003])
def test_evaluations_and_samples_are_spread_over_the_steps_and_the_last_has_both(steps):
    made = Plan(steps=steps)
    evaluated = [step for step in range(1, steps + 1) if made.evaluates_after(step)]
    samples = [step for step in range(1, steps + 1) if made.samples_after(step)]
    assert (len(evaluated), len(samples)) == (min(EVALUATIONS, steps), min(SAMPLES, steps))
    assert evaluated[-1] == samples[-1] == steps
    assert {*samples} <= {*evaluated}
    assert 1 <= made.warmup_steps < steps


def test_a_plan_goes_through_json():
    made = Plan(texts=("/a", "/b"), also=("/c",), share=0.1, rate=1e-3, prompt="ü")
    values = json.loads(json.dumps(made.as_values()))
    assert Plan.of(values) == made
    del values["also"], values["share"]  # as in a folder that was begun before there were other texts
    assert Plan.of(values) == Plan(texts=("/a", "/b"), rate=1e-3, prompt="ü")
