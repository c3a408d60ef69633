"""The loop of a training, on a model of NumPy: what it prints, saves, and goes on from, and what can go wrong."""

import errno
import math
import os
import re
import shutil
import signal
from dataclasses import replace

import numpy as np
import pytest

from play.training import loop
from play.training.checkpoint import CannotSave, Folder
from play.training.graphs import Trainer
from play.training.loop import Diverged, Session
from play.training.memory import ROW, shared
from play.training.plan import History, Plan, in_words, options
from play.training.train import train
from play.training.windows import Windows, learn_tokenizer, token_ids, validation_windows
from solutions.solution_01 import GPT2Config
from solutions.solution_20 import TrainingState, initialize

TEXTS = ["the whale saw the old ship and the ship saw the white whale\n" * 9]
PLAN = Plan(layers=1, heads=2, width=6, positions=8, vocab=270, batch=3, accumulate=2, rate=0.5, steps=6)
WTE = "transformer.wte.weight"


@pytest.fixture(scope="module")
def tokenizer():
    return learn_tokenizer(TEXTS, PLAN.vocab)


@pytest.fixture
def trainer():
    """A model that predicts a token from the one before, by ``wte`` alone; its averages are all that it keeps."""
    config = GPT2Config(vocab_size=PLAN.vocab, n_positions=8, n_embd=6, n_layer=1, n_head=2)
    shapes = {name: array.shape for name, array in initialize(config, 0).items()}
    weights, sums, means, squares = (shared(shapes) for _ in range(4))

    def logits_of(input_ids, _=None):
        return weights.arrays[WTE][input_ids] @ weights.arrays[WTE].T

    def logits(input_ids, _):
        return logits_of(np.from_dlpack(input_ids))

    def accumulate(input_ids, labels, *_):
        ids, table = np.from_dlpack(input_ids)[:, :-1].ravel(), weights.arrays[WTE]
        targets = np.from_dlpack(labels)[:, 1:].ravel()
        found = logits_of(ids)
        p = np.exp(found - found.max(axis=-1, keepdims=True))
        p /= p.sum(axis=-1, keepdims=True)
        rows = np.arange(len(ids))
        total = -np.log(p[rows, targets]).sum()
        p[rows, targets] -= 1
        sums.arrays[WTE] += p.T @ table[ids]
        np.add.at(sums.arrays[WTE], ids, p @ table)
        return np.float32(total), np.float32(len(ids))

    def update(rate, step, count, *_):
        gradient = sums.arrays[WTE] / count.item()
        means.arrays[WTE] *= 0.5
        means.arrays[WTE] += gradient
        squares.arrays[WTE] += gradient * gradient
        weights.arrays[WTE] -= rate.item() * means.arrays[WTE]
        sums.clear()
        return np.float32(np.sqrt((gradient * gradient).sum()))

    state = TrainingState(weights.tensors(), sums.tensors(), means.tensors(), squares.tensors())
    return Trainer(config, weights, sums, means, squares, state, accumulate, update, logits)


@pytest.fixture
def begin(trainer, tokenizer, tmp_path):
    """Begin a training of the plan in a new folder, or go on with the one that is there."""
    tokens = token_ids(tokenizer, TEXTS)

    def session(name="training", plan=PLAN):
        folder, history = Folder(tmp_path / name), History()
        trainer.begin(plan.seed)
        if folder.path.is_dir():
            saved, _ = folder.load()
            plan, history = saved.plan, saved.history
            trainer.go_on(saved.step, saved.weights, saved.means, saved.squares)
        else:
            folder.begin(plan, trainer.config, tokenizer, trainer.weights.arrays, history)
        batches = validation_windows(tokens[:60], plan)
        return Session(plan, trainer, tokenizer, Windows(tokens, plan), batches, folder, history)

    return session


def stop_after(session, step):
    """Let a request to end come in the middle of a step."""
    update = session.trainer.update

    def interrupted(*inputs):
        if session.trainer.state.step == step:
            os.kill(os.getpid(), signal.SIGINT)
        return update(*inputs)

    session.trainer.update = interrupted
    assert session.run() is False
    session.trainer.update = update


def arrays(folder):
    saved, _ = folder.load()
    groups = (saved.weights, saved.means, saved.squares)
    return saved.step, [{name: array.tobytes() for name, array in group.items()} for group in groups]


def rows(printed):
    """The printed table without what the clock says."""
    return [line.split()[:4] for line in printed.splitlines() if re.match(r" +\d+ ", line)]


# ---------------------------------------------------------------- a training


