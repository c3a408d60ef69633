"""``generate``: a text, one prompt after another, and what it refuses."""

import io
import json
import sys
from types import SimpleNamespace

import pytest

from checker.course.steps import SMALL_MODEL
from checker.device import DeviceKind
from checker.errors import UserError
from play.generation import generate
from play.generation.generate import Cache
from play.generation.options import WriterOptions
from play.mine.choice import OwnSteps
from tests.dev.helpers.commands import run_model


def test_every_prompt_has_a_seed_of_its_own_so_that_the_same_one_goes_on_otherwise(monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", io.StringIO("Call\nCall\n\nno more\n"))
    writer = SimpleNamespace(write=lambda prompt, sampling, seed, count: iter([" me", f" {seed}"]))
    generate.converse(writer, None, 5, 1, print)
    assert capsys.readouterr().out == "Call me 5\nCall me 6\n"


def test_a_prompt_that_is_refused_takes_no_seed(monkeypatch, capsys):
    def write(prompt, sampling, seed, count):
        if prompt == "too long":
            raise UserError("the prompt is too long")
        return iter([f" {seed}"])

    monkeypatch.setattr(sys, "stdin", io.StringIO("Call\ntoo long\nCall\n\n"))
    generate.converse(SimpleNamespace(write=write), None, 5, 1, print)
    assert capsys.readouterr().out == "Call 5\nthe prompt is too long\nCall 6\n"


@pytest.mark.parametrize(
    ("options", "is_written", "cache"),
    [
        ({}, False, Cache.STEP_14),
        ({"own": OwnSteps()}, True, Cache.STEP_14),
        ({"own": OwnSteps()}, False, Cache.NOT_WRITTEN),
        ({"own": OwnSteps(), "kernels": True}, False, Cache.KERNELS),
        ({"own": OwnSteps(), "kernels": True, "device": DeviceKind.GPU}, False, Cache.NOT_WRITTEN),
        ({"kernels": True, "quantize": "Q8_0"}, True, Cache.STEP_14),
        ({"own": OwnSteps(), "no_cache": True}, False, Cache.NONE),
        ({"kernels": True, "no_cache": True}, True, Cache.NONE),
    ],
)
def test_the_cache_is_that_of_the_kernels_or_of_whose_steps_run(monkeypatch, options, is_written, cache):
    monkeypatch.setattr(generate, "is_complete", lambda step: is_written)
    assert generate.cache_of(WriterOptions(SMALL_MODEL, **options)) is cache


def test_an_option_for_a_gpt2_alone_is_refused_with_a_llama():
    for option, value in {"no_cache": True, "quantize": "Q8_0", "dtype": "bfloat16"}.items():
        named = f"--{option.replace('_', '-')}"
        with pytest.raises(ValueError, match=f"smollm2 is a Llama, .*; leave {named} away"):
            generate.write_texts("Call", print, WriterOptions("smollm2", **{option: value}))


@pytest.mark.slow
def test_standard_output_is_the_text_alone_and_the_seed_decides():
    text = run_model("generate", "Call me", "--seed", "1", "--max-new-tokens", "20")
    assert text.stdout.startswith("Call me")
    assert len(text.stdout) > len("Call me") + 20
    assert text.stdout == run_model("generate", "Call me", "--seed", "1", "--max-new-tokens", "20", "--no-cache").stdout
    drawn = run_model("generate", "Call me", "--max-new-tokens", "20")
    seed = drawn.stderr.rpartition("--seed ")[2].strip()
    again = run_model("generate", "Call me", "--max-new-tokens", "20", "--seed", seed)
    assert text.stdout != drawn.stdout == again.stdout
    assert run_model("generate", "", "--max-new-tokens", "8", "--seed", "1").stdout.strip()


@pytest.mark.slow
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
    refused = run_model("generate", "Call <unknown>", *model, status=2)
    assert (refused.stdout, unknown in refused.stderr) == ("", True)
    talk = run_model("generate", *model, stdin="Call me\nCall <unknown>\nThe whale\n\n")
    assert talk.stdout.startswith("Call me")
    assert "\nThe whale" in talk.stdout
    assert unknown in talk.stderr
    file.write_text(text[:1000])
    assert "tokenizer.json is damaged" in run_model("generate", "Call me", *model, status=2).stderr
    offline = run_model("generate", "Call me", "--model", "no/such-model", status=2).stderr
    assert "no/such-model is not a folder here, and could not be downloaded" in offline
