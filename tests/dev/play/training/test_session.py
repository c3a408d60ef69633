"""A training on a model of NumPy: what it prints, saves, and goes on from, and its folder, which is always whole."""

import errno
import itertools
import json
import math
import os
import re
import signal
import sys
from contextlib import nullcontext, suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save

from checker.course.steps import ROOT, UNFINISHED
from play import files
from play.ending import ENDINGS
from play.training import loop, places
from play.training.checkpoint import Folder, Saved
from play.training.graphs import Trainer
from play.training.loop import Session
from play.training.memory import Shared, tensors
from play.training.places import STATE
from play.training.plan import History, Plan
from play.training.train import train
from play.training.windows import Material, Windows, learn_tokenizer, token_ids, validation_windows
from solutions.checkpoint import read_checkpoint
from solutions.solution_01 import GPT2Config
from solutions.training import initialize

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
    shapes = {name: array.shape for name, array in initialize(CONFIG, 0).items()}
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

    def session(folder, plan, history):
        material = Material(tokenizer, Windows(tokens, plan), validation_windows(tokens[:60], plan), {}, {}, "")
        return Session(plan, trainer, material, folder, history)

    return session


@pytest.fixture
def begin(trainer, tokenizer, drawn_up, tmp_path):
    """Begin a training of the plan in a new folder, or go on with the one that is there."""

    def session(name="training", plan=PLAN, **facts):
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

    return session


def spoil(session, part, before=lambda: None, after=lambda result: result):
    """Let something happen before and after one of the trainer's functions; return what undoes that."""
    function = getattr(session.trainer, part)

    def spoiled(*inputs):
        before()
        return after(function(*inputs))

    setattr(session.trainer, part, spoiled)
    return lambda: setattr(session.trainer, part, function)


def numbers(saved):
    """Everything that a training goes on from, to the bit."""
    return {group: {name: each.tobytes() for name, each in arrays.items()} for group, arrays in saved.groups.items()}


def rows(printed):
    """The printed table without what the clock says."""
    return [line.split()[:4] for line in printed.splitlines() if re.match(r" +\d+ ", line)]


def test_what_a_training_prints_is_what_it_measures_and_the_best_weights_are_kept(
    begin, tokenizer, capsys, monkeypatch
):
    """Here the loss is lowest after step 14."""
    monkeypatch.setattr(loop, "SAVE_EVERY", -1.0)
    monkeypatch.setattr(Trainer, "loss", lambda trainer, batches: (5.0 + abs(trainer.step - 14), 59))
    session, weights = begin(plan=replace(PLAN, steps=40)), {}
    save_all = session.folder.save

    def note_and_save(saved, best):
        weights[saved.step] = saved.groups["weights"][WTE].copy()
        save_all(saved, best=best)

    session.folder.save = note_and_save
    assert session.run() is True
    assert list(weights) == list(range(41)), "also between evaluations, where the clock asks for it"
    printed, history = capsys.readouterr().out, session.history
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
    folder = session.folder.path
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
    assert whole.run() is True
    at_once = capsys.readouterr().out
    guessing = f"Before the first step the loss is {math.log(270):.2f}; guessing among 270 tokens costs"
    assert at_once.startswith(guessing)
    parts = begin("parts")
    ctrl_c = lambda: parts.trainer.step == cut - 1 and os.kill(os.getpid(), signal.SIGINT)  # noqa: E731
    undo = spoil(parts, "update", before=ctrl_c)
    assert parts.run() is False
    undo()
    assert parts.folder.load()[0].step == cut
    again = begin("parts")
    assert again.trainer.step == cut
    assert again.run() is True
    assert numbers(again.folder.load()[0]) == numbers(whole.folder.load()[0])
    assert rows(capsys.readouterr().out) == rows(at_once)
    assert replace(again.history, seconds=0) == replace(whole.history, seconds=0)
    other = begin("other", replace(PLAN, seed=1))
    other.run()
    assert other.history.losses != whole.history.losses
    with pytest.raises(ValueError, match="is done: it has had all 6 steps"):
        train(lambda sentence: None, resume=again.folder.path)
    changed = begin("changed", replace(PLAN, texts=[str(ROOT / "README.md")]), text="the digest of another").folder.path
    with pytest.raises(ValueError, match=f"the text has changed since {changed} was begun; restore it"):
        train(lambda sentence: None, resume=changed)
    mine = begin("mine", code="steps").folder.path
    with pytest.raises(ValueError, match=re.escape(f"own steps; continue with `./run train --resume {mine} --mine`")):
        train(lambda sentence: None, resume=mine)


