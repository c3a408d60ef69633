"""What newer models change: all variants at once are Hugging Face's Llama, and each alone fits the course."""

import numpy as np
import pytest

from checker.max_adapter.hooks import install_hooks
from checker.max_adapter.runtime import lazily, tensor
from solutions.solution_01 import GPT2Config
from tools.book_maker.values import arithmetic, modern
from tools.modern import VARIANTS, load

pytestmark = pytest.mark.slow

install_hooks()

SIZES = {"vocab_size": 31, "n_positions": 13, "n_embd": 24, "n_layer": 2, "n_head": 6, "layer_norm_epsilon": 1e-3}
KV_HEADS = 2
EACH = [(), *((name,) for name in VARIANTS), tuple(VARIANTS)]


def model_of(names):
    """The model with some variants and random weights, and these by name; the head is the embeddings."""
    from max.experimental import functional as F

    modules, more = load(*names), {"n_kv_head": KV_HEADS} if "grouped_query" in names else {}
    with F.lazy():
        model = modules["11"].MaxGPT2LMHeadModel(modules["01"].GPT2Config(**SIZES, **more))
    generator = np.random.default_rng(len(names))
    weights = {
        name: 0.3 * generator.standard_normal([int(size) for size in weight.shape], dtype=np.float32)
        for name, weight in model.parameters
    }
    weights["lm_head.weight"] = weights["transformer.wte.weight"]
    model.load_state_dict({name: tensor(array) for name, array in weights.items()})
    return model, weights


def logits_of(model, ids):
    with lazily():
        logits = model(tensor(ids))
    return np.from_dlpack(logits)


@pytest.mark.parametrize("names", EACH, ids=lambda names: "+".join(names) or "none")
def test_each_alone_and_all_together_decode_with_a_cache_what_they_read_without(names):
    from max.driver import CPU

    cached, (model, _) = load(*names)["14"], model_of(names)

    def run(*inputs):
        with lazily():
            return cached.CachedGPT2(model)(*inputs)

    graph = load(*names)["caching"].on_arrays(run, CPU())
    writer, ids = cached.CachedModel(graph, model.config, CPU()), np.random.default_rng(6).integers(0, 31, (2, 9))
    for length in (4, 5, 9):
        wanted = logits_of(model, ids[:, :length])[:, -1:]
        np.testing.assert_allclose(writer(ids[:, :length]), wanted, atol=5e-5, rtol=5e-5)


def llama(**sizes):
    """Hugging Face's, of the sizes that both tests share."""
    transformers = pytest.importorskip("transformers")
    settings = {"rms_norm_eps": 1e-3, "tie_word_embeddings": True, "attn_implementation": "eager"}
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(**settings, **sizes)).eval()


def in_llamas_names(weights):
    """The weights of all variants under Llama's names: fused layers are cut."""
    names = {
        "transformer.wte": "model.embed_tokens",
        "transformer.ln_f": "model.norm",
        "transformer.h.": "model.layers.",
        "ln_1": "input_layernorm",
        "ln_2": "post_attention_layernorm",
        "attn.c_proj": "self_attn.o_proj",
        "mlp.c_proj": "mlp.down_proj",
    }
    cuts = {
        "attn.c_attn": (["self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"], [24, 32]),
        "mlp.c_fc": (["mlp.gate_proj", "mlp.up_proj"], 2),
    }
    renamed = {}
    for name, array in weights.items():
        for ours, theirs in names.items():
            name = name.replace(ours, theirs)
        fused = next((fused for fused in cuts if fused in name), "")
        theirs, where = cuts.get(fused, ([""], 1))
        parts = zip(theirs, np.split(array, where), strict=True)
        renamed |= {name.replace(fused, their) if fused else name: part for their, part in parts}
    return renamed


def test_all_five_at_once_are_llama():
    torch, (model, weights) = pytest.importorskip("torch"), model_of(tuple(VARIANTS))
    sizes = dict(vocab_size=31, hidden_size=24, intermediate_size=64, num_hidden_layers=2, max_position_embeddings=13)
    theirs = llama(**sizes, num_attention_heads=6, num_key_value_heads=KV_HEADS)
    theirs.load_state_dict({name: torch.from_numpy(array) for name, array in in_llamas_names(weights).items()})
    ids = np.random.default_rng(5).integers(0, 31, (3, 11))
    with torch.no_grad():
        wanted = theirs(torch.from_numpy(ids)).logits.numpy()
    np.testing.assert_allclose(logits_of(model, ids), wanted, atol=1e-4, rtol=1e-4)


def test_the_page_counts_llamas_parameters_and_the_bytes_of_its_cache():
    sizes = dict(vocab_size=50257, hidden_size=768, intermediate_size=2048, num_hidden_layers=12)
    with pytest.importorskip("torch").device("meta"):
        theirs = llama(**sizes, num_attention_heads=12, num_key_value_heads=modern.KV_HEADS)
    assert modern.parameters(*VARIANTS) == theirs.num_parameters()
    assert modern.parameters() == arithmetic.parameters(GPT2Config())["total"]
    assert modern.cache_bytes() == arithmetic.cache_bytes(GPT2Config())
    assert modern.cache_bytes(*VARIANTS) * 12 == modern.cache_bytes() * modern.KV_HEADS
