"""The Llama that a server runs: Hugging Face's logits, whatever part of each request a call brings."""

import numpy as np
import pytest
from max.experimental import functional as F

from checker.claims.modules import build
from checker.course.steps import Step
from checker.numeric.references import Reference
from play.serving.paged_llama import ServedLlama
from solutions.llama import LlamaForCausalLM
from solutions.llama_config import LlamaConfig
from tests.test_step_15 import PlainCache, call, wanted

CALLS = (3, 1), (1, 1), (4, 1), (1, 6)  # the new tokens of each request: parts of a prompt, and single tokens


class GroupedCache(PlainCache):
    """Step 15's cache without pages, with as many heads as keys and values have: a group of queries shares one."""

    def attend(self, layer, query, row_offsets, *, scale):
        heads, tokens, head_dim = map(int, query.shape)
        kv_heads = self.array.shape[4]
        group = heads // kv_heads
        key, value = (self.everything(layer, part, query[:kv_heads]).transpose(0, 1) for part in (0, 1))
        lined_up = query.reshape([kv_heads, group * tokens, head_dim])  # the heads of a group are neighbors
        scores = lined_up @ key.transpose(-2, -1) * scale + F.concat([self.mask] * group, axis=0)
        return (F.softmax(scores) @ value).reshape([heads, tokens, head_dim])


@pytest.fixture(scope="module")
def reference():
    """The numbers of step 25's whole model: two texts, each of which is a request here."""
    return Reference(Step("step_25").reference_file)


def test_the_logits_of_many_requests_are_hugging_faces(reference):
    llama = build(LlamaForCausalLM, LlamaConfig(**reference.config), weights=reference.weights)
    model, cache = ServedLlama(llama), GroupedCache(llama.config.cache_config, batch=2)
    for counts in CALLS:
        logits = np.from_dlpack(call(model, cache, reference["input"], counts))
        np.testing.assert_allclose(logits, wanted(reference["output"], cache.held), rtol=0, atol=1e-5)
