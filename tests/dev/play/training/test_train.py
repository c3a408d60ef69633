"""``./run train`` as a whole: what it refuses before it compiles anything, and a small training from end to end.

The small model is compiled once, and MAX keeps it for the next run of these tests.
"""

import json
import os
import re
import signal
import sys
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from checker.course.steps import TRAINING, steps_up_to
from checker.files import ROOT
from play.mine.choice import OwnSteps
from play.signals import ENDINGS
from play.training import places
from play.training.folder import Folder
from play.training.places import STATE
from play.training.plan import History
from play.training.train import go_on, run_training
from tests.dev.helpers.terminal import started
from tests.dev.play.training.conftest import PLAN, spoil
from tools.course_copy import python

TINY = ["--layers=1", "--heads=2", "--width=16", "--positions=16", "--vocab=289", "--batch=4"]


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    rng = np.random.default_rng(0)
    words = ["the whale", "the sea", "a ship", "Ahab", "is", "was", "saw", "white", "wide", "old", "under"]
    file = tmp_path_factory.mktemp("text") / "small.txt"
    file.write_text("\n".join(" ".join(rng.choice(words, 5)) for _ in range(400)))
    return file


FILES = {
    "short.txt": b"Call me Ishmael. Some years ago, never mind how long precisely, having little money.\n",
    "program.txt": b"\x7fELF\0\0\1whale",
    "latin1.txt": "Märchen".encode("latin1"),
    "blank.txt": b" \n \n",
    "damaged/" + STATE: b"nothing",
}
SHORT, NAN = [Path("short.txt")], float("nan")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (dict(steps=5, minutes=1.0), "give --steps or --minutes, not both"),
        (dict(minutes=0.0), "--minutes 0.0 is not a time; give a number"),
        (dict(minutes=NAN), "--minutes nan is not a time; give a number"),
        (dict(share=0.3), "--share is that of --text among other texts; give those with --also"),
        (dict(width=10), "--width 10 is not a multiple of --heads 4"),
        (dict(layers=0), "--layers 0 is too small; give 1 or more"),
        (dict(vocab=256), "--vocab 256 is too small; give 257 (256 bytes"),
        (dict(rate=NAN), "--rate nan is not a learning rate"),
        (dict(rate=1e39), "--rate 1e+39 is not a learning rate"),
        (dict(share=0.7, also=SHORT), "--share 0.7 must be above 0 and at most 0.5"),
        (dict(out=ROOT / "checker"), "is not empty; give --out a new folder"),
        (dict(out=Path("/")), "/ is a mount point, which cannot be made anew; give --out a folder in it: /my-gpt2"),
        (dict(text=SHORT), "a window is --positions 128 tokens; give a longer text"),
        (dict(text=[Path("program.txt")]), "program.txt is not text"),
        (dict(text=[Path("latin1.txt")]), "latin1.txt is not in UTF-8: byte 1 is 0xe4. Save it as UTF-8"),
        (dict(text=[Path("blank.txt")]), "blank.txt is too short"),
        (dict(text=[Path("damaged")]), "damaged cannot be read (Is a directory)"),
        (dict(also=[Path("no.txt")]), "no.txt cannot be read (No such file or directory)"),
        (dict(own=OwnSteps()), "s19, s20. Write them"),
        (dict(resume=Path("nowhere")), "holds no training: it has no training.safetensors"),
        (dict(resume=Path("damaged")), "is damaged, or is not a training file"),
        (
            dict(resume=Path("damaged"), out=Path("x"), text=SHORT, also=SHORT, steps=7, width=32, rate=0.1),
            "was begun with; leave out --steps, --width, --rate, --text, --also, --out",
        ),
    ],
)
def test_what_makes_no_sense_is_said_before_anything_is_compiled_or_written(tmp_path, monkeypatch, options, message):
    monkeypatch.chdir(tmp_path)
    for name, data in FILES.items():
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_bytes(data)
    before, sentences = sorted(tmp_path.rglob("*")), []
    with pytest.raises(ValueError, match=re.escape(message)):
        run_training(sentences.append, **options)
    assert sorted(tmp_path.rglob("*")) == before
    assert sentences == []


