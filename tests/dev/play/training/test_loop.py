"""The loop of a training, on a model of NumPy: what it prints, saves, and goes on from, and what can go wrong."""

import errno
import math
import os
import re
import signal
from dataclasses import replace

import numpy as np
import pytest

from play.training import loop
from play.training.checkpoint import Folder
from play.training.graphs import Trainer
from play.training.loop import Session
from play.training.memory import shared
from play.training.plan import History, Plan
from play.training.train import train
from play.training.windows import Material, Windows, learn_tokenizer, token_ids, validation_windows
from solutions.solution_01 import GPT2Config
from solutions.solution_13 import read_checkpoint
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
    groups = [shared(shapes) for _ in range(4)]
    table, gradient, mean, square = (group.arrays[WTE] for group in groups)

    def logits(input_ids, _=None):
        return table[np.from_dlpack(input_ids)] @ table.T

    def accumulate(input_ids, labels, *_):
        ids, targets = np.from_dlpack(input_ids)[:, :-1].ravel(), np.from_dlpack(labels)[:, 1:].ravel()
        p = np.exp(logits(ids))
        p /= p.sum(axis=-1, keepdims=True)
        rows = np.arange(len(ids))
        loss = -np.log(p[rows, targets]).sum()
        p[rows, targets] -= 1
        gradient[...] += p.T @ table[ids]
        np.add.at(gradient, ids, p @ table)
        return np.float32(loss), np.float32(len(ids))

    def update(rate, step, count, *_):
        gradient[...] /= count.item()
        mean[...] = mean / 2 + gradient
        square[...] += gradient * gradient
        table[...] -= rate.item() * mean
        norm = np.float32(np.sqrt((gradient * gradient).sum()))
        gradient[...] = 0
        return norm

    state = TrainingState(*(group.tensors() for group in groups))
    return Trainer(config, *groups, state, accumulate, update, logits)


@pytest.fixture
def begin(trainer, tokenizer, tmp_path):
    """Begin a training of the plan in a new folder, or go on with the one that is there."""
    tokens = token_ids(tokenizer, TEXTS)

    def session(name="training", plan=PLAN, **facts):
        folder, history = Folder(tmp_path / name), History(facts={"vocab": PLAN.vocab, **facts})
        trainer.begin(plan.seed)
        if folder.path.is_dir():
            saved, _ = folder.load()
            plan, history = saved.plan, saved.history
            trainer.go_on(saved.step, saved.weights, saved.means, saved.squares)
        else:
            folder.begin(plan, trainer.config, tokenizer, trainer.weights.arrays, history)
        held_out = validation_windows(tokens[:60], plan)
        material = Material(tokenizer, Windows(tokens, plan), held_out, {}, {}, "")
        return Session(plan, trainer, material, folder, history)

    return session


def spoil(session, part, before=lambda: None, after=lambda result: result):
    """Let something happen before and after one of the trainer's functions."""
    function = getattr(session.trainer, part)

    def spoiled(*inputs):
        before()
        return after(function(*inputs))

    setattr(session.trainer, part, spoiled)
    return lambda: setattr(session.trainer, part, function)


def send(*numbers):
    for number in numbers:
        os.kill(os.getpid(), number)


def arrays(folder):
    saved, _ = folder.load()
    groups = (saved.weights, saved.means, saved.squares)
    return saved.step, [{name: array.tobytes() for name, array in group.items()} for group in groups]


def rows(printed):
    """The printed table without what the clock says."""
    return [line.split()[:4] for line in printed.splitlines() if re.match(r" +\d+ ", line)]


