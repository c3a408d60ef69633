"""The model that writes: its tokens are Hugging Face's, and what it cannot run is said."""

import contextlib
import re
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest

from checker.course.steps import SMALL_MODEL

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def engine():
    """The module, imported when it is first needed, with MAX prepared as the command does it."""
    from checker.max_adapter.hooks import install_hooks
    from play.generation import engine

    install_hooks()
    return engine


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (dict(name_or_folder="tests"), "tests has no tokenizer.json"),
        (dict(dtype="bfloat16"), "only the kernels multiply in bfloat16"),
    ],
)
def test_what_cannot_run_is_said(engine, options, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        engine.Writer(**options)


def test_a_processor_without_bfloat16_is_said(engine, monkeypatch):
    monkeypatch.setattr("play.startup.instruction_sets", list)
    with pytest.raises(ValueError, match="needs a processor with AVX-512"):
        engine.Writer(kernels=True, dtype="bfloat16")


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


def test_greedy_tokens_are_hugging_faces_in_each_way_and_stream_in_whole_characters(engine, monkeypatch):
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    from solutions.solution_12 import Sampling, generate_tokens

    writer, *others = engine.Writer(kernels=True), engine.Writer(), engine.Writer(cache=False)
    spelled = np.array([*writer.tokenizer.encode("ü🐳 whale").ids, 0, 5])  # each byte is a token; 0 ends the text
    model = lambda ids: np.eye(4096)[None, spelled[[ids.shape[-1] - 1]]]  # noqa: E731
    with monkeypatch.context() as patched:
        patched.setattr(writer, "model", model)
        assert list(writer.write("", Sampling(0), 0, len(spelled))) == ["ü", "🐳", " whale"]
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
