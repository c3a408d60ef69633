"""The real end: the finished model writes text."""

import contextlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from checker.course.paths import ROOT, SMALL_MODEL
from checker.course.steps import all_steps
from cli.warm import KERNELS, WRITING

pytestmark = pytest.mark.slow

STEPS = [step for step in all_steps() if step.name.startswith("step")]
PROMPTS = (
    "Call me", "The whale", "Captain Ahab", "It was", "There she blows!", "In the sea", "Queequeg", "Once more", "A", "The",
    "Upon the deck", "He said", "What is", "Starbuck", "\"Aye,\" said", "the harpoon", "No man", "God", "Now then,", "CHAPTER",
)  # fmt: skip


NEW_GRAPH = """
from max.driver import CPU
from max.dtype import DType
from max.engine import InferenceSession
from max.graph import DeviceRef, Graph, TensorType

takes = TensorType(DType.float32, [3], DeviceRef.CPU())
InferenceSession(devices=[CPU()]).load(Graph("new", lambda x: x * 0.12345 + x, [takes]))
"""


def generate(*arguments, root=ROOT, stdin=None, command="generate"):
    environment = os.environ | {"HF_HUB_OFFLINE": "1"}
    line = [sys.executable, "-m", "cli", command, *arguments]
    return subprocess.run(
        line, cwd=root, env=environment, input=stdin, capture_output=True, text=True, timeout=600, check=False
    )


@pytest.fixture(scope="module")
def engine():
    """The module, imported when it is first needed, with MAX prepared as the command does it."""
    from checker.max_adapter.runtime import prepare
    from play import engine

    prepare()
    return engine


@pytest.fixture(scope="module")
def writer(engine):
    return engine.Writer()


def test_standard_output_is_the_text_alone_and_the_seed_decides():
    one, same, other = (generate("Call me", "--seed", seed, "--max-new-tokens", "20") for seed in ("1", "1", "2"))
    assert one.returncode == 0, one.stderr
    assert one.stdout.startswith("Call me")
    assert len(one.stdout) > len("Call me") + 20
    assert one.stdout == same.stdout != other.stdout
    assert "--seed 1" in one.stderr


def link_or_copy(source, target):
    try:
        os.link(source, target)
    except OSError:  # another file system
        shutil.copy2(source, target)


@pytest.fixture
def kept(tmp_path):
    """A copy of all that MAX and the checks keep after `./run warm`, where no other test writes, and what lists it."""
    from max import _core

    for work in (WRITING, KERNELS):  # a second each, if this machine has them
        subprocess.run([sys.executable, "-m", *work.command], cwd=ROOT, check=True)
    folder = tmp_path / "kept"
    with contextlib.suppress(shutil.Error):  # files that another test has just renamed
        shutil.copytree(Path(_core.engine.max_cache_dir()).parent, folder, copy_function=link_or_copy)
    return folder, lambda: {path for path in folder.rglob("*") if path.is_file()}


@pytest.mark.slow
def test_nothing_is_left_to_compile_after_warm(kept, monkeypatch):
    folder, listed = kept
    monkeypatch.setenv("MODULAR_CACHE_DIR", str(folder))
    before = listed()
    for command, *arguments in (
        ("generate", "Call me", "--max-new-tokens", "3"),
        ("generate", "Call me", "--max-new-tokens", "3", "--no-cache"),
        ("chat", "--max-new-tokens", "3"),
        ("attention", "Call me", "--text"),
    ):
        run = generate(*arguments, command=command, stdin="Call me\n")
        assert run.returncode == 0, run.stderr
        assert listed() - before == set(), f"{command} compiled something"
    subprocess.run([sys.executable, "-c", NEW_GRAPH], check=True)
    assert listed() - before, "it would not be noticed whatever is compiled"