def test_a_training_learns_and_says_so(begin, capsys):
    session = begin(plan=replace(PLAN, steps=40, rate=5.0))
    assert session.run() is True
    printed = capsys.readouterr().out
    first, header, *_ = printed.splitlines()
    assert (
        first
        == f"Before the first step the loss is {math.log(270):.2f}; guessing among 270 tokens costs ln 270 = 5.60."
    )
    assert header.split() == ["step", "loss", "validation", "bits", "per", "byte", "tokens/s", "left"]
    history = session.history
    assert [int(row[0]) for row in rows(printed)] == [one["step"] for one in history.evaluations[1:]]
    assert [int(row[0]) for row in rows(printed)] == list(range(2, 41, 2))
    for row, one in zip(rows(printed), history.evaluations[1:], strict=True):
        assert float(row[1]) == pytest.approx(np.mean(history.losses[one["step"] - 2 : one["step"]]), abs=6e-4)
        assert [float(cell) for cell in row[2:]] == pytest.approx([one["loss"], one["bits_per_byte"]], abs=6e-4)
    assert history.evaluations[-1]["loss"] < 4 < history.evaluations[0]["loss"]
    assert len(history.losses) == 40
    assert [sample["step"] for sample in history.samples] == [10, 20, 30, 40]
    assert all(sample["text"].startswith("The") and sample["text"] in printed for sample in history.samples)
    assert history.seconds > 0
    assert printed.count("0 s\n") >= 1, "nothing is left after the last step"


def test_bits_per_byte_are_those_of_the_text_that_is_predicted(begin, tokenizer):
    session = begin()
    loss, count = session.trainer.loss(session.validation)
    assert count == 59
    text = tokenizer.decode(token_ids(tokenizer, TEXTS)[1:60].tolist())
    session.evaluate()
    bits = session.history.evaluations[-1]["bits_per_byte"]
    assert bits == pytest.approx(loss * 59 / math.log(2) / len(text.encode()))


@pytest.mark.parametrize("cut", [1, 3, 5])
def test_what_was_interrupted_goes_on_bit_for_bit(begin, capsys, cut):
    whole = begin("whole")
    assert whole.run() is True
    at_once = capsys.readouterr().out
    parts = begin("parts")
    stop_after(parts, cut)
    assert arrays(parts.folder)[0] == cut
    again = begin("parts")
    assert again.trainer.state.step == cut
    assert again.run() is True
    assert arrays(again.folder) == arrays(whole.folder)
    assert rows(capsys.readouterr().out) == rows(at_once)
    assert again.history.losses == whole.history.losses
    assert again.history.evaluations == whole.history.evaluations
    assert again.history.samples == whole.history.samples


def test_another_seed_is_another_training(begin):
    sessions = [begin(str(seed), replace(PLAN, seed=seed)) for seed in (0, 1)]
    for session in sessions:
        session.trainer.begin(session.plan.seed)
        session.run()
    assert sessions[0].history.losses != sessions[1].history.losses


def test_the_best_weights_are_kept(begin, monkeypatch):
    """Here the loss is lowest after step 3, whatever the weights are."""
    from solutions.solution_13 import read_checkpoint

    session = begin()
    found = {step: 5 + abs(step - 3) for step in range(7)}
    monkeypatch.setattr(Trainer, "loss", lambda trainer, batches: (float(found[trainer.state.step]), 59))
    kept = {}
    save = session.save

    def note(**options):
        kept[session.trainer.state.step] = session.trainer.weights.arrays[WTE].copy()
        save(**options)

    session.save = note
    session.run()
    assert session.history.best["step"] == 3
    np.testing.assert_array_equal(read_checkpoint(session.folder.path / "best")[WTE], kept[3])
    np.testing.assert_array_equal(read_checkpoint(session.folder.path)[WTE], kept[6])


def test_a_save_comes_between_evaluations_too(begin, monkeypatch):
    monkeypatch.setattr(loop, "SAVE_EVERY", -1.0)
    session = begin(plan=replace(PLAN, steps=60))
    steps = []
    save = session.folder.save
    session.folder.save = lambda saved, best: (steps.append(saved.step), save(saved, best=best))
    session.run()
    assert steps == list(range(61))


def test_minutes_are_measured_on_steps_that_are_forgotten(begin):
    session = begin()
    assert 0 < session.seconds_per_step() < 5
    assert session.trainer.state.step == 0
    assert session.history == History()
    measured = begin("measured")
    measured.seconds_per_step()
    plain = begin("plain")
    for one in (measured, plain):
        one.trainer.begin(PLAN.seed)
        one.run()
    assert measured.history.losses == plain.history.losses


