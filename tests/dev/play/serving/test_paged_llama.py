"""A Llama over a paged cache has transformers' logits, whatever requests share a call."""

import numpy as np
import pytest
import torch
from max.experimental import functional as F

from checker.claims.modules import build
from play.serving.paged_llama import ServedLlama
from solutions.llama import LlamaForCausalLM
from solutions.llama_config import LlamaConfig
from tests.test_step_15 import BATCH, CALLS, PlainCache, call, wanted
from tools.hugging_face import AWKWARD_LLAMA, awkward_llama

pytestmark = pytest.mark.slow


class GroupedCache(PlainCache):
    """Step 15's plain cache, in which each head of keys serves a group of neighbors, as MAX's kernel has it."""

    def attend(self, layer, query, row_offsets, *, scale):
        shape, kv_heads = [int(size) for size in query.shape], self.array.shape[-2]
        groups = query.reshape([kv_heads, -1, *shape[1:]])
        members = [groups[:, place] for place in range(shape[0] // kv_heads)]
        attended = [PlainCache.attend(self, layer, member, row_offsets, scale=scale) for member in members]
        return F.stack(attended, axis=1).reshape(shape)


def test_the_logits_are_transformers_for_prompts_of_different_lengths_parts_and_single_tokens():
    theirs, weights = awkward_llama()
    config = LlamaConfig(**AWKWARD_LLAMA)
    model = ServedLlama(build(LlamaForCausalLM, config, weights=weights))
    ids = np.random.default_rng(25).integers(config.vocab_size, size=(BATCH, config.max_position_embeddings))
    with torch.no_grad():
        logits = theirs(torch.from_numpy(ids)).logits.numpy()
    cache = GroupedCache(config.cache_config)
    for counts in CALLS:
        result = np.from_dlpack(call(model, cache, ids, counts))
        np.testing.assert_allclose(result, wanted(logits, cache.held), atol=1e-5)
