"""The real end: the finished model writes text."""

import contextlib
import json
import re
import shutil
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest

from checker.course.steps import SERVER, SMALL_MODEL, find_step, steps_up_to
from checker.diagnosis.mistakes import load_attempts
from checker.files import ROOT
from cli.warm import KERNELS, WRITING
from play.processor import instruction_sets
from play.startup import usable_kernels
from tools.course_copy import python

pytestmark = pytest.mark.slow


def run(*arguments, status=0, root=ROOT, stdin=None):
    """Run ``generate``, or another command that comes first."""
    is_named = arguments[0] in ("attention", "generate", "warm")
    command = arguments if is_named else ("generate", *arguments)
    return python(root, "-m", "cli", *command, status=status, input=stdin, timeout=600, HF_HUB_OFFLINE="1")


@pytest.fixture(scope="module")
def engine():
    """The module, imported when it is first needed, with MAX prepared as the command does it."""
    from checker.max_adapter.hooks import install_hooks
    from play.generation import engine

    install_hooks()
    return engine


def test_standard_output_is_the_text_alone_and_the_seed_decides():
    text = run("Call me", "--seed", "1", "--max-new-tokens", "20")
    assert text.stdout.startswith("Call me")
    assert len(text.stdout) > len("Call me") + 20
    assert text.stdout == run("Call me", "--seed", "1", "--max-new-tokens", "20", "--no-cache").stdout
    drawn = run("Call me", "--max-new-tokens", "20")
    seed = drawn.stderr.rpartition("--seed ")[2].strip()
    assert text.stdout != drawn.stdout == run("Call me", "--max-new-tokens", "20", "--seed", seed).stdout
    assert run("", "--max-new-tokens", "8", "--seed", "1").stdout.strip()