@pytest.mark.slow
def test_a_seed_that_was_chosen_is_told():
    first = generate("Call me", "--max-new-tokens", "12")
    seed = first.stderr.rpartition("--seed ")[2].strip()
    assert generate("Call me", "--max-new-tokens", "12", "--seed", seed).stdout == first.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--temperature", "-1"), "temperature = -1.0 is impossible; give 0 for the most likely token, or more"),
        (("--temperature", "nan"), "temperature = nan is impossible"),
        (("--temperature", "inf"), "temperature = inf is impossible"),
        (("--top-k", "-3"), "top_k = -3 leaves no token"),
        (("--model", "no/such-model"), "no/such-model is not a folder here, and could not be downloaded"),
        (("--model", "tests"), "tests has no tokenizer.json"),
        (
            ("--quantize", "Q4_0", "--kernels"),
            "rounded matrices run on the CPU, by MAX; leave --device gpu and --kernels",
        ),
        (("--quantize", "Q5_0"), "'Q5_0' is not one of 'q8_0', 'q4_0'"),
        (("--device", "gpu"), "there is no device 'gpu' that MAX can use here; choose from cpu"),
    ],
)
def test_what_cannot_be_done_is_said(arguments, said):
    if "gpu" in arguments:
        from checker.max_adapter.runtime import devices

        if "gpu" in devices():
            pytest.skip("there is a GPU here")
    run = generate("Call me", *arguments)
    assert run.returncode == 2
    assert said in run.stderr
    assert "Traceback" not in run.stderr


@pytest.mark.nightly
def test_rounded_matrices_write_what_step_22_finds_likeliest(engine):
    from max.experimental import functional as F

    from checker.course.paths import SMALL_MODEL
    from checker.max_adapter.runtime import tensor

    writer = engine.Writer(quantize="Q4_0")
    ids = writer.encode("Call me Ishmael.")
    logits = writer.model(ids)
    with F.lazy():
        found = engine.load_quantized(SMALL_MODEL, "Q4_0")(tensor(ids))
    right = np.from_dlpack(found)[:, -1:]
    assert np.abs(logits - right).mean() < 0.05 * right.std()  # MAX's product rounds its inputs, too
    assert logits.argmax() == right.argmax()


def test_an_empty_prompt_starts_a_text():
    run = generate("", "--max-new-tokens", "8", "--seed", "1")
    assert run.returncode == 0
    assert run.stdout.strip()


def test_mine_names_what_is_not_written(course):
    course.write("s03")
    run = generate("Call me", "--mine", root=course.root)
    assert run.returncode == 2
    assert "not written yet: s01, s02, s04," in run.stderr
    assert "--fill-in" in run.stderr
    assert "s22" not in run.stderr
    assert ", s22. Write them" in generate("Call me", "--mine", "--quantize", "q4_0", root=course.root).stderr
    filled = generate("Call me", "--mine", "--fill-in", "--max-new-tokens", "3", "--seed", "1", root=course.root)
    assert filled.returncode == 0, filled.stderr
    assert "stands in for s02" in filled.stderr
    assert "stands in for s03" not in filled.stderr
    assert "no check has said yes to s03" in filled.stderr


@pytest.mark.slow
def test_mine_with_a_step_that_was_refused_is_asked_for(course):
    """The mistake leaves the model's graph as it is, so nothing is compiled for it."""
    course.write("s12", edits={"logits = model(input_ids)[:, -1]": "logits = -model(input_ids)[:, -1]"})
    assert course.check("s12").returncode == 1
    run = generate("Call me", "--mine", "--fill-in", root=course.root)
    assert run.returncode == 2
    assert "the last check said no to s12; `./run s12` says why. Add --anyway" in run.stderr
    options = ("--mine", "--fill-in", "--anyway", "--max-new-tokens", "3", "--seed", "1")
    forced = generate("Call me", *options, root=course.root)
    assert forced.returncode == 0, forced.stderr
    assert "no check has said yes to s12" in forced.stderr


@pytest.mark.slow
def test_mine_is_what_runs(course):
    for step in STEPS:
        course.write(step.task)
    same = generate("Call me", "--mine", "--max-new-tokens", "10", "--seed", "1", root=course.root)
    assert same.returncode == 0, same.stderr
    assert same.stdout == generate("Call me", "--max-new-tokens", "10", "--seed", "1").stdout
    course.write("s12", edits={"logits = model(input_ids)[:, -1]": "logits = -model(input_ids)[:, -1]"})
    spoiled = generate("Call me", "--mine", "--max-new-tokens", "10", "--seed", "1", root=course.root)
    assert spoiled.stdout != same.stdout


def test_chat_continues_one_prompt_after_the_other():
    run = generate("--seed", "1", "--max-new-tokens", "5", stdin="Call me\nThe whale\n\n", command="chat")
    assert run.returncode == 0
    assert run.stdout.startswith("Call me")
    assert "\nThe whale" in run.stdout


