"""The folder of a training: whole at every moment, read by this course and by Hugging Face."""

import ast
import errno
import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from checker.course.paths import ROOT
from play.training import checkpoint
from play.training.checkpoint import STATE, CannotSave, Folder, Saved
from play.training.curve import as_svg
from play.training.plan import History, Plan
from play.training.windows import learn_tokenizer
from solutions.solution_01 import GPT2Config

PLAN = Plan(layers=1, heads=2, width=6, positions=5, vocab=260, steps=9)
CONFIG = GPT2Config(vocab_size=260, n_positions=5, n_embd=6, n_layer=1, n_head=2)


@pytest.fixture(scope="module")
def tokenizer():
    return learn_tokenizer(["the whale the whale the whale"], 260)


@pytest.fixture(scope="module")
def weights():
    from solutions.solution_20 import initialize

    return initialize(CONFIG, 3)


@pytest.fixture
def folder(tmp_path, tokenizer, weights):
    made = Folder(tmp_path / "some" / "training")
    made.begin(PLAN, CONFIG, tokenizer, weights, history(0))
    return made


def history(step, loss=5.0):
    evaluated = {"step": step, "loss": loss, "bits_per_byte": loss / 2}
    return History([loss] * step, [evaluated], [{"step": step, "text": "ü"}], 1.5 * step, {"text": "1"})


def saved(step, weights, **options):
    def times(factor):
        return {name: np.float32(factor) * (1 + array) for name, array in weights.items()}

    return Saved(PLAN, history(step, **options), step, times(1), times(2), times(3))


def same(found, wanted):
    assert list(found) == list(wanted) or set(found) == set(wanted)
    for name, array in wanted.items():
        assert found[name].tobytes() == array.tobytes(), name


# ---------------------------------------------------------------- what is saved


def test_what_is_saved_is_loaded_bit_for_bit(folder, weights):
    wanted = saved(4, weights)
    wanted.means["transformer.ln_f.bias"][:] = [-0.0, 1e-42, 1 / 3, 0, 1, np.finfo(np.float32).max]
    folder.save(wanted, best=False)
    found, tokenizer = folder.load()
    assert (found.plan, found.step, found.history) == (PLAN, 4, wanted.history)
    for group in ("weights", "means", "squares"):
        same(getattr(found, group), getattr(wanted, group))
    assert tokenizer.get_vocab_size() == 260


def test_the_best_stays_until_there_is_a_better(folder, weights):
    def wte(place):
        from safetensors.numpy import load_file

        return load_file(place / "model.safetensors")["transformer.wte.weight"]

    folder.save(saved(4, weights), best=True)
    best = wte(folder.path / "best")
    np.testing.assert_array_equal(best, wte(folder.path))
    other = saved(5, {name: array + 1 for name, array in weights.items()})
    folder.save(other, best=False)
    np.testing.assert_array_equal(wte(folder.path / "best"), best)
    np.testing.assert_array_equal(wte(folder.path), other.weights["transformer.wte.weight"])


@pytest.mark.parametrize("place", [".", "best"])
def test_this_course_loads_it(folder, weights, place):
    from checker.max_adapter.runtime import prepare
    from solutions.solution_13 import check_weights, convert_checkpoint, load_pretrained, read_checkpoint, read_config

    prepare()
    assert read_config(folder.path / place) == CONFIG
    found = convert_checkpoint(read_checkpoint(folder.path / place))
    check_weights(found, {name: array.shape for name, array in found.items()})
    assert found.pop("lm_head.weight") is found["transformer.wte.weight"]
    same(found, weights)
    load_pretrained(folder.path / place)


def test_a_model_of_16_bits_is_half_as_large_and_nearly_the_same_and_the_training_loses_nothing(
    tmp_path, tokenizer, weights
):
    from safetensors.numpy import load_file

    from solutions.solution_13 import convert_checkpoint, read_checkpoint

    folder = Folder(tmp_path / "half")
    folder.begin(replace(PLAN, half=True), CONFIG, tokenizer, weights, history(0))
    wanted = replace(saved(4, weights), plan=replace(PLAN, half=True))
    folder.save(wanted, best=True)
    same(folder.load()[0].weights, wanted.weights)
    for place in (folder.path, folder.path / "best"):
        assert {array.dtype.name for array in load_file(place / "model.safetensors").values()} == {"float16"}
        assert json.loads((place / "config.json").read_text())["dtype"] == "float16"
        found = convert_checkpoint(read_checkpoint(place))
        for name, array in wanted.weights.items():
            np.testing.assert_allclose(found[name], array, rtol=2**-11, atol=2**-25)