# ---------------------------------------------------------------- what goes wrong


def test_a_loss_that_is_no_number_is_said_and_the_last_save_stays(begin):
    session = begin(plan=replace(PLAN, steps=40))
    accumulate = session.trainer.accumulate

    def spoiled(*inputs):
        loss, count = accumulate(*inputs)
        return (np.float32(math.nan) if session.trainer.state.step == 12 else loss), count

    session.trainer.accumulate = spoiled
    with pytest.raises(Diverged) as caught:
        session.run()
    said = str(caught.value)
    assert said.startswith("the loss of step 13 is nan")
    assert f"{session.folder.path} holds step 12" in said
    assert "lower --rate than 0.5" in said
    saved, _ = session.folder.load()
    assert saved.step == 12
    assert all(np.isfinite(array).all() for array in saved.weights.values())


def test_weights_that_are_no_numbers_are_not_saved(begin):
    """The last update spoils a weight: the loss that is printed was finite, and the validation loss is not."""
    session = begin()
    update = session.trainer.update

    def spoiled(*inputs):
        norm = update(*inputs)
        if session.trainer.state.step == PLAN.steps:
            session.trainer.weights.arrays[WTE][0, 0] = math.nan
        return norm

    session.trainer.update = spoiled
    with pytest.raises(Diverged, match=f"after step {PLAN.steps} .* holds step {PLAN.steps - 1}"):
        session.run()
    with pytest.raises(Diverged, match=f"after step {PLAN.steps} some weights are not numbers"):
        session.save()
    saved, _ = session.folder.load()
    assert saved.step == PLAN.steps - 1
    assert all(np.isfinite(array).all() for array in saved.weights.values())


def test_a_rate_that_is_too_high_is_said_before_there_is_a_folder(begin):
    session = begin()
    shutil.rmtree(session.folder.path)
    session.trainer.update = lambda *inputs: np.float32(math.inf)
    with pytest.raises(Diverged, match=r"can hold\. Begin again with a lower --rate than 0\.5$"):
        session.seconds_per_step()


def test_what_the_last_save_lacks_is_written_by_resuming(begin):
    session = begin()
    session.run()
    there = {file: file.read_bytes() for file in session.folder.path.iterdir() if file.is_file()}
    (session.folder.path / "model.safetensors").write_bytes(b"older")
    (session.folder.path / "loss.svg").unlink()
    with pytest.raises(ValueError, match="is done"):
        resume(session.folder.path)
    assert {file: file.read_bytes() for file in session.folder.path.iterdir() if file.is_file()} == there


def test_a_training_of_ones_own_steps_does_not_go_on_with_the_solutions(begin):
    session = begin()
    session.history.facts["code"] = "steps"
    stop_after(session, 3)
    command = f"./run train --resume {session.folder.path} --mine"
    assert session.resuming == command
    with pytest.raises(ValueError, match="was begun with your own steps") as refused:
        resume(session.folder.path)
    assert f"`{command}`" in str(refused.value)


def resume(path):
    """``./run train --resume``, without other options."""
    numbers = dict.fromkeys(name for name, _, _ in options())
    nothing = dict(text=(), also=(), steps=None, minutes=None, out=None, mine=False, fill_in=False, anyway=False)
    return train(lambda words: None, resume=path, **nothing, **numbers)


def test_gradients_that_are_no_numbers_are_said(begin):
    session = begin()
    session.trainer.update = lambda *inputs: np.float32(math.inf)
    with pytest.raises(Diverged, match="holds step 0"):
        session.run()


def test_a_full_disk_is_said_with_what_is_left(begin, monkeypatch):
    session = begin()
    save = session.folder.save

    def full(saved, best):
        if saved.step == 4:
            raise OSError(errno.ENOSPC, "No space left on device")
        save(saved, best=best)

    monkeypatch.setattr(session.folder, "save", full)
    with pytest.raises(CannotSave) as caught:
        session.run()
    said = str(caught.value)
    assert "step 4 could not be saved (No space left on device)" in said
    assert f"{session.folder.path} holds step 3" in said
    assert f"`./run train --resume {session.folder.path}`" in said
    monkeypatch.undo()
    again = begin()
    assert again.trainer.state.step == 3
    assert again.run() is True


