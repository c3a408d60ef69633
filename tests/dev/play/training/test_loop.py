"""A training: what it prints, keeps, and goes on from, and what is said of one that goes wrong."""

import errno
import json
import math
import os
import re
import signal
from dataclasses import replace

import numpy as np
import pytest

from play.training import loop
from play.training.graphs import Trainer
from play.training.windows import token_ids
from solutions.checkpoint import read_checkpoint
from tests.dev.play.training.conftest import PLAN, TEXTS, WTE, numbers, spoil


def rows(printed):
    """The printed table without what the clock says."""
    return [line.split()[:4] for line in printed.splitlines() if re.match(r" +\d+ ", line)]


def test_what_a_training_prints_is_what_it_measures_and_the_best_weights_are_kept(
    begin, tokenizer, capsys, monkeypatch
):
    """Here the loss is lowest after step 14."""
    monkeypatch.setattr(loop, "SAVE_EVERY", -1.0)
    monkeypatch.setattr(Trainer, "loss", lambda trainer, batches: (5.0 + abs(trainer.step - 14), 59))
    training, weights = begin(plan=replace(PLAN, steps=40)), {}
    save_all = training.folder.save

    def note_and_save(saved, best):
        weights[saved.step] = saved.groups["weights"][WTE].copy()
        save_all(saved, best=best)

    training.folder.save = note_and_save
    training.run()
    assert list(weights) == list(range(41)), "also between evaluations, where the clock asks for it"
    printed, history = capsys.readouterr().out, training.history
    evaluations = history.evaluations[1:]
    assert [int(row[0]) for row in rows(printed)] == [each["step"] for each in evaluations] == list(range(2, 41, 2))
    for row, each in zip(rows(printed), evaluations, strict=True):
        expected = [np.mean(history.losses[each["step"] - 2 : each["step"]]), each["loss"], each["bits_per_byte"]]
        assert [float(cell) for cell in row[1:]] == pytest.approx(expected, abs=6e-4)
    assert [sample["step"] for sample in history.samples] == [10, 20, 30, 40]
    assert all(sample["text"].startswith("The") and sample["text"] in printed for sample in history.samples)
    text = tokenizer.decode(token_ids(tokenizer, TEXTS)[1:60].tolist())
    bits = (5 + 40 - 14) * 59 / math.log(2) / len(text.encode())
    assert history.evaluations[-1]["bits_per_byte"] == pytest.approx(bits)
    folder = training.folder.path
    for place, step in ((folder / "best", 14), (folder, 40)):
        np.testing.assert_array_equal(read_checkpoint(place)[WTE], weights[step])
    figures = json.loads((folder / "training.json").read_text())
    assert (figures["step"], figures["plan"]["width"], len(figures["losses"])) == (40, 6, 40)
    assert '"folder": "training"' in (folder / "loss.html").read_text()


@pytest.mark.parametrize("cut", [1, 4])
def test_what_was_interrupted_goes_on_bit_for_bit(begin, capsys, cut):
    whole = begin("whole")
    whole.seconds_per_step()  # which --minutes measures, and forgets
    assert whole.trainer.step == 0
    whole.run()
    at_once = capsys.readouterr().out
    guessing = f"Before the first step the loss is {math.log(270):.2f}; guessing among 270 tokens costs"
    assert at_once.startswith(guessing)
    parts = begin("parts")
    ctrl_c = lambda: parts.trainer.step == cut - 1 and os.kill(os.getpid(), signal.SIGINT)  # noqa: E731
    undo = spoil(parts, "update", before=ctrl_c)
    with pytest.raises(KeyboardInterrupt):
        parts.run()
    undo()
    assert parts.folder.load()[0].step == cut
    again = begin("parts")
    assert again.trainer.step == cut
    again.run()
    assert numbers(again.folder.load()[0]) == numbers(whole.folder.load()[0])
    assert rows(capsys.readouterr().out) == rows(at_once)
    assert replace(again.history, seconds=0) == replace(whole.history, seconds=0)
    other = begin("other", replace(PLAN, seed=1))
    other.run()
    assert other.history.losses != whole.history.losses


def loss_is_nan(training):
    late = training.trainer
    spoil(training, "accumulate", after=lambda sums: (np.float32(math.nan), sums[1]) if late.step == 3 else sums)


def weight_is_nan(training):
    table = training.trainer.kept()["weights"][WTE]

    def after(norm):
        table[0, 0] = math.nan if training.trainer.step == 3 else table[0, 0]
        return norm

    spoil(training, "update", after=after)


def logits_overflow(training):
    late = training.trainer
    spoil(training, "compiled_logits", after=lambda logits: logits * (np.inf if late.step == 4 else 1))


def disk_is_full(training):
    save_all = training.folder.save

    def full(saved, best):
        if saved.step == 4:
            raise OSError(errno.ENOSPC, "No space left on device")
        save_all(saved, best=best)

    training.folder.save = full


@pytest.mark.parametrize(
    ("problem", "message"),
    [
        (loss_is_nan, "the loss of step 4 is nan: .* Begin again in another --out with a lower --rate than 0.5"),
        (weight_is_nan, "after step 4 some weights are not finite: .* Begin again in another --out"),
        (logits_overflow, "after step 4 some logits are not finite: .* Begin again in another --out"),
        (disk_is_full, r"step 4 could not be saved \(No space left on device\), .* holds step 3\. .* --resume"),
    ],
)
def test_what_goes_wrong_is_said_and_the_last_save_stays(begin, problem, message):
    training = begin()
    problem(training)
    with pytest.raises(ValueError, match=message):
        training.run()
    saved, _ = training.folder.load()
    assert saved.step == 3
    assert all(np.isfinite(array).all() for array in saved.groups["weights"].values())


def test_what_is_not_finite_before_the_first_step_is_not_the_rates_fault(begin):
    training = begin()
    spoil(training, "compiled_logits", after=lambda logits: logits * np.nan)
    with pytest.raises(ValueError, match=r"after step 0 some logits .* it is the model that computes this"):
        training.run()