def with_tokenizer(folder, change):
    """The model in the box with another tokenizer.json."""
    for path in SMALL_MODEL.iterdir():
        (folder / path.name).symlink_to(path)
    file = folder / "tokenizer.json"
    changed = change(file.read_text())
    file.unlink()
    file.write_text(changed)
    return str(folder)


def another_token(text):
    tokenizer = json.loads(text)
    tokenizer["added_tokens"].append(tokenizer["added_tokens"][-1] | {"id": 99999, "content": "<unknown>"})
    return json.dumps(tokenizer)


def test_a_tokenizer_that_is_cut_short_is_said(tmp_path):
    run = generate("Call me", "--model", with_tokenizer(tmp_path, lambda text: text[:1000]))
    assert (run.returncode, run.stdout) == (2, "")
    assert "tokenizer.json is damaged" in run.stderr
    assert "Traceback" not in run.stderr


@pytest.mark.slow
def test_a_token_that_the_model_does_not_know_is_said_and_chat_goes_on(tmp_path):
    model = ("--model", with_tokenizer(tmp_path, another_token), "--max-new-tokens", "3")
    run = generate("Call <unknown>", *model)
    assert (run.returncode, run.stdout) == (2, "")
    assert "is not in the vocabulary of vocab_size = 4096 tokens" in run.stderr
    run = generate(*model, stdin="Call <unknown>\nThe whale\n\n", command="chat")
    assert run.returncode == 0
    assert "is not in the vocabulary" in run.stderr
    assert run.stdout.startswith("The whale")


def test_text_streams_as_it_comes(engine, writer):
    pieces = list(writer.write("Call me", engine.Settings(max_new_tokens=20, seed=3)))
    assert len(pieces) > 10


@pytest.fixture(scope="module")
def without_cache(engine):
    return engine.Writer(cache=False)


@pytest.fixture(scope="module")
def theirs():
    transformers = pytest.importorskip("transformers")

    return transformers.GPT2LMHeadModel.from_pretrained(SMALL_MODEL, dtype="float32").eval()


@pytest.mark.slow
def test_the_cache_changes_no_word():
    arguments = ("Call me", "--seed", "1", "--max-new-tokens", "40")
    with_cache, without = generate(*arguments), generate(*arguments, "--no-cache")
    assert with_cache.returncode == without.returncode == 0, without.stderr
    assert with_cache.stdout == without.stdout


@pytest.mark.slow
def test_two_hundred_greedy_ids_are_equal_with_cache_without_and_at_hugging_face(writer, without_cache, theirs):
    torch = pytest.importorskip("torch")
    from solutions.solution_12 import generate_tokens

    options = {"do_sample": False, "max_new_tokens": 200, "eos_token_id": None, "pad_token_id": 0}
    for prompt in PROMPTS[:3]:
        ids = writer.encode(prompt)
        wanted = theirs.generate(torch.from_numpy(ids), **options).numpy()
        np.testing.assert_array_equal(generate_tokens(writer.model, ids, 200, temperature=0), wanted)
        np.testing.assert_array_equal(generate_tokens(without_cache.model, ids, 200, temperature=0), wanted)


@pytest.mark.slow
def test_text_slides_beyond_a_full_context_as_without_a_cache(writer, without_cache):
    from solutions.solution_12 import generate_tokens

    n_positions = writer.config.n_positions
    ids = np.random.RandomState(14).randint(0, writer.config.vocab_size, (2, n_positions - 5), dtype=np.int64)
    one, other = (
        generate_tokens(model, ids, 12, temperature=0, n_positions=n_positions)
        for model in (writer.model, without_cache.model)
    )
    np.testing.assert_array_equal(one, other)


@pytest.mark.slow
def test_greedy_ids_are_hugging_faces_for_twenty_prompts(writer, theirs):
    torch = pytest.importorskip("torch")
    from solutions.solution_12 import generate_tokens

    assert len(PROMPTS) == 20
    for prompt in PROMPTS:
        ids = writer.encode(prompt)
        options = {"do_sample": False, "max_new_tokens": 40, "eos_token_id": None, "pad_token_id": 0}
        wanted = theirs.generate(torch.from_numpy(ids), **options).numpy()
        np.testing.assert_array_equal(generate_tokens(writer.model, ids, 40, temperature=0), wanted)