def test_the_second_interrupt_ends_at_once_and_the_first_handlers_come_back(begin):
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    session = begin()
    accumulate = session.trainer.accumulate

    def interrupted(*inputs):
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)
        return accumulate(*inputs)

    session.trainer.accumulate = interrupted
    with pytest.raises(KeyboardInterrupt):
        session.run()
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before
    assert session.folder.load()[0].step == 0


def test_a_request_to_end_comes_while_it_saves(begin, monkeypatch):
    session = begin()
    replaced = os.replace, os.fsync
    calls = []

    def interrupting(opened):
        calls.append(opened)
        if len(calls) == 9:
            os.kill(os.getpid(), signal.SIGTERM)
        replaced[1](opened)

    monkeypatch.setattr(os, "fsync", interrupting)
    assert session.run() is False
    monkeypatch.undo()
    step = session.trainer.state.step
    assert arrays(session.folder)[0] == step < 6
    assert not list(session.folder.path.rglob("*.unfinished"))
    assert begin().run() is True


def test_other_weights_are_not_taken(begin, trainer):
    session = begin()
    saved, _ = session.folder.load()
    for spoiled in ({}, {**saved.weights, "more": np.zeros(3)}, {**saved.weights, WTE: np.zeros([3, 6])}):
        with pytest.raises(ValueError, match="do not fit the model of its plan"):
            trainer.go_on(1, spoiled, saved.means, saved.squares)


def test_time_is_told_in_words():
    assert [in_words(seconds) for seconds in (0, 59.4, 60, 185, 3600, 7620)] == [
        "0 s", "59 s", "1 min 00 s", "3 min 05 s", "1 h 00 min", "2 h 07 min",
    ]  # fmt: skip


# ---------------------------------------------------------------- the memory


def test_wholes_and_arrays_are_the_same_memory():
    shapes = {"a": (3, 5), "b": (5,), "c": (2, 2, 2), "d": (1,)}
    made = shared(shapes)
    assert {name: array.shape for name, array in made.arrays.items()} == shapes
    for number, array in enumerate(made.arrays.values(), start=1):
        array[...] = number
        assert array.ctypes.data % 64 == 0
    assert (made.wholes["matrices"].sum(), made.wholes["vectors"].sum()) == (15 + 8 * 3, 5 * 2 + 4)
    assert made.wholes["matrices"].shape == (1, ROW)
    made.wholes["vectors"][...] = 7
    assert (made.arrays["b"] == 7).all()
    assert (made.arrays["a"] == 1).all()
    tensor = made.tensors()["c"]
    made.arrays["c"][...] = 9
    np.testing.assert_array_equal(np.from_dlpack(tensor), made.arrays["c"])
    made.clear()
    assert not any(array.any() for array in made.arrays.values())


def test_an_update_of_the_wholes_is_that_of_every_weight():
    """Step 20's own update, operation by operation: the norm, the decay of matrices alone, and all averages."""
    from checker.max_adapter.runtime import lazily, prepare
    from play.training.graphs import MAX_NORM
    from solutions.solution_20 import AdamW, Update, scalar

    prepare()
    shapes, rng = {"a": (3, 5), "b": (5,), "c": (5, 3), "d": (7,)}, np.random.default_rng(0)

    def updated(tensors_of):
        groups = [shared(shapes) for _ in range(4)]
        for group, values in zip(groups, drawn, strict=True):
            group.fill(values)
        tensors = [tensors_of(group) for group in groups]
        with lazily():
            norm = Update(AdamW(), MAX_NORM)(scalar(0.1), scalar(3), scalar(11), *tensors)
        return norm.item(), [
            np.concatenate([np.from_dlpack(tensor).ravel() for tensor in some.values()]) for some in tensors
        ]

    def placed(found):
        """The numbers of all arrays in the order of the wholes: matrices first, padded as they are."""
        group = shared(shapes)
        at = 0
        for array in group.arrays.values():
            array[...] = found[at : at + array.size].reshape(array.shape)
            at += array.size
        return np.concatenate([whole.ravel() for whole in group.wholes.values()])

    drawn = [
        {name: np.abs(rng.standard_normal(shape)).astype(np.float32) for name, shape in shapes.items()}
        for _ in range(4)
    ]
    norm, by_name = updated(lambda group: group.tensors())
    whole_norm, wholes = updated(lambda group: group.whole_tensors())
    assert norm == pytest.approx(whole_norm, rel=1e-6)
    for found, wanted in zip(wholes, by_name, strict=True):
        np.testing.assert_allclose(found, placed(wanted), rtol=1e-6)
    assert not wholes[1].any(), "the sums begin anew"