def test_a_training_learns_and_says_so(begin, tokenizer, capsys, monkeypatch):
    monkeypatch.setattr(loop, "SAVE_EVERY", -1.0)
    session = begin(plan=replace(PLAN, steps=40, rate=5.0))
    saved_steps, save = [], session.folder.save
    session.folder.save = lambda saved, best: (saved_steps.append(saved.step), save(saved, best=best))
    assert session.run() is True
    assert saved_steps == list(range(41)), "also between evaluations, where the clock asks for it"
    printed, history = capsys.readouterr().out, session.history
    guessing = f"Before the first step the loss is {math.log(270):.2f}; guessing among 270 tokens costs"
    assert printed.startswith(guessing)
    evaluations = history.evaluations[1:]
    assert [int(row[0]) for row in rows(printed)] == [each["step"] for each in evaluations] == list(range(2, 41, 2))
    for row, each in zip(rows(printed), evaluations, strict=True):
        recent = np.mean(history.losses[each["step"] - 2 : each["step"]])
        expected = [recent, each["loss"], each["bits_per_byte"]]
        assert [float(cell) for cell in row[1:]] == pytest.approx(expected, abs=6e-4)
    assert history.evaluations[-1]["loss"] < 4 < history.evaluations[0]["loss"]
    assert [sample["step"] for sample in history.samples] == [10, 20, 30, 40]
    assert all(sample["text"].startswith("The") and sample["text"] in printed for sample in history.samples)
    loss, count = session.trainer.loss(session.validation)
    text = tokenizer.decode(token_ids(tokenizer, TEXTS)[1:60].tolist())
    bits = loss * 59 / math.log(2) / len(text.encode())
    assert (count, history.evaluations[-1]["bits_per_byte"]) == (59, pytest.approx(bits))


@pytest.mark.parametrize("cut", [1, 4])
def test_what_was_interrupted_goes_on_bit_for_bit(begin, capsys, cut):
    whole = begin("whole")
    whole.seconds_per_step()  # which --minutes measures, and forgets
    assert whole.trainer.state.step == 0
    assert whole.run() is True
    at_once = capsys.readouterr().out
    parts = begin("parts")
    undo = spoil(parts, "update", before=lambda: parts.trainer.state.step == cut and send(signal.SIGINT))
    assert parts.run() is False
    undo()
    assert arrays(parts.folder)[0] == cut
    again = begin("parts")
    assert again.trainer.state.step == cut
    assert again.run() is True
    assert arrays(again.folder) == arrays(whole.folder)
    assert rows(capsys.readouterr().out) == rows(at_once)
    assert replace(again.history, seconds=0) == replace(whole.history, seconds=0)
    other = begin("other", replace(PLAN, seed=1))
    other.run()
    assert other.history.losses != whole.history.losses


def test_the_best_weights_are_kept(begin, monkeypatch):
    """Here the loss is lowest after step 3, whatever the weights are."""
    session, weights = begin(), []
    table = session.trainer.weights.arrays[WTE]
    monkeypatch.setattr(Trainer, "loss", lambda trainer, batches: (5.0 + abs(trainer.state.step - 3), 59))
    update = session.trainer.update
    session.trainer.update = lambda *inputs: (update(*inputs), weights.append(table.copy()))[0]
    session.run()
    assert session.history.best["step"] == 3
    for place, step in ((session.folder.path / "best", 3), (session.folder.path, 6)):
        np.testing.assert_array_equal(read_checkpoint(place)[WTE], weights[step - 1])


def spoil_weights(session):
    session.trainer.weights.arrays[WTE][0, 0] = math.nan


@pytest.mark.parametrize(
    ("part", "late", "result_after", "message"),
    [  # a part of the trainer, the step that is counted when it goes wrong, and what is said
        ("accumulate", 3, lambda session, result: (np.float32(math.nan), result[1]), "the loss of step 4 is nan"),
        ("update", 4, lambda session, norm: spoil_weights(session) or norm, "after step 4 some weights are not"),
    ],
)
def test_numbers_that_are_not_finite_are_said_and_the_last_save_stays(begin, part, late, result_after, message):
    session = begin()

    def after(result):
        return result_after(session, result) if session.trainer.state.step == late else result

    spoil(session, part, after=after)
    with pytest.raises(ValueError, match=message) as raised:
        session.run()
    assert "Begin again in another --out with a lower --rate than 0.5" in str(raised.value)
    saved, _ = session.folder.load()
    assert saved.step == 3
    assert all(np.isfinite(array).all() for array in saved.weights.values())


