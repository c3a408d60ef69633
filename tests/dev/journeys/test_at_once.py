"""What cannot work is said at once, before anything is loaded: options, typed text, files and checkpoints."""

import json
import shutil
import sys

import pytest

from checker import files
from checker.course.steps import SMALL_MODEL
from checker.device import DeviceKind
from checker.files import ROOT
from play import startup
from play.attention.show import show_attention
from play.generation import generate
from play.generation.options import WriterOptions
from play.serving import serve
from tests.dev.helpers.terminal import started
from tools.course_copy import python

WRITING = ["--temperature=-1", "--temperature=nan", "--temperature=inf", "--top-k=-1", "--seed=-1"]
WRONG = {
    "generate Call": [*WRITING, "--max-new-tokens=-5"],
    "chat": ["--temperature=-1", "--temperature=nan", "--top-p=0", "--top-p=1.1", "--context=1", "--max-new-tokens=-5"],
    "attention Call": ["--layer=-1", "--head=-1"],
    "serve": ["--time-limit=nan", "--grace=nan"],  # no time is longer than NaN
    "grade": ["--limit=nan", "--limit=inf"],
}


@pytest.mark.parametrize(("command", "option"), [(command, option) for command in WRONG for option in WRONG[command]])
def test_an_impossible_option_is_refused_without_max(command, option):
    program = "import sys; sys.modules['max'] = None; from cli.main import main; main()"
    refused = python(ROOT, "-c", program, *command.split(), option, status=2).stderr
    name, value = option.split("=")
    assert f"Invalid value for '{name}': {value}" in refused


@pytest.mark.parametrize("command", ["generate", "attention", "train --prompt"])
def test_text_that_is_not_utf_8_is_refused_in_any_locale(command):
    program = ["-m", "cli", *command.split(), "Call \udcff"]
    for locale in ({"PYTHONUTF8": "1"}, {"PYTHONUTF8": "0", "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0"}):
        refused = python(ROOT, *program, status=2, **locale).stderr
        assert refused == f"{command.split()[0]}: the text is not UTF-8: byte 5 is 0xff\n"


def test_what_a_locale_could_not_read_is_read_as_utf_8():
    assert startup.in_utf8("Call ü".encode().decode("ascii", "surrogateescape")) == "Call ü"


def test_generate_needs_an_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(ValueError, match="standard input is closed"):
        generate.write_texts(None, print, WriterOptions(SMALL_MODEL))


CHAT = """
from cli.main import main
from play.generation import generate

generate.write = lambda writer, prompt, *how: print("got", prompt)
generate.write_texts = lambda prompt, tell, options: generate.converse(None, None, 0, 1, tell)
main(["generate"])
"""


def test_generate_goes_on_after_a_line_that_is_not_utf_8_and_prints_in_any_encoding():
    with started(ROOT, "-c", CHAT, PYTHONIOENCODING="ascii", PYTHONUTF8="0") as process:
        process.stdin.buffer.write(b"Call \xff\nCall \xc3\xbc\n")
        shown, errors = process.communicate(timeout=60)
    assert shown == "got Call \\xfc\n"
    assert "generate: the text is not UTF-8: byte 5 is 0xff" in errors


def test_a_file_that_cannot_be_written_in_the_end_is_refused(tmp_path):
    files.require_writable(None, tmp_path / "a.html")
    for file in (tmp_path, tmp_path / "no" / "a.html"):
        with pytest.raises(ValueError, match="cannot be written; give a file in a folder that is there"):
            files.require_writable(file)


def cut_short(folder):
    data = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(data[: len(data) // 2])


def of_another_size(folder):
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"n_layer": config["n_layer"] + 1}))


def of_a_million_layers(folder):  # whose model would take hours to build
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"n_layer": 1_000_000}))


def without_tokenizer(folder):
    (folder / "tokenizer.json").unlink()


SPOILED = {
    cut_short: "model.safetensors cannot be read: SafetensorError",
    of_another_size: "does not fit the model: transformer.h.5.ln_1.weight is missing",
    of_a_million_layers: "is a gpt2 with n_layer = 1,000,000, and has 64 tensors",
    without_tokenizer: "has no tokenizer.json",
}


@pytest.fixture(params=SPOILED)
def spoiled(request, tmp_path):
    """A checkpoint that cannot run, and what is said of it."""
    for name in ("config.json", "model.safetensors", "tokenizer.json"):
        shutil.copy(SMALL_MODEL / name, tmp_path)
    request.param(tmp_path)
    return tmp_path, SPOILED[request.param]


def test_a_checkpoint_that_cannot_run_is_refused_before_anything_compiles(spoiled, monkeypatch):
    folder, message = spoiled
    compiled = []
    for module in (generate, serve):
        monkeypatch.setattr(module, "usable_kernels", lambda *_, **options: compiled.append("the kernels"))
    monkeypatch.setattr(serve, "check_version", lambda: None)
    monkeypatch.setenv("GPT2_SERVED", "{}")
    shown = {"text_to_read": "Call", "out": None, "text": True, "layer": 0, "head": 0}
    for command in (
        lambda: generate.write_texts("Call", print, WriterOptions(folder)),
        lambda: serve.run_server(print, model=folder),
        lambda: show_attention(print, model=folder, device=DeviceKind.CPU, own=None, **shown),
    ):
        with pytest.raises(ValueError, match=message):
            command()
    assert compiled == []


def test_a_server_without_its_keys_is_refused_before_anything_is_fetched(monkeypatch):
    from play.serving import served_checkpoint

    monkeypatch.setattr(serve, "check_version", lambda: None)
    monkeypatch.setattr(served_checkpoint, "checkpoint_of", None)
    monkeypatch.setenv("GPT2_SERVED", "{}")
    for options in ({"host": "0.0.0.0"}, {"api_key": ROOT / "README.md", "no_key": True}, {"api_key": ROOT / "none"}):
        with pytest.raises(ValueError, match="--api-key"):
            serve.run_server(print, model=SMALL_MODEL, **options)


def test_a_checkpoint_that_fits_is_found_without_reading_its_weights(monkeypatch):
    from play.checkpoints import usable_checkpoint
    from solutions import checkpoint

    monkeypatch.setattr(checkpoint, "deserialize", None)
    assert usable_checkpoint(SMALL_MODEL) == SMALL_MODEL
