"""What models after Llama changed: each variant computes what the model of Hugging Face's does that has it."""

import numpy as np
import pytest
import transformers

from checker.max_adapter.hooks import install_hooks
from checker.max_adapter.runtime import lazily, tensor
from solutions.llama_config import LlamaConfig
from tools.hugging_face import AWKWARD_LLAMA, seeded
from tools.modern import VARIANTS, WINDOW, diff, load

pytestmark = pytest.mark.slow

install_hooks()

#: The model of Hugging Face's that differs from Llama in a variant alone, and what its configuration needs for it.
THEIRS = {
    "query_key_norm": ("Qwen3", {"attention_bias": False, "use_sliding_window": False}),
    "sliding_window": ("Mistral", {"sliding_window": WINDOW}),
    "gemma": ("Gemma", {"hidden_activation": "gelu_pytorch_tanh"}),
}


def theirs_of(variant):
    name, settings = THEIRS[variant]
    sizes = dict(AWKWARD_LLAMA)
    rope = {"rope_type": "default", "rope_theta": sizes.pop("rope_theta")}
    options = {"tie_word_embeddings": False, "attn_implementation": "eager", "rope_parameters": rope}
    config = getattr(transformers, f"{name}Config")(**sizes, **options, **settings)
    return getattr(transformers, f"{name}ForCausalLM")(config).eval()


def ours_of(variant, weights):
    """The variant's function of all token ids, with a cache, as ``compile_llama`` makes it, but not compiled."""
    from max.driver import CPU
    from max.experimental import functional as F

    modules = load(variant)
    with F.lazy():
        model = modules["llama"].LlamaForCausalLM(LlamaConfig(**AWKWARD_LLAMA))
    model.load_state_dict({name: tensor(array) for name, array in weights.items()})

    def run(*inputs):
        with lazily():
            return model(*inputs)

    graph = modules["llama"].run_on_arrays(run, CPU())
    return modules["llama"].CachedModel(graph, model.config.cache_config, CPU())


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_variant_computes_what_hugging_faces_model_does_token_by_token(variant):
    import torch

    theirs = theirs_of(variant)
    weights = seeded(theirs)
    ours, ids = ours_of(variant, weights), np.random.default_rng(6).integers(0, AWKWARD_LLAMA["vocab_size"], (2, 11))
    with torch.no_grad():
        wanted = theirs(torch.from_numpy(ids)).logits.numpy()
    for length in (5, 6, 11):
        logits = ours(ids[:, :length])
        np.testing.assert_allclose(logits[:, 0], wanted[:, length - 1], atol=1e-4, rtol=1e-4)
    assert np.abs(wanted).max() > 1, "the tolerance would hide a difference"


def test_a_variant_that_changes_nothing_in_a_file_is_refused():
    with pytest.raises(ValueError, match=r"gemma changes nothing in solution_25\.py; it edits solution_23, llama"):
        diff("gemma", "solution_25")
    with pytest.raises(ValueError, match="there is no variant mamba; choose from query_key_norm, sliding_window"):
        diff("mamba", "llama")
