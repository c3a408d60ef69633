"""The folder of a training: whole at every moment, read by this course and by Hugging Face."""

import errno
import itertools
import json
import os
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save

from checker.course.paths import ROOT
from play.training import checkpoint
from play.training.checkpoint import STATE, Folder, Saved
from play.training.plan import History, Plan
from play.training.windows import learn_tokenizer
from solutions.solution_01 import GPT2Config

PLAN = Plan(layers=1, heads=2, width=6, positions=5, vocab=260, steps=9)
CONFIG = GPT2Config(vocab_size=260, n_positions=5, n_embd=6, n_layer=1, n_head=2)
WTE = "transformer.wte.weight"


@pytest.fixture(scope="module")
def tokenizer():
    return learn_tokenizer(["the whale the whale the whale"], 260)


@pytest.fixture(scope="module")
def weights():
    from solutions.solution_20 import initialize

    return initialize(CONFIG, 3)


@pytest.fixture
def begin(tmp_path, tokenizer, weights):
    def begun(name="some/training", plan=PLAN):
        folder = Folder(tmp_path / name)
        folder.begin(plan, CONFIG, tokenizer, weights, saved(0, weights).history)
        return folder

    return begun


def saved(step, weights, plan=PLAN):
    """What may be saved after a step: every number but the weights' own is 1 + step times larger."""
    evaluated = {"step": step, "loss": 5.0, "bits_per_byte": 2.5}
    history = History([5.0] * step, [evaluated], [{"step": step, "text": "ü"}], 1.5 * step, {"vocab": 260})
    means, squares = ({name: (factor + step) * array for name, array in weights.items()} for factor in (1, 2))
    return Saved(
        plan, history, step, {name: array + np.float32(step) for name, array in weights.items()}, means, squares
    )


def assert_same(arrays, expected):
    assert set(arrays) == set(expected)
    for name, array in expected.items():
        assert arrays[name].tobytes() == array.tobytes(), name


def test_what_is_saved_is_loaded_bit_for_bit_and_the_best_stays_until_there_is_a_better(begin, weights):
    folder, first = begin(), saved(4, weights)
    first.means["transformer.ln_f.bias"][:] = [-0.0, 1e-42, 1 / 3, 0, 1, np.finfo(np.float32).max]
    folder.save(first, best=True)
    loaded, tokenizer = folder.load()
    assert (loaded.plan, loaded.step, loaded.history, tokenizer.get_vocab_size()) == (PLAN, 4, first.history, 260)
    for group in ("weights", "means", "squares"):
        assert_same(getattr(loaded, group), getattr(first, group))
    folder.save(saved(5, weights), best=False)
    for place, step in ((folder.path / "best", 4), (folder.path, 5)):
        np.testing.assert_array_equal(load_file(place / "model.safetensors")[WTE], saved(step, weights).weights[WTE])
    figures = json.loads((folder.path / "training.json").read_text())
    assert (figures["step"], figures["plan"]["width"], len(figures["losses"])) == (5, 6, 5)
    assert '"folder": "training"' in (folder.path / "loss.html").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("half", [False, True])
def test_hugging_face_and_this_course_load_it_and_compute_the_same(begin, weights, half):
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    from checker.max_adapter.runtime import lazily, prepare, tensor
    from solutions.solution_13 import load_pretrained

    prepare()
    folder = begin(plan=replace(PLAN, half=half))
    assert_same(folder.load()[0].weights, weights)  # the training itself keeps all bits
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
    """Nothing cleans up after it, as after SIGKILL."""


@pytest.mark.parametrize("failure", [Killed(), OSError(errno.ENOSPC, "No space left")], ids=["killed", "full"])
def test_whenever_a_save_ends_the_folder_can_be_loaded(tmp_path, tokenizer, weights, monkeypatch, failure):
    """At every moment: before each file is synced and renamed."""

    def moment(function):
        def fail_or_call(*arguments):
            if next(moments) == last:
                with suppress(OSError):  # of a folder
                    os.truncate(arguments[0], 9)  # not all of it was on the disk
                raise failure
            return function(*arguments)

        return fail_or_call

    loaded_steps = set()
    for last in itertools.count(1):
        folder, moments = Folder(tmp_path / str(last) / "training"), itertools.count(1)
        with monkeypatch.context() as patch, suppress(Killed, OSError, ValueError):
            patch.setattr(checkpoint.Path, "replace", moment(Path.replace))
            patch.setattr(checkpoint.os, "fsync", moment(lambda opened: None))
            folder.begin(PLAN, CONFIG, tokenizer, weights, saved(0, weights).history)
            for step in (1, 2):
                folder.save(saved(step, weights), best=step % 2 == 0)
            break
        assert isinstance(failure, Killed) or not list(folder.path.parent.rglob("*.unfinished"))
        if not folder.path.exists():
            loaded_steps.add(None)
            continue
        loaded, _ = folder.load()
        loaded_steps.add(loaded.step)
        assert_same(loaded.weights, saved(loaded.step, weights).weights if loaded.step else weights)
        for place, near in ((folder.path, [-1, 0]), (folder.path / "best", [-1, 0, 1])):
            (step,) = set((load_file(place / "model.safetensors")[WTE] - weights[WTE]).round().ravel())
            assert step - loaded.step in near, (place, step, loaded.step)
        monkeypatch.setattr(checkpoint.os, "getpid", lambda: 7)
        folder.save(saved(9, weights), best=True)  # another process, which writes over what was left unfinished
        assert folder.load()[0].step == 9
        assert not list(folder.path.rglob("*.unfinished"))
    assert last > 40
    assert loaded_steps == {None, 0, 1, 2}


def test_what_is_no_training_is_refused_by_name(begin, tmp_path):
    with pytest.raises(ValueError, match=r"holds no training: it has no training\.safetensors"):
        Folder(tmp_path).load()
    folder = begin()
    file = folder.path / STATE
    whole = file.read_bytes()
    for damaged in (whole[:-1], whole[:100], b"", save({"x": np.zeros(3)}, {"training": "{}"})):
        file.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"is damaged, or is not a training file \(\S.*; begin again"):
            folder.load()


def test_a_training_does_not_begin_where_something_is(begin, tmp_path):
    with pytest.raises(ValueError, match=r"holds a training already\. Add --resume"):
        begin().require_new()
    for path in (ROOT, ROOT / "README.md", ROOT / "README.md" / "in"):
        with pytest.raises(ValueError, match=r"is not empty|cannot be written"):
            Folder(path).require_new()
    Folder(tmp_path / "a" / "b").require_new()