@pytest.mark.slow
@pytest.mark.parametrize("half", [False, True])
def test_hugging_face_loads_it_and_computes_the_same(tmp_path, tokenizer, weights, half):
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    from checker.max_adapter.runtime import lazily, prepare, tensor
    from solutions.solution_13 import load_pretrained

    prepare()
    folder = Folder(tmp_path / "training")
    folder.begin(replace(PLAN, half=half), CONFIG, tokenizer, weights, history(0))
    model, told = transformers.GPT2LMHeadModel.from_pretrained(folder.path, output_loading_info=True)
    assert not any(told.values()), told
    assert model.dtype == (torch.float16 if half else torch.float32)
    model = model.float()
    ids = np.array([[0, 5, 259, 7, 7]])
    with lazily():
        logits = load_pretrained(folder.path)(tensor(ids))
    with torch.no_grad():
        wanted = model.eval()(torch.from_numpy(ids)).logits.numpy()
    np.testing.assert_allclose(np.from_dlpack(logits), wanted, atol=1e-6)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder.path)
    assert tokenizer.decode(tokenizer("the whale ü")["input_ids"]) == "the whale ü"
    assert tokenizer.eos_token_id == tokenizer.bos_token_id == 0


def test_the_figures_are_readable_without_the_weights(folder, weights):
    folder.save(saved(4, weights), best=False)
    found = json.loads((folder.path / "training.json").read_text())
    assert (found["step"], found["plan"]["width"], len(found["losses"])) == (4, 6, 4)


# ---------------------------------------------------------------- what goes wrong


def test_a_full_disk_leaves_the_last_save(folder, weights, monkeypatch):
    """Whichever file does not fit any more, and however much of it has been written."""
    folder.save(saved(4, weights), best=True)
    before, writes = folder.load()[0], []
    open_as_before = checkpoint.Path.open

    class Full:
        def __init__(self, file, room):
            self.file, self.room = file, room

        def __enter__(self):
            return self

        def __exit__(self, *_):
            self.file.close()

        def write(self, data):
            self.file.write(data[: self.room])
            raise OSError(errno.ENOSPC, "No space left on device")

    for number in range(5):
        writes.clear()

        def open_or_fail(path, mode="r", *arguments, number=number, **options):
            file = open_as_before(path, mode, *arguments, **options)
            if mode != "wb":
                return file
            writes.append(path)
            return Full(file, 100) if len(writes) == number + 1 else file

        monkeypatch.setattr(checkpoint.Path, "open", open_or_fail)
        with pytest.raises(OSError, match="No space left"):
            folder.save(saved(5, weights), best=True)
        monkeypatch.undo()
        assert len(writes) == number + 1
        assert not list(folder.path.rglob("*.unfinished"))
        found = folder.load()[0]
        assert found.step == (4 if number < 2 else 5), "the state is the second of five files"
        same(found.weights, before.weights)
    folder.save(saved(6, weights), best=True)
    assert folder.load()[0].step == 6


def test_a_folder_that_cannot_be_made_whole_is_not_made(tmp_path, tokenizer, weights, monkeypatch):
    def fail(file, data):
        if file.name == STATE:
            raise OSError(errno.ENOSPC, "No space left on device")
        file.write_bytes(data)

    monkeypatch.setattr(checkpoint, "write", fail)
    with pytest.raises(
        CannotSave, match=r"new could not be made \(No space left on device\), and nothing of it is left"
    ):
        Folder(tmp_path / "new").begin(PLAN, CONFIG, tokenizer, weights, history(0))
    assert list(tmp_path.iterdir()) == []


