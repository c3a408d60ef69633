"""What is served is known, and refused if it does not fit, before MAX reads any of it."""

import json

import pytest
from tokenizers import Tokenizer

from checker.course.steps import SMALL_MODEL
from play.serving.options import ServerOptions
from play.serving.served_checkpoint import checkpoint_of
from solutions.solution_27 import END, chat_ids
from tests.dev.play.serving import tiny_llama

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def test_max_finds_what_a_gguf_file_says_beside_it(tmp_path):
    file = tiny_llama.write(tmp_path / "tiny.gguf")
    found = checkpoint_of(ServerOptions(file), print)
    assert (found.name, found.architecture, found.files) == ("tiny", "llama", [file])
    assert (found.n_positions, found.vocab_size) == (512, tiny_llama.VOCAB)
    assert checkpoint_of(ServerOptions(file, context=100), print).n_positions == 100
    settings = json.loads((found.folder / "config.json").read_text())
    assert settings["eos_token_id"] == [found.tokenizer.token_to_id(token) for token in ("<|endoftext|>", END)]
    sizes = {"num_hidden_layers": 2, "num_key_value_heads": 2, "head_dim": 10, "max_position_embeddings": 512}
    assert settings.items() >= sizes.items()
    again, talk = Tokenizer.from_file(str(found.folder / "tokenizer.json")), [("user", "鯨? <|im_end|>")]
    assert again.decode(found.encode_chat(talk)).endswith("user\n鯨? <|im_end|>\nassistant\n")
    assert found.encode_chat(talk) == chat_ids(found.tokenizer, talk)[0].tolist()
    assert checkpoint_of(ServerOptions(file), print).folder == found.folder
    assert [path.name for path in tmp_path.glob("gpt2-in-max/*")] == [found.folder.name]


def test_max_is_told_where_a_folder_is_from_anywhere(monkeypatch):
    monkeypatch.chdir(SMALL_MODEL.parent)
    found = checkpoint_of(ServerOptions(SMALL_MODEL.name), print)
    assert (found.name, found.folder) == (SMALL_MODEL.name, SMALL_MODEL)
    assert found.files == [SMALL_MODEL / "model.safetensors"]


def test_a_model_that_was_not_trained_on_chatml_answers_no_conversation(tmp_path):
    file = tiny_llama.write(tmp_path / "base.gguf", answers=False)
    for model in (file, SMALL_MODEL):
        assert not checkpoint_of(ServerOptions(model), print).answers


def test_a_file_that_does_not_fit_is_refused_in_a_sentence(tmp_path):
    file = tiny_llama.write(tmp_path / "tiny.gguf", leave_out="blk.1.ffn_up")
    with pytest.raises(ValueError, match=r"model\.layers\.1\.mlp\.up_proj\.weight is missing"):
        checkpoint_of(ServerOptions(file), print)
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(ValueError, match="is missing, cut short, or no Llama"):
        checkpoint_of(ServerOptions(file), print)
    (tmp_path / "gpt2-in-max").write_text("in the way")
    with pytest.raises(ValueError, match="where MAX reads what the GGUF file says, cannot be written"):
        checkpoint_of(ServerOptions(tiny_llama.write(file)), print)
