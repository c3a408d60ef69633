"""What the heads look at: the weights are Hugging Face's."""

import numpy as np
import pytest

from checker.course.steps import SMALL_MODEL
from tests.dev.play.attention.conftest import TEXT

pytestmark = pytest.mark.slow


def test_weights_and_scores_are_hugging_faces(read):
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    from play.tokens import load_tokenizer

    model = transformers.GPT2LMHeadModel.from_pretrained(SMALL_MODEL, attn_implementation="eager").float().eval()
    ids = load_tokenizer(SMALL_MODEL).encode(TEXT).ids
    assert len(ids) > model.config.n_embd // model.config.n_head, "the text is to need more than one piece"
    with torch.no_grad():
        expected = np.stack([layer[0] for layer in model(torch.tensor([ids]), output_attentions=True).attentions])
    np.testing.assert_allclose(read.weights, expected, atol=2e-5)
    assert np.abs(np.triu(read.weights, 1)).max() == 0
    assert "".join(read.tokens) == TEXT
    powers = np.tril(np.exp(read.scores))
    np.testing.assert_allclose(powers / powers.sum(axis=-1, keepdims=True), expected, atol=1e-4)


def test_the_weights_of_a_llama_are_hugging_faces_head_by_head(llama):
    torch = pytest.importorskip("torch")
    from checker.max_adapter.hooks import install_hooks
    from play.attention.weights import read_attention_of_llama
    from solutions.gguf_tokenizer import tokenizer_of
    from solutions.llama_files import read_llama
    from tools.hugging_face import hugging_face_llama, load

    install_hooks()
    read = read_attention_of_llama(TEXT, llama)
    config, weights, fields = read_llama(llama)
    model = hugging_face_llama(**vars(config))
    load(model, weights)
    model.set_attn_implementation("eager")
    with torch.no_grad():
        layers = model(torch.tensor([tokenizer_of(fields).encode(TEXT).ids]), output_attentions=True).attentions
    np.testing.assert_allclose(read.weights, np.stack([layer[0] for layer in layers]), atol=2e-5)
    powers = np.tril(np.exp(read.scores - read.scores.max()))
    np.testing.assert_allclose(powers / powers.sum(axis=-1, keepdims=True), read.weights, atol=1e-4)
    assert "".join(read.tokens) == TEXT


def test_smollm2_looks_at_the_ship_as_the_page_about_heads_says(smollm2_file):
    from checker.max_adapter.hooks import install_hooks
    from play.attention.weights import read_attention_of_llama
    from tools.book_maker.values.smollm2 import TEXT, look, taken

    install_hooks()
    read, head = read_attention_of_llama(TEXT, smollm2_file), look(" ship")
    weights = read.weights[head["layer"], head["head"], -1]
    np.testing.assert_allclose(weights, head["weights"], atol=1e-3)
    assert weights[read.tokens.index(" ship")] == pytest.approx(taken(" ship"), abs=1e-3)