def test_a_full_disk_is_said_with_what_is_left(begin):
    session = begin()
    save = session.folder.save

    def full(saved, best):
        if saved.step == 4:
            raise OSError(errno.ENOSPC, "No space left on device")
        save(saved, best=best)

    session.folder.save = full
    with pytest.raises(ValueError, match="could not be saved") as raised:
        session.run()
    assert str(raised.value) == (
        f"step 4 could not be saved (No space left on device), and {session.folder.path} holds step 3. Make room, then "
        f"continue with `./run train --resume {session.folder.path}`"
    )
    assert begin().run() is True


def test_a_second_interrupt_ends_at_once_and_the_first_handlers_come_back(begin):
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    session = begin()
    spoil(session, "accumulate", before=lambda: send(signal.SIGINT, signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        session.run()
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before
    assert session.folder.load()[0].step == 0


def test_what_is_not_resumed_is_said_and_what_the_last_save_lacks_is_written(begin, trainer):
    done, mine = begin(), begin("mine", code="steps")
    begin().run()
    path = done.folder.path
    files = {file: file.read_bytes() for file in path.iterdir() if file.is_file()}
    (path / "model.safetensors").write_bytes(b"older")
    (path / "loss.html").unlink()
    with pytest.raises(ValueError, match="is done: it has had all 6 steps"):
        train(lambda sentence: None, resume=path)
    assert {file: file.read_bytes() for file in path.iterdir() if file.is_file()} == files
    again = re.escape(f"continue with `./run train --resume {mine.folder.path} --mine`")
    with pytest.raises(ValueError, match=f"was begun with your own steps; {again}"):
        train(lambda sentence: None, resume=mine.folder.path)
    weights = mine.folder.load()[0].weights
    for others in ({}, {**weights, "more": np.zeros(3)}, {**weights, WTE: np.zeros([3, 6])}):
        with pytest.raises(ValueError, match="do not fit the model of its plan"):
            trainer.go_on(1, others, weights, weights)


@pytest.mark.slow
def test_an_update_of_the_wholes_is_that_of_every_weight():
    """The decay of matrices alone, all averages, and the norm: one sum of so many squares would lose a thousandth."""
    from checker.max_adapter.runtime import lazily, prepare
    from play.training.graphs import MAX_NORM
    from solutions.solution_20 import AdamW, Update, scalar

    prepare()
    shapes, rng = {"a": (2304, 768), "b": (5,), "c": (5, 3), "d": (100_000,)}, np.random.default_rng(0)
    numbers = [{name: np.abs(rng.standard_normal(shape)) for name, shape in shapes.items()} for _ in range(4)]

    def updated(tensors_of):
        groups = [shared(shapes) for _ in range(4)]
        for group, values in zip(groups, numbers, strict=True):
            group.fill(values)
        with lazily():
            norm = Update(AdamW(), MAX_NORM)(scalar(0.1), scalar(3), scalar(1), *map(tensors_of, groups))
        return norm.item(), groups

    norm, by_name = updated(lambda group: group.tensors())
    norm_of_wholes, at_once = updated(lambda group: group.whole_tensors())
    expected = np.sqrt(sum((array**2).sum() for array in numbers[1].values()))
    assert (norm, norm_of_wholes) == (pytest.approx(expected, rel=2e-5), pytest.approx(expected, rel=2e-5))
    for group, other in zip(by_name, at_once, strict=True):
        for name in shapes:
            assert group.arrays[name].ctypes.data % 64 == 0
            np.testing.assert_allclose(group.arrays[name], other.arrays[name], rtol=1e-5, atol=1e-6)