#: When a signal comes -> the step that the folder then holds, if there is one.
MOMENTS = {
    "compiling": None,
    "compiling, and an empty folder was there": None,
    "making the folder": 0,
    "the first evaluation": 0,
    "saving": 0,
    "a step": 3,
    "evaluating": 1,
}


@pytest.mark.parametrize("number", ENDINGS)
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_signal_at_any_moment_ends_it_and_the_folder_is_whole(
    trainer, drawn_up, monkeypatch, tmp_path, moment, number
):
    came, said, path, saved = [], [], tmp_path / "in" / "training", MOMENTS[moment]
    there = [places.unfinished(path)] if "was there" in moment else []
    for folder in there:
        folder.mkdir()
    trainer.begin(PLAN.seed)

    def come(now):
        if moment.startswith(now) and not came and (moment != "a step" or trainer.step == 2):
            came.append(moment)
            os.kill(os.getpid(), number)

    def begin(folder, *_, **options):
        come("compiling")
        session = drawn_up(folder, PLAN, History(facts={"vocab": PLAN.vocab}))
        spoil(session, "update", before=lambda: come("a step"))
        spoil(session, "compiled_logits", before=lambda: come("evaluating" if trainer.step else "the first evaluation"))
        return session

    when = lambda _: come("making the folder" if places.unfinished(path).exists() else "saving")  # noqa: E731
    monkeypatch.setattr(os, "fsync", when)
    module = sys.modules["play.training.train"]
    for name, replaced in (("prepared", lambda *_, **options: nullcontext()), ("begin", begin)):
        monkeypatch.setattr(module, name, replaced)
    for name in ("stdout", "stderr"):
        monkeypatch.setattr(sys, name, getattr(sys, name))  # which the end leaves aside
    monkeypatch.setattr(os, "_exit", sys.exit)
    with pytest.raises(SystemExit, match=str(128 + number)):
        train(said.append, out=path)
    assert came == [moment]
    if saved is None:
        assert (said, [*tmp_path.iterdir()]) == ([f"stopped by {ENDINGS[number]}"], there)
        return
    resume = f"`./run train --resume {path}` continues it"
    assert said == [f"stopped after step {saved} of 6, which is saved; {resume}"]
    with places.resumed(path):
        assert Folder(path).load()[0].step == saved
    assert [*tmp_path.rglob("*.unfinished")] == []
    session = drawn_up(Folder(path), PLAN, History())
    trainer.step += 1  # the step took longer than the signal waits
    assert session.stopped() == f"stopped after step {saved + 1} of 6, and step {saved} is saved; {resume}"


def test_a_folder_has_one_training_and_is_whole_or_not_there(tokenizer, tmp_path):
    path, saved = tmp_path / "in" / "training", Saved(PLAN, History(), 0, {"weights": initialize(CONFIG, 3)})
    with places.new(path) as (place, _):
        with pytest.raises(ValueError, match=r"another training is beginning in .*; give"), places.new(path):
            pass
        (place / "of-another-program.txt").touch()
        path.mkdir(parents=True)  # somebody else does, and uses it
        (path / "theirs").touch()
        with pytest.raises(ValueError, match=r"could not be made \(.* not empty\), and nothing of it"):
            Folder(path, place).begin(CONFIG, tokenizer, saved)
    assert [*tmp_path.rglob("*")] == [path.parent, path, path / "theirs"]
    (path / "theirs").unlink()
    (place := places.unfinished(path)).mkdir()  # one that was killed has left it
    (place / f"{STATE}.7{UNFINISHED}").touch()
    (theirs := place / f"notes{UNFINISHED}").touch()
    with pytest.raises(ValueError, match=rf"{place}, which holds {theirs.name}; give"), places.new(path):
        pass
    theirs.unlink()  # which nobody else has
    path.chmod(0o700)
    with places.new(path):
        assert [*path.iterdir()] == []
        Folder(path, place).begin(CONFIG, tokenizer, saved)
        assert path.stat().st_mode & 0o777 == 0o700
        for another, problem in ((places.new, "holds a training already"), (places.resumed, "is running; wait")):
            with pytest.raises(ValueError, match=problem), another(path):
                pass
    assert [*tmp_path.rglob(f"*{UNFINISHED}")] == []
    with places.resumed(path), pytest.raises(ValueError, match="is running; wait"), places.resumed(path):
        pass
    with places.resumed(path):
        assert Folder(path).load()[0].step == 0


