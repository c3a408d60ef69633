"""The Llama in NumPy that the book asks about our sentence."""

import numpy as np
import pytest

from play.book.chapters import SRC
from tools.book_maker.values import smollm2

pytestmark = pytest.mark.slow


def test_it_attends_and_predicts_as_hugging_faces_does():
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    sizes = {"hidden_size": 48, "intermediate_size": 40, "num_hidden_layers": 3, "vocab_size": 30}
    heads = {"num_attention_heads": 6, "num_key_value_heads": 2, "head_dim": 8, "tie_word_embeddings": True}
    rope = {"rope_theta": 100.0}
    config = transformers.LlamaConfig(**sizes, **heads, rope_parameters={"rope_type": "default"} | rope)
    torch.manual_seed(0)
    model = transformers.LlamaForCausalLM(config).eval()
    model.set_attn_implementation("eager")
    with torch.no_grad():
        for weight in model.parameters():
            weight.normal_(std=0.3)
        theirs = model(torch.tensor([[3, 1, 29, 4, 1]]), output_attentions=True)
    config.rope_theta = rope["rope_theta"]
    weights = {name: weight.numpy() for name, weight in model.state_dict().items()}
    attention, logits = smollm2.forward([3, 1, 29, 4, 1], weights, config)
    np.testing.assert_allclose(attention, np.concatenate([layer.numpy() for layer in theirs.attentions]), atol=1e-5)
    np.testing.assert_allclose(logits, theirs.logits[0].numpy(), atol=1e-4)


def test_the_head_that_takes_the_most_from_a_noun_is_found():
    attention = np.zeros((2, 3, 3, 3))
    attention[1, 2, -1] = 0.1, 0.6, 0.3
    attention[0, 1, -1] = 0.7, 0.1, 0.2
    found = smollm2.measured([" whale", " ship", " it"], attention)
    assert found["looks"][" ship"] == {"layer": 1, "head": 2, "weights": [0.1, 0.6, 0.3]}
    assert found["looks"][" whale"] == {"layer": 0, "head": 1, "weights": [0.7, 0.1, 0.2]}


def test_the_page_shows_the_first_block_of_the_file():
    assert f'"{smollm2.RECORDED["block"]}"' in (SRC / "step_26.md").read_text()
