"""The folder of a training is whole at any moment, and Hugging Face's libraries load it."""

import errno
import itertools
import os
import shutil
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save

from checker import files
from play.training.folder import Folder, SavedTraining
from play.training.places import BEST, MADE, STATE
from play.training.plan import History
from solutions.training import initial_weights
from tests.dev.play.training.conftest import CONFIG, PLAN, WTE, numbers


@pytest.mark.slow
@pytest.mark.parametrize("half", [False, True])
def test_hugging_face_and_this_course_load_it_and_compute_the_same(begin, half):
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    from checker.max_adapter.hooks import install_hooks
    from checker.max_adapter.runtime import lazily, tensor
    from solutions.solution_13 import load_pretrained

    install_hooks()
    training = begin(plan=replace(PLAN, half=half))
    folder = training.folder
    assert numbers(folder.load()[0]) == numbers(training.saved()), "the training itself keeps all bits"
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


def test_best_weights_are_a_whole_checkpoint_again_after_their_folder_was_deleted(tmp_path, tokenizer):
    folder, groups = Folder(tmp_path / "training"), {"weights": initial_weights(CONFIG, 3)}
    saved = SavedTraining(PLAN, History(facts={"vocab": 270}), 0, groups)
    folder.begin(CONFIG, tokenizer, saved)
    files = sorted(path.name for path in (folder.path / BEST).iterdir())
    shutil.rmtree(folder.path / BEST)
    folder.save(saved, best=True)
    assert sorted(path.name for path in (folder.path / BEST).iterdir()) == files


class Killed(BaseException):
    """What ends a training in the middle of a save."""


@pytest.mark.parametrize("failure", [Killed(), OSError(errno.ENOSPC, "No space left")], ids=["killed", "full"])
def test_whenever_a_save_ends_the_folder_can_be_loaded(tmp_path, tokenizer, monkeypatch, failure):
    """At every moment: before each file is synced and renamed."""
    weights = initial_weights(CONFIG, 3)

    def saved(step):
        arrays = {name: step + array for name, array in weights.items()}
        groups = dict.fromkeys(("weights", "means", "squares"), arrays)
        return SavedTraining(PLAN, History([5.0] * step, facts={"vocab": 270}), step, groups)

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
    assert {path.name for path in folder.path.rglob("*")} == MADE, "else a killed training could not be taken over"


def test_a_damaged_training_is_refused_by_name(begin):
    file = begin().folder.path / STATE
    whole = file.read_bytes()
    for damaged in (whole[:-1], whole[:100], b"", save({"x": np.zeros(3)}, {"training": "{}"})):
        file.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"is damaged, or is not a training file \(\S.*; begin again"):
            Folder(file.parent).load()