def loss_is_nan(session):
    late = session.trainer
    spoil(session, "accumulate", after=lambda sums: (np.float32(math.nan), sums[1]) if late.step == 3 else sums)


def weight_is_nan(session):
    table = session.trainer.kept()["weights"][WTE]

    def after(norm):
        table[0, 0] = math.nan if session.trainer.step == 3 else table[0, 0]
        return norm

    spoil(session, "update", after=after)


def logits_overflow(session):
    late = session.trainer
    spoil(session, "compiled_logits", after=lambda logits: logits * (np.inf if late.step == 4 else 1))


def disk_is_full(session):
    save_all = session.folder.save

    def full(saved, best):
        if saved.step == 4:
            raise OSError(errno.ENOSPC, "No space left on device")
        save_all(saved, best=best)

    session.folder.save = full


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
    session = begin()
    problem(session)
    with pytest.raises(ValueError, match=message):
        session.run()
    saved, _ = session.folder.load()
    assert saved.step == 3
    assert all(np.isfinite(array).all() for array in saved.groups["weights"].values())


def test_what_is_not_finite_before_the_first_step_is_not_the_rates_fault(begin):
    session = begin()
    spoil(session, "compiled_logits", after=lambda logits: logits * np.nan)
    with pytest.raises(ValueError, match=r"after step 0 some logits .* it is the model that computes this"):
        session.run()


@pytest.mark.slow
@pytest.mark.parametrize("half", [False, True])
def test_hugging_face_and_this_course_load_it_and_compute_the_same(begin, half):
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    from checker.max_adapter.hooks import install_hooks
    from checker.max_adapter.runtime import lazily, tensor
    from solutions.solution_13 import load_pretrained

    install_hooks()
    session = begin(plan=replace(PLAN, half=half))
    folder = session.folder
    assert numbers(folder.load()[0]) == numbers(session.saved()), "the training itself keeps all bits"
    model, problems = transformers.GPT2LMHeadModel.from_pretrained(folder.path / "best", output_loading_info=True)
    assert not any(problems.values()), problems
    assert model.dtype == (torch.float16 if half else torch.float32)
    ids = np.array([[0, 5, 259, 7, 7]])
    with lazily():
        logits = load_pretrained(folder.path)(tensor(ids))
    with torch.no_grad():
        expected = model.float().eval()(torch.from_numpy(ids)).logits.numpy()
    np.testing.assert_allclose(np.from_dlpack(logits), expected, atol=1e-6)
    theirs = transformers.AutoTokenizer.from_pretrained(folder.path)
    assert theirs.decode(theirs("the whale ü")["input_ids"]) == "the whale ü"
    assert theirs.eos_token_id == theirs.bos_token_id == 0


class Killed(BaseException):
    """What ends a training in the middle of a save."""


