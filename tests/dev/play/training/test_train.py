"""``./run train`` as a whole: what it refuses before it compiles anything, and a small training from end to end.

The small model is compiled once, and MAX keeps it for the next run of these tests.
"""

import dataclasses
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from checker.course.paths import ROOT
from checker.course.steps import all_steps
from play.training.checkpoint import STATE, Folder
from play.training.plan import Plan
from play.training.train import LAST_STEP, train

SIZES = dict(layers=1, heads=2, width=16, positions=16, vocab=289, batch=4)
TINY = [f"--{name}={size}" for name, size in SIZES.items()]
NONE = {field.name: None for field in dataclasses.fields(Plan) if field.metadata}


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    rng = np.random.default_rng(0)
    words = ["the whale", "the sea", "a ship", "Ahab", "is", "was", "saw", "white", "wide", "old", "under"]
    lines = [" ".join(rng.choice(words, 5)) for _ in range(400)]
    file = tmp_path_factory.mktemp("text") / "small.txt"
    file.write_text("\n".join(lines))
    return file


# ---------------------------------------------------------------- what is refused


def refused(tmp_path, text=(), out=None, **options):
    """What is said, when nothing has been written."""
    told = []
    out = out or (None if "resume" in options else tmp_path / "out")
    before = sorted(tmp_path.rglob("*"))
    defaults = dict(steps=None, minutes=None, resume=None, mine=False, fill_in=False, anyway=False, **NONE)
    with pytest.raises(ValueError, match=r"\w") as caught:
        train(told.append, text=tuple(text), **({"out": out} | defaults | options))
    assert sorted(tmp_path.rglob("*")) == before
    assert told == []
    return str(caught.value)


def test_options_that_make_no_sense_are_said(tmp_path, text):
    assert "give --steps or --minutes, not both" in refused(tmp_path, steps=5, minutes=1.0)
    for minutes in (0.0, -1.0, float("nan"), float("inf")):
        assert f"--minutes {minutes} is not a time" in refused(tmp_path, minutes=minutes)
    assert "--share is that of --text among other texts; give those with --also" in refused(tmp_path, share=0.3)
    assert "--share 0.7 must be above 0 and at most 0.5" in refused(tmp_path, share=0.7, also=(text,))
    assert "--steps 0 is too small" in refused(tmp_path, steps=0)
    assert "--vocab 200 is too small" in refused(tmp_path, vocab=200)
    assert "--width 10 is not a multiple of --heads 4" in refused(tmp_path, width=10)
    assert "is not empty; give --out a new folder" in refused(tmp_path, out=ROOT / "checker")


def test_a_text_that_cannot_be_learned_is_said(tmp_path):
    file = tmp_path / "some.txt"
    assert f"{file} cannot be read (No such file or directory)" in refused(tmp_path, text=[file])
    file.write_text("Call me Ishmael. Some years ago, never mind how long precisely, having little money.\n")
    assert "is too short: its last tenth is held out" not in refused(tmp_path, text=[file])
    assert "a window is --positions 128 tokens; give a longer text" in refused(tmp_path, text=[file])
    assert f"{tmp_path / 'other'} cannot be read" in refused(tmp_path, also=(tmp_path / "other",))
    file.write_bytes(b"\0\1\2" * 1000)
    assert "some.txt is not text" in refused(tmp_path, text=[file])
    file.write_bytes("Wörter ".encode("utf-16") * 1000)
    assert re.search("is not text|is not in UTF-8", refused(tmp_path, text=[file]))


def test_a_folder_that_holds_no_training_is_not_gone_on_with(tmp_path, text):
    assert "holds no training: it has no training.safetensors" in refused(tmp_path, resume=tmp_path / "nowhere")
    assert "holds no training" in refused(tmp_path, resume=ROOT / "models" / "moby-dick")
    (tmp_path / STATE).write_bytes(b"nothing")
    assert "is damaged, or is not a training file" in refused(tmp_path, resume=tmp_path)


def test_a_training_that_goes_on_takes_no_other_options(tmp_path, text):
    said = refused(tmp_path, text=[text], also=(text,), resume=tmp_path, out=tmp_path, steps=7, width=32, rate=0.1)
    assert said.startswith(f"--resume continues with the options that {tmp_path} was begun with; leave out ")
    assert set(re.findall(r"--(\w+)", said)) == {"resume", "text", "also", "out", "steps", "width", "rate"}


