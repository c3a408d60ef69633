"""A training on a model of NumPy, which the tests of a training share."""

import math

import numpy as np
import pytest

from play.training.folder import Folder
from play.training.graphs import Trainer
from play.training.loop import Training
from play.training.memory import Shared
from play.training.plan import History, Plan
from play.training.windows import Material, Windows, learn_tokenizer, token_ids, validation_windows
from solutions.solution_01 import GPT2Config
from solutions.training import initial_weights

TEXTS = ["the whale saw the old ship and the ship saw the white whale\n" * 9]
PLAN = Plan(layers=1, heads=2, width=6, positions=8, vocab=270, batch=3, accumulate=2, rate=0.5, steps=6)
CONFIG = GPT2Config(vocab_size=270, n_positions=8, n_embd=6, n_layer=1, n_head=2)
WTE = "transformer.wte.weight"


@pytest.fixture(scope="module")
def tokenizer():
    return learn_tokenizer(TEXTS, PLAN.vocab)


@pytest.fixture
def trainer():
    """A model that predicts a token from the one before, by ``wte`` alone, whose rows grow as their tokens come."""
    shapes = {name: array.shape for name, array in initial_weights(CONFIG, 0).items()}
    groups = {name: Shared(shapes) for name in ("weights", "sums", "means", "squares")}
    table, counts, mean, _ = (group.arrays[WTE] for group in groups.values())

    def logits(input_ids, _=None):
        return table[np.from_dlpack(input_ids)] @ table.T

    def accumulate(input_ids, labels, *_):
        ids = np.from_dlpack(labels)
        np.add.at(counts, ids, 1)
        before = logits(input_ids)[:, :-1]
        chosen = np.take_along_axis(before, ids[:, 1:, None], axis=-1)[..., 0]
        return (np.logaddexp.reduce(before, axis=-1) - chosen).sum(), np.float32(chosen.size)

    def update(rate, step, count, *_):
        if math.isnan(count.item()):
            return count
        mean[...] = mean / 2 + counts / count.item()
        table[...] += rate.item() * mean
        counts[...] = 0
        return np.float32(1)

    return Trainer(CONFIG, groups, accumulate, update, logits)


@pytest.fixture
def drawn_up(trainer, tokenizer):
    """What makes a training of a plan, which begins in a folder or goes on there."""
    tokens = token_ids(tokenizer, TEXTS)

    def training(folder, plan, history):
        material = Material(tokenizer, Windows(tokens, plan), validation_windows(tokens[:60], plan), {}, {}, "")
        return Training(plan, trainer, material, folder, history)

    return training


@pytest.fixture
def begin(trainer, tokenizer, drawn_up, tmp_path):
    """Begin a training of the plan in a new folder, or go on with the one that is there."""

    def training(name="training", plan=PLAN, **facts):
        folder, history = Folder(tmp_path / name), History(facts={"vocab": PLAN.vocab, **facts})
        resumes = folder.path.is_dir()
        trainer.begin(plan.seed)
        if resumes:
            saved, _ = folder.load()
            plan, history = saved.plan, saved.history
            trainer.go_on(saved.step, saved.groups)
        made = drawn_up(folder, plan, history)
        if not resumes:
            folder.begin(CONFIG, tokenizer, made.saved())
        return made

    return training


def spoil(training, part, before=lambda: None, after=lambda result: result):
    """Let something happen before and after one of the trainer's functions; return what undoes that."""
    function = getattr(training.trainer, part)

    def spoiled(*inputs):
        before()
        return after(function(*inputs))

    setattr(training.trainer, part, spoiled)
    return lambda: setattr(training.trainer, part, function)


def numbers(saved):
    """Everything that a training goes on from, to the bit."""
    return {group: {name: each.tobytes() for name, each in arrays.items()} for group, arrays in saved.groups.items()}