def test_what_cannot_be_resumed_is_said(begin):
    done = begin("done")
    done.run()
    with pytest.raises(ValueError, match="is done: it has had all 6 steps"):
        run_training(lambda sentence: None, resume=done.folder.path)
    changed = begin("changed", replace(PLAN, texts=[str(ROOT / "README.md")]), text="the digest of another").folder.path
    with pytest.raises(ValueError, match=f"the text has changed since {changed} was begun; restore it"):
        run_training(lambda sentence: None, resume=changed)
    mine = begin("mine", code="steps").folder.path
    with pytest.raises(ValueError, match=re.escape(f"own steps; continue with `./run train --resume {mine} --mine`")):
        run_training(lambda sentence: None, resume=mine)
    with pytest.raises(ValueError, match=re.escape(f"the solutions; continue with `./run train --resume {changed}`")):
        go_on(Folder(changed), lambda sentence: None, mine=True)


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
    came, said, path, saved = [], [], tmp_path / "in" / "a training", MOMENTS[moment]
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
        training = drawn_up(folder, PLAN, History(facts={"vocab": PLAN.vocab}))
        spoil(training, "update", before=lambda: come("a step"))
        spoil(
            training, "compiled_logits", before=lambda: come("evaluating" if trainer.step else "the first evaluation")
        )
        return training

    when = lambda _: come("making the folder" if places.unfinished(path).exists() else "saving")  # noqa: E731
    monkeypatch.setattr(os, "fsync", when)
    module = sys.modules["play.training.train"]
    for name, replaced in (("ready_to_run", lambda *_, **options: nullcontext()), ("begin", begin)):
        monkeypatch.setattr(module, name, replaced)
    for name in ("stdout", "stderr"):
        monkeypatch.setattr(sys, name, getattr(sys, name))  # which the end leaves aside
    monkeypatch.setattr(os, "_exit", sys.exit)
    with pytest.raises(SystemExit, match=str(128 + number)):
        run_training(said.append, out=path)
    assert came == [moment]
    if saved is None:
        assert (said, [*tmp_path.iterdir()]) == ([f"stopped by {ENDINGS[number]}"], there)
        return
    resume = f"`./run train --resume '{path}'` continues it"
    assert said == [f"stopped after step {saved} of 6, which is saved; {resume}"]
    with places.resumed(path):
        assert Folder(path).load()[0].step == saved
    assert [*tmp_path.rglob("*.unfinished")] == []
    training = drawn_up(Folder(path), PLAN, History())
    trainer.step += 1  # the step took longer than the signal waits
    assert training.stopped() == f"stopped after step {saved + 1} of 6, and step {saved} is saved; {resume}"


def run(*arguments, root=ROOT):
    return python(root, "-m", "cli", *arguments, status=0, timeout=1800)


@pytest.mark.nightly
def test_it_learns_and_after_ctrl_c_goes_on_bit_for_bit_and_with_ones_own_steps_the_same(text, course, tmp_path):
    whole, parts, mine = (tmp_path / name for name in ("whole", "parts", "mine"))
    arguments = ["train", "--text", text, *TINY, "--accumulate", 2, "--steps", 60, "--out"]
    assert f"--model {whole / 'best'}" in run(*arguments, whole).stderr
    evaluations = json.loads((whole / "training.json").read_text())["evaluations"]
    assert evaluations[0]["loss"] == pytest.approx(np.log(289), abs=0.05)
    assert evaluations[-1]["loss"] < 4.5
    assert run("generate", "the whale", "--max-new-tokens", "5", "--model", whole / "best").stdout.strip()
    with started(ROOT, "-m", "cli", *arguments, parts) as process:
        while not re.match(r" +\d+ ", process.stdout.readline()):
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate()
    assert process.returncode == 130, stderr
    step = re.search(r"stopped after step (\d+) of 60, which is saved; `./run train --resume", stderr)[1]
    assert f"going on after step {step} of 60" in run("train", "--resume", parts).stderr
    for step in steps_up_to(TRAINING):
        course.write(step.task)
    run(*arguments, mine, "--mine", root=course.root)
    for model in ("best/model.safetensors", "model.safetensors"):
        assert len({(folder / model).read_bytes() for folder in (whole, parts, mine)}) == 1
    done = run("train", "--text", text, "--also", text, *TINY, "--minutes", 0.02, "--out", tmp_path / "timed")
    assert "times the other texts" in done.stderr
    steps = int(re.search(r"so 0\.02 minutes are enough for ([\d,]+) steps", done.stderr)[1].replace(",", ""))
    figures = json.loads((tmp_path / "timed" / "training.json").read_text())
    assert figures["plan"]["steps"] == figures["step"] == len(figures["losses"]) == steps