@pytest.mark.parametrize("failure", [Killed(), OSError(errno.ENOSPC, "No space left")], ids=["killed", "full"])
def test_whenever_a_save_ends_the_folder_can_be_loaded(tmp_path, tokenizer, monkeypatch, failure):
    """At every moment: before each file is synced and renamed."""
    weights = initialize(CONFIG, 3)

    def saved(step):
        arrays = {name: step + array for name, array in weights.items()}
        groups = dict.fromkeys(("weights", "means", "squares"), arrays)
        return Saved(PLAN, History([5.0] * step, facts={"vocab": 270}), step, groups)

    def moment(function):
        def fail_or_call(*arguments):
            if next(moments) == last:
                with suppress(OSError):
                    os.truncate(arguments[0], 9)  # not all of it was on the disk
                raise failure
            return function(*arguments)

        return fail_or_call

    steps = set()
    for last in itertools.count(1):
        folder, moments = Folder(tmp_path / str(last) / "training"), itertools.count(1)
        with monkeypatch.context() as patch, suppress(Killed, OSError, ValueError):
            patch.setattr(Path, "replace", moment(Path.replace))
            patch.setattr(files.os, "fsync", moment(lambda opened: None))
            folder.begin(CONFIG, tokenizer, saved(0))
            for step in (1, 2):
                folder.save(saved(step), best=step % 2 == 0)
            break
        if not folder.path.exists():
            steps.add(None)
            continue
        loaded, _ = folder.load()
        steps.add(loaded.step)
        assert numbers(loaded) == numbers(saved(loaded.step))
        for place in (folder.path, folder.path / "best"):
            (step,) = set((load_file(place / "model.safetensors")[WTE] - weights[WTE]).round().ravel())
            assert step - loaded.step in ((0, 1) if place == folder.path else (-1, 0, 1)), place
    assert last > 30
    assert (steps, folder.load()[0].step) == ({None, 0, 1}, 2)


def test_what_is_no_training_is_refused_by_name(begin):
    file = begin().folder.path / STATE
    whole = file.read_bytes()
    for damaged in (whole[:-1], whole[:100], b"", save({"x": np.zeros(3)}, {"training": "{}"})):
        file.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"is damaged, or is not a training file \(\S.*; begin again"):
            Folder(file.parent).load()
    with pytest.raises(ValueError, match=r"holds a training already\. Add --resume"):
        places.require_new(file.parent)
    for path in (ROOT / "README.md", ROOT / "README.md" / "in"):
        with pytest.raises(ValueError, match=r"is not empty|cannot be written"):
            places.require_new(path)


def test_a_training_begins_with_gains_of_1_biases_of_0_and_normal_noise():
    for name, weight in initialize(replace(CONFIG, n_embd=60, n_layer=2), 0).items():
        spread = 0 if weight.ndim == 1 else 0.02 / math.sqrt(2 * 2) if "c_proj" in name else 0.02
        assert weight.std() == pytest.approx(spread, rel=0.1), name
        assert weight.mean() == pytest.approx(float(weight.ndim == 1 and "weight" in name), abs=0.002), name


@pytest.mark.slow
def test_an_update_of_the_wholes_is_that_of_every_weight():
    """The decay of matrices alone, all averages, and the norm: one sum of so many squares would lose a thousandth."""
    from checker.max_adapter.hooks import install_hooks
    from checker.max_adapter.runtime import lazily
    from solutions.solution_20 import AdamW, Update
    from solutions.training import TrainingState, scalar

    install_hooks()
    shapes, rng = {"a": (2304, 768), "b": (5,), "c": (5, 3), "d": (100_000,)}, np.random.default_rng(0)
    values = [{name: np.abs(rng.standard_normal(shape)) for name, shape in shapes.items()} for _ in range(4)]
    norm, arrays = np.sqrt(sum((array**2).sum() for array in values[1].values())), {}
    for part in ("arrays", "wholes"):
        groups = [Shared(shapes) for _ in range(4)]
        for group, numbers_of in zip(groups, values, strict=True):
            group.fill(numbers_of)
        with lazily():
            state = TrainingState(*(tensors(getattr(group, part)) for group in groups))
            length = Update(AdamW(), 1.0)(scalar(0.1), scalar(3), scalar(1), state)
        assert length.item() == pytest.approx(norm, rel=2e-5)
        arrays[part] = [array for group in groups for array in group.arrays.values()]
    for by_name, at_once in zip(arrays["arrays"], arrays["wholes"], strict=True):
        assert at_once.ctypes.data % 64 == 0
        np.testing.assert_allclose(by_name, at_once, rtol=1e-5, atol=1e-6)