def test_nothing_is_left_to_compile_after_warm(tmp_path, monkeypatch):
    """In a copy of all that MAX and the checks keep, where no other test writes."""
    from max import _core

    for work in (WRITING, KERNELS):  # a second each, if this machine has them
        python(ROOT, "-m", *work.command, status=0)
    folder = tmp_path / "kept"
    with contextlib.suppress(shutil.Error):  # files that another test has just renamed
        shutil.copytree(Path(_core.engine.max_cache_dir()).parent, folder)
    monkeypatch.setenv("MODULAR_CACHE_DIR", str(folder))
    before = {*folder.rglob("*")}
    for arguments in (("Call me",), ("Call me", "--no-cache"), ("attention", "Call me", "--text")):
        run(*arguments, *["--max-new-tokens", "3"] * (arguments[0] != "attention"))
        assert {*folder.rglob("*")} == before, f"{arguments} compiled something"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (dict(name_or_folder="tests"), "tests has no tokenizer.json"),
        (dict(quantize="Q4_0", device="gpu"), "rounded matrices run on the CPU; leave --device gpu away"),
        (dict(dtype="bfloat16"), "only the kernels multiply in bfloat16"),
    ],
)
def test_what_cannot_run_is_said(engine, options, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        engine.Writer(**options)


def test_kernels_run_unless_the_steps_are_ones_own_and_where_mojo_fails_that_is_said(engine, monkeypatch):
    from play.kernels import operations

    said, ways = [], [(None, False, False), (None, True, False), (True, True, False), (False, False, False)]
    decide = lambda way: usable_kernels(way[0], said.append, mine=way[1], plain=way[2])  # noqa: E731
    assert [decide(way) for way in [*ways, (True, False, True)]] == [True, False, True, False, False]
    monkeypatch.setattr(operations, "FOLDER", ROOT / "tests" / "kernels")  # where no package is
    monkeypatch.setattr(operations, "package", operations.package.__wrapped__)
    assert [decide(way) for way in ways] == [False] * 4
    assert len(said) == 2
    assert all(line.startswith("without the kernels") and "Mojo" in line for line in said)


def test_it_is_said_how_much_compiles_and_what_mojo_has_compiled_is_kept(engine, monkeypatch, tmp_path):
    from play.kernels import operations

    def mojo(command, **options):
        Path(command[-1]).touch()
        return Mock(returncode=0)

    heard, package = [], operations.package.__wrapped__
    for module in (engine, operations):
        monkeypatch.setattr(module, "compiling", lambda what: contextlib.nullcontext(heard.append(what)))
    monkeypatch.setattr(operations, "cache_path", lambda *made_for, suffix: tmp_path)
    monkeypatch.setattr("mojo.run.subprocess_run_mojo", mojo)
    monkeypatch.setattr(engine, "compile_with_kernels", lambda *model, **options: None)
    for _ in range(2):
        package()
        engine.Writer(kernels=True)
    first, *others = heard
    assert first == "the kernels of play/kernels, 1 of 2"
    assert others == 2 * ["the model for cpu with the kernels of play/kernels, 2 of 2"]


@pytest.mark.nightly
def test_in_bfloat16_logits_move_a_little(engine):
    if "AVX-512" not in instruction_sets():
        pytest.skip("no kernel in bfloat16 for this processor")
    plain, moved = (engine.Writer(kernels=True, dtype=dtype) for dtype in ("float32", "bfloat16"))
    for ids in (plain.encode("Call me"), plain.encode("The whale struck the ship, and it sank.")):
        logits = plain.model(ids)
        assert 0.001 < np.abs(moved.model(ids) - logits).max() / logits.std() < 0.04


def test_a_processor_without_bfloat16_is_said(engine, monkeypatch):
    monkeypatch.setattr("play.startup.instruction_sets", list)
    with pytest.raises(ValueError, match="needs a processor with AVX-512"):
        engine.Writer(kernels=True, dtype="bfloat16")


@pytest.mark.parametrize("command", [("generate", "Call me"), ("attention", "Call me"), ("warm",)])
def test_a_gpu_that_is_not_there_is_said(command, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    said = run(*command, "--device", "gpu", status=2).stderr
    assert said == f"{command[0]}: there is no device 'gpu' that MAX can use here; choose from cpu\n"


def test_mine_runs_the_learners_steps_unless_they_are_missing_or_their_last_check_failed(course):
    def mine(*options, **more):
        return run("Call me", "--mine", "--max-new-tokens", "10", "--seed", "1", *options, root=course.root, **more)

    course.write("s03")
    missing = mine(status=2).stderr
    assert "not written yet: s01, s02, s04," in missing
    assert "--fill-in" in missing
    assert not {"s14", "s15", "s22"} & {*re.findall(r"s\d\d", missing)}
    assert ", s22. Write them" in mine("--quantize", "q4_0", status=2).stderr
    filled = mine("--fill-in")
    (stand_ins,) = re.findall(r"the solutions stand in for (.*)", filled.stderr)
    assert {"s01", "s02", "s07"} <= {*stand_ins.split(", ")}
    assert "s03" not in stand_ins
    assert "with s03 unchecked (no check has passed yet)" in filled.stderr
    assert "s14 is not written yet, so there is no cache" in filled.stderr
    assert "s14" not in stand_ins
    for step in steps_up_to(SERVER):
        course.write(step.task)
    course.write("s07", edits=load_attempts(find_step("07")).alternatives["the source tutorial's signatures"])
    unlike = mine(status=2).stderr
    assert "write GPT2MultiHeadAttention._split_heads(x), " in unlike
    assert ", GPT2MultiHeadAttention._attn(query, key, value, mask) in steps/step_07.py, or add --fill-in" in unlike
    assert "the solutions stand in for s07" in mine("--fill-in").stderr
    course.write("s07")
    solved = mine()
    assert solved.stdout == filled.stdout == run("Call me", "--max-new-tokens", "10", "--seed", "1").stdout
    course.write("s07", edits={"key.T": "key"})
    wrong = mine(status=2).stderr
    assert "generate: steps/step_07.py: ValueError: Matmul: Matrix multiplication input lhs (shape [batch, 4" in wrong
    assert f"line {course.line_of('s07', 'query @ key')}: scores = query @ key" in wrong
    assert "`./run s07` checks this step" in wrong
    course.write("s07", edits={"scores + mask, axis=-1": "scores + mask, axis=-2"})
    assert "your steps do not run together. TypeError: MAX compiles no softmax over" in mine(status=2).stderr
    course.write("s07")
    course.write("s12", edits={"sampling.choose(logits": "sampling.choose(-logits"})  # the model's graph stays as it is
    assert mine().stdout != solved.stdout
    course.check("s12", status=1)
    assert "the last check of s12 failed; `./run s12` says why. Add --anyway" in mine(status=2).stderr
    assert mine("--anyway").stdout != solved.stdout


@pytest.mark.nightly
def test_a_wrong_attention_changes_the_text_but_with_the_kernels_it_does_not_run(course):
    course.write("s07", edits={"key.T / math": "key.T * math"})
    sentence = "The whale struck the ship, and it sank."  # more tokens than the kernel for few rows takes
    options = (sentence, "--seed", "1", "--max-new-tokens", "10")
    text, mine = run(*options).stdout, (*options, "--mine", "--fill-in", "--anyway")
    assert run(*mine, root=course.root).stdout != text
    done = run(*mine, "--kernels", root=course.root)
    assert "the kernels stand in for the attention of s07 and s14" in done.stderr
    assert done.stdout == text


def test_generate_continues_one_prompt_after_the_other_and_a_spoiled_tokenizer_is_said(tmp_path):
    for path in SMALL_MODEL.iterdir():
        (tmp_path / path.name).symlink_to(path)
    file = tmp_path / "tokenizer.json"
    text = file.read_text()
    tokenizer = json.loads(text)
    tokenizer["added_tokens"].append(tokenizer["added_tokens"][-1] | {"id": 99999, "content": "<unknown>"})
    file.unlink()
    file.write_text(json.dumps(tokenizer))
    model, unknown = ("--model", str(tmp_path)), "is not in the vocabulary of vocab_size = 4096 tokens"
    refused = run("Call <unknown>", *model, status=2)
    assert (refused.stdout, unknown in refused.stderr) == ("", True)
    talk = run("generate", *model, stdin="Call me\nCall <unknown>\nThe whale\n\n")
    assert talk.stdout.startswith("Call me")
    assert "\nThe whale" in talk.stdout
    assert unknown in talk.stderr
    file.write_text(text[:1000])
    assert "tokenizer.json is damaged" in run("Call me", *model, status=2).stderr
    offline = run("Call me", "--model", "no/such-model", status=2).stderr
    assert "no/such-model is not a folder here, and could not be downloaded" in offline


def test_greedy_tokens_are_hugging_faces_in_each_way_and_stream_in_whole_characters(engine):
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    from solutions.solution_12 import Sampling, generate_tokens

    writer, *others = engine.Writer(kernels=True), engine.Writer(), engine.Writer(cache=False)
    spelled = np.array([*writer.tokenizer.encode("ü🐳 whale").ids, 0, 5])  # each byte is a token; 0 ends the text
    settings = engine.Settings(max_new_tokens=len(spelled), temperature=0)
    model = lambda ids: np.eye(4096)[None, spelled[[ids.shape[-1] - 1]]]  # noqa: E731
    pieces = engine.continue_text(model, writer.tokenizer, writer.encode(""), settings, 512)
    assert list(pieces) == ["ü", "🐳", " whale"]
    theirs = transformers.GPT2LMHeadModel.from_pretrained(SMALL_MODEL, dtype="float32").eval()
    greedy, n_positions = Sampling(temperature=0), writer.config.n_positions
    options = {"do_sample": False, "eos_token_id": None, "pad_token_id": 0}
    for prompt in ("Call me", "A", '"Aye," said'):
        ids = writer.encode(prompt)
        expected = theirs.generate(torch.from_numpy(ids), max_new_tokens=40, **options).numpy()
        for each in (writer, *others):
            text = generate_tokens(each.model, ids, 40, greedy, n_positions=n_positions)
            np.testing.assert_array_equal(text, expected)
    ids = np.random.RandomState(14).randint(0, writer.config.vocab_size, (2, n_positions - 5), dtype=np.int64)
    beyond, *texts = (
        generate_tokens(each.model, ids, 12, greedy, n_positions=n_positions) for each in (writer, *others)
    )
    for text in texts:
        np.testing.assert_array_equal(text, beyond)