KILLED = """
import os, signal, sys
from pathlib import Path
import numpy as np
from play.training import checkpoint
from play.training.checkpoint import Folder, Saved
from play.training.plan import History, Plan
from play.training.windows import learn_tokenizer
from solutions.solution_01 import GPT2Config
from solutions.solution_13 import read_checkpoint

plan = Plan(layers=1, heads=2, width=6, positions=5, vocab=260)
config = GPT2Config(vocab_size=260, n_positions=5, n_embd=6, n_layer=1, n_head=2)
names = ["transformer.wte.weight", "transformer.h.0.attn.c_attn.weight"]
tokenizer = learn_tokenizer(["a whale"], 260)
top, SAVES, DONE = Path(sys.argv[1]), 3, 7
moments, last = 0, None

def moment():
    global moments
    moments += 1
    if moments == last:
        os.kill(os.getpid(), signal.SIGKILL)

class Opened:
    def __init__(self, path):
        self.file = open(path, "wb", buffering=0)
    def __enter__(self):
        moment()
        return self
    def __exit__(self, *_):
        self.file.close()
    def write(self, data):
        self.file.write(data[: len(data) // 2])
        moment()
        self.file.write(data[len(data) // 2 :])
        moment()
    def flush(self):
        pass
    def fileno(self):
        return self.file.fileno()

def telling(function):
    def first_a_moment(*arguments):
        moment()
        return function(*arguments)
    return first_a_moment

def arrays(step):
    return {name: np.full([30, 7], step, np.float32) for name in names}

def state(step):
    evaluated = {"step": step, "loss": float(step), "bits_per_byte": 1.0}
    return Saved(plan, History([float(step)] * step, [evaluated]), step, arrays(step), arrays(step), arrays(step))

def train(folder):
    checkpoint.Path.open = lambda path, mode: Opened(path)
    checkpoint.os.fsync = lambda opened: moment()
    checkpoint.Path.replace = telling(Path.replace)
    folder.begin(plan, config, tokenizer, arrays(0), state(0).history)
    for step in range(1, SAVES + 1):
        folder.save(state(step), best=step % 2 == 0)

counts = {}
while True:
    last = (last or 0) + 1
    folder = Folder(top / str(last) / "training")
    if (pid := os.fork()) == 0:
        train(folder)
        os._exit(DONE)
    _, status = os.waitpid(pid, 0)
    if os.waitstatus_to_exitcode(status) == DONE:
        break
    assert os.waitstatus_to_exitcode(status) == -signal.SIGKILL, status
    if not folder.path.exists():
        counts["none"] = counts.get("none", 0) + 1
        continue
    saved, _ = folder.load()
    counts[saved.step] = counts.get(saved.step, 0) + 1
    assert saved.history.losses == [float(saved.step)] * saved.step
    for group in (saved.weights, saved.means, saved.squares):
        assert all((array == saved.step).all() for array in group.values())
    for place, near in ((folder.path, [-1, 0]), (folder.path / "best", [-1, 0, 1])):
        read = read_checkpoint(place)
        (step,) = set(np.concatenate([read[name].ravel() for name in names]))
        assert step - saved.step in near, (place, step, saved.step)
    # What was left unfinished is in nobody's way.
    last, before = None, last
    folder.save(state(9), best=True)
    assert folder.load()[0].step == 9 and not list(folder.path.rglob("*.unfinished"))
    last = before
print(counts)
"""


@pytest.mark.slow
def test_a_training_that_is_killed_at_any_moment_of_a_save_can_be_loaded(tmp_path):
    """At every single one: before and after each file is opened, half written, written, synced and renamed."""
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    counts = ast.literal_eval(done.stdout)
    assert set(counts) == {"none", 0, 1, 2, 3}
    assert min(counts.values()) >= 5


def test_what_is_no_training_is_said(folder, tmp_path):
    with pytest.raises(ValueError, match=r"holds no training: it has no training\.safetensors"):
        Folder(tmp_path).load()
    with pytest.raises(ValueError, match="holds no training"):
        Folder(tmp_path / "nowhere").load()
    file = folder.path / STATE
    whole = file.read_bytes()
    from safetensors.numpy import save

    for damaged in (
        whole[:-1],
        whole[:100],
        b"",
        save({"x": np.zeros(3)}),
        save({"x": np.zeros(3)}, {"training": "{}"}),
    ):
        file.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"is damaged, or is not a training file: \S"):
            folder.load()


def test_a_training_does_not_begin_where_something_is(folder, tmp_path):
    with pytest.raises(ValueError, match=r"holds a training already\. Add --resume"):
        folder.refuse_what_is_there()
    for there in (ROOT, ROOT / "README.md", ROOT / "README.md" / "in"):
        with pytest.raises(ValueError, match=r"is not empty|cannot be written"):
            Folder(there).refuse_what_is_there()
    Folder(tmp_path / "a" / "b").refuse_what_is_there()
    (tmp_path / "empty").mkdir()
    Folder(tmp_path / "empty").refuse_what_is_there()


# ---------------------------------------------------------------- the curve


@pytest.mark.parametrize("steps", [1, 2, 299, 1000])
def test_the_curve_ends_where_the_training_ends(steps):
    import xml.etree.ElementTree as ElementTree

    losses = list(np.linspace(7, 3, steps))
    found = [{"step": step, "loss": 7 - 4 * step / steps, "bits_per_byte": 2.0} for step in (0, steps)]
    svg = ElementTree.fromstring(as_svg(History(losses, found)))
    lines = {
        line.get("class"): np.array([point.split(",") for point in line.get("points").split()], float)
        for line in svg.iter("{http://www.w3.org/2000/svg}polyline")
    }
    assert len(lines["train"]) == min(steps, 300)
    assert lines["train"][-1, 0] == lines["validation"][-1, 0] == 700
    assert lines["validation"][0, 0] == 60
    assert (np.diff(lines["train"][:, 1]) > 0).all()
    assert all(0 <= y <= 400 for line in lines.values() for y in line[:, 1])