def test_mine_names_the_steps_that_are_not_written(course):
    command = [sys.executable, "-m", "cli", "train", "--mine", "--steps", "2"]
    done = subprocess.run(command, cwd=course.root, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 2
    assert re.search(r"these steps are not written yet: s01, .*s16.*s20\. Write them", done.stderr)
    assert "Traceback" not in done.stderr


# ---------------------------------------------------------------- a small training


def command(*arguments):
    return [sys.executable, "-u", "-m", "cli", "train", *map(str, arguments)]


def surroundings():
    """The folder and the environment of a command, without what MAX's compiler has put there (tests/dev/conftest.py)."""
    return dict(cwd=ROOT, env=dict(os.environ), text=True)


def run(*arguments):
    return subprocess.run(command(*arguments), capture_output=True, timeout=1800, check=False, **surroundings())


@pytest.fixture(scope="module")
def whole(text, tmp_path_factory):
    """A training of 60 steps at once: its folder, and what it printed."""
    folder = tmp_path_factory.mktemp("trained") / "whole"
    done = run("--text", text, *TINY, "--accumulate", 2, "--steps", 60, "--out", folder)
    assert done.returncode == 0, done.stderr
    return folder, done


def rows(printed):
    return [line.split()[:4] for line in printed.splitlines() if re.match(r" +\d+ ", line)]


@pytest.mark.nightly
def test_it_learns_and_says_where_the_model_is(whole, text):
    folder, done = whole
    history = json.loads((folder / "training.json").read_text())
    assert history["evaluations"][0]["loss"] == pytest.approx(np.log(289), abs=0.05)
    assert history["evaluations"][-1]["loss"] < 4.5
    assert len(history["losses"]) == 60
    assert f"--model {folder / 'best'}" in done.stderr
    assert (folder / "loss.svg").read_text().startswith("<svg")
    assert history["facts"]["bytes"]["train"] + history["facts"]["bytes"]["validation"] == text.stat().st_size
    assert len(history["facts"]["compile_seconds"]) == 3


@pytest.mark.nightly
def test_the_loss_of_a_batch_is_pytorchs(whole, text):
    """The validation loss, of Hugging Face's model with the weights that were saved."""
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    from play.training.texts import read_corpus
    from play.training.windows import NOT_COUNTED, token_ids, validation_windows

    folder, _ = whole
    saved, tokenizer = Folder(folder).load()
    model = transformers.GPT2LMHeadModel.from_pretrained(folder).eval()
    total, count = 0.0, 0
    for inputs, targets in validation_windows(token_ids(tokenizer, read_corpus([text]).dev), saved.plan):
        with torch.no_grad():
            logits = model(torch.from_numpy(inputs)).logits.flatten(0, 1)
        total += torch.nn.functional.cross_entropy(
            logits, torch.from_numpy(targets).flatten(), ignore_index=NOT_COUNTED, reduction="sum"
        ).item()
        count += int((targets != NOT_COUNTED).sum())
    assert saved.history.evaluations[-1]["loss"] == pytest.approx(total / count, abs=1e-5)


@pytest.mark.nightly
def test_after_ctrl_c_it_goes_on_bit_for_bit(whole, text, tmp_path):
    folder, at_once = whole
    parts = tmp_path / "parts"
    arguments = ["--text", text, *TINY, "--accumulate", 2, "--steps", 60, "--out", parts]
    printed = ""
    with subprocess.Popen(
        command(*arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, **surroundings()
    ) as process:
        for line in process.stdout:
            printed += line
            if rows(line):
                process.send_signal(signal.SIGINT)
                break
        printed += process.stdout.read()
        told = process.stderr.read()
    assert process.returncode == 130, told
    step = int(re.search(r"stopped after step (\d+) of 60, which is saved; `./run train --resume", told)[1])
    assert step < 60
    done = run("--resume", parts)
    assert done.returncode == 0, done.stderr
    assert f"going on after step {step} of 60" in done.stderr
    assert rows(printed) + rows(done.stdout) == rows(at_once.stdout)
    found, wanted = (Folder(one).load()[0] for one in (parts, folder))
    for group in ("weights", "means", "squares"):
        for name, array in getattr(wanted, group).items():
            assert getattr(found, group)[name].tobytes() == array.tobytes(), name
    assert (found.history.losses, found.history.samples) == (wanted.history.losses, wanted.history.samples)
    for place in ("model.safetensors", "best/model.safetensors"):
        assert (parts / place).read_bytes() == (folder / place).read_bytes()
    again = run("--resume", parts)
    assert again.returncode == 2
    assert f"{parts} is done: it has had all 60 steps" in again.stderr


@pytest.mark.nightly
def test_minutes_become_a_number_of_steps_that_is_kept(text, tmp_path):
    """The number is in the plan, so going on does not measure again."""
    folder = tmp_path / "timed"
    arguments = ["--text", text, *TINY, "--minutes", 0.02, "--out", folder]
    done = run(*arguments)
    assert done.returncode == 0, done.stderr
    steps = int(re.search(r"so 0\.02 minutes are enough for ([\d,]+) steps", done.stderr)[1].replace(",", ""))
    saved, _ = Folder(folder).load()
    assert (saved.plan.steps, saved.step, len(saved.history.losses)) == (steps, steps, steps)
    assert f"it has had all {steps} steps" in run("--resume", folder).stderr


@pytest.mark.nightly
def test_a_text_that_has_changed_is_not_gone_on_with(text, tmp_path):
    file, folder = tmp_path / "text.txt", tmp_path / "begun"
    file.write_bytes(text.read_bytes())
    begun = run("--text", file, *TINY, "--steps", 2, "--out", folder)
    assert begun.returncode == 0, begun.stderr
    saved, _ = Folder(folder).load()
    saved.step = 1
    Folder(folder).save(saved, best=False)
    file.write_text(file.read_text() + "A new line.\n" * 40)
    done = run("--resume", folder)
    assert done.returncode == 2
    assert f"the text has changed since {folder} was begun; restore it" in done.stderr


@pytest.mark.nightly
def test_ones_own_steps_train_the_same_model(whole, text, course, tmp_path):
    folder, _ = whole
    for step in all_steps():
        if step.name.startswith("step") and step.name <= LAST_STEP:
            course.write(step.task)
    mine = tmp_path / "mine"
    arguments = ["--text", text, *TINY, "--accumulate", 2, "--steps", 60, "--out", mine, "--mine"]
    done = subprocess.run(
        command(*arguments), capture_output=True, timeout=1800, check=False, **(surroundings() | {"cwd": course.root})
    )
    assert done.returncode == 0, done.stderr
    assert (mine / "model.safetensors").read_bytes() == (folder / "model.safetensors").read_bytes()
    assert json.loads((mine / "training.json").read_text())["facts"]["code"] == "steps"


@pytest.mark.nightly
@pytest.mark.parametrize(
    "arguments", [("generate", "the whale", "--max-new-tokens", "5"), ("attention", "the", "--text")]
)
def test_the_commands_read_the_folder(whole, arguments):
    folder, _ = whole
    done = subprocess.run(
        [sys.executable, "-m", "cli", *arguments, "--model", str(folder / "best")],
        capture_output=True,
        timeout=1800,
        check=False,
        **surroundings(),
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


@pytest.mark.nightly
def test_the_steps_are_those_of_step_20_run_without_a_compiler(whole):
    """The first loss and the first update, whose graph sees all weights as two, by name and operation by operation."""
    from checker.max_adapter.runtime import lazily, prepare, tensor
    from play.training.graphs import config_of
    from play.training.texts import read_corpus
    from play.training.windows import Windows, token_ids
    from solutions import solution_20 as step_20

    prepare()
    folder, _ = whole
    saved, tokenizer = Folder(folder).load()
    plan = saved.plan
    config = config_of(plan, tokenizer.get_vocab_size())
    state = step_20.training_state(step_20.initialize(config, plan.seed))
    windows = Windows(token_ids(tokenizer, read_corpus([Path(file) for file in plan.texts]).train), plan)

    def as_one_graph(module):
        def run(*inputs):
            with lazily():
                return module(*inputs)

        return run

    accumulate = as_one_graph(step_20.Accumulate(config))
    update = as_one_graph(step_20.Update(step_20.AdamW(), 1.0))
    for step in (1, 2, 3):
        batches = [(tensor(ids), tensor(ids)) for ids in windows.batches(step)]
        rate = step_20.learning_rate(step, peak=plan.rate, warmup_steps=plan.warmup_steps, total_steps=plan.steps)
        loss, _ = step_20.train_step(state, batches, rate, accumulate, update)
        assert saved.history.losses[step - 1] == pytest.approx(loss, abs=2e-5)


@pytest.mark.parametrize("shape", [(50_257, 64), (3 * 768, 768), (100_000,)])
def test_the_norm_of_many_numbers_loses_nothing(shape):
    """One sum of three million squares loses a thousandth of them in float32, and more of more."""
    from checker.max_adapter.runtime import lazily, prepare
    from play.training.memory import shared
    from solutions.solution_20 import clip_by_global_norm

    prepare()
    sums = shared({"one": shape, "other": (3,)})
    numbers = np.random.default_rng(0).standard_normal(shape, dtype=np.float32)
    sums.fill({"one": numbers, "other": np.zeros(3, np.float32)})
    for gradients in (sums.tensors(), sums.whole_tensors()):
        with lazily():
            _, norm = clip_by_global_norm(gradients, 1.0)
        assert norm.item() == pytest.approx(np.linalg.norm(numbers.astype(np.float64)), rel=2e-5)
