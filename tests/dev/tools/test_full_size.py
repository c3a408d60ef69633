"""The 124-million-parameter architecture with seeded weights equals live Hugging Face."""

import numpy as np
import pytest
from max.driver import CPU
from max.dtype import DType
from max.experimental.tensor import TensorType

from checker.claims import equal
from checker.claims.modules import load
from checker.max_adapter.runtime import tensor

torch = pytest.importorskip("torch")
hugging_face = pytest.importorskip("tools.hugging_face")

PROMPT = np.random.RandomState(124).randint(0, 50257, (1, 16))


@pytest.mark.nightly
def test_logits_and_greedy_ids_are_hugging_faces():
    from max.experimental import functional as F

    from solutions.solution_01 import GPT2Config
    from solutions.solution_11 import MaxGPT2LMHeadModel
    from solutions.solution_12 import generate_tokens

    theirs, weights = hugging_face.varied_model()
    assert sum(tensor.numel() for tensor in theirs.parameters()) == 124_439_808
    with F.lazy():
        ours = MaxGPT2LMHeadModel(GPT2Config())
    for name, array in weights.items():
        load(ours, name, array)
    graph = ours.compile(TensorType(DType.int64, ["batch", "seq"], device=CPU()))

    def model(ids):
        return np.from_dlpack(graph(tensor(ids)))

    with torch.no_grad():
        wanted = theirs(torch.from_numpy(PROMPT)).logits.numpy()
        options = {"do_sample": False, "max_new_tokens": 20, "eos_token_id": None, "pad_token_id": 0}
        greedy = theirs.generate(torch.from_numpy(PROMPT), **options).numpy()
    equal(model(PROMPT), wanted, ("batch", "token", "vocab"))
    np.testing.assert_array_equal(generate_tokens(model, PROMPT, 20, temperature=0), greedy)
    assert len(np.unique(greedy[0, 16:])) > 5
