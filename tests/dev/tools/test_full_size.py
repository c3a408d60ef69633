"""The 124-million-parameter architecture with seeded weights equals live Hugging Face, forward and backward."""

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


@pytest.mark.nightly
def test_every_gradient_of_a_batch_is_pytorchs():
    from play.training.memory import shared, types
    from solutions.solution_01 import GPT2Config
    from solutions.solution_20 import Accumulate

    theirs, weights = hugging_face.varied_model()
    del weights["lm_head.weight"]
    given, sums = (shared({name: array.shape for name, array in weights.items()}) for _ in range(2))
    given.fill(weights)
    ids = TensorType(DType.int64, ["batch", "seq"], device=CPU())
    graph = Accumulate(GPT2Config()).compile(ids, ids, types(given.arrays), types(sums.arrays))
    tokens = PROMPT.reshape(2, 8)
    labels = tokens.copy()
    labels[0, 3:5] = -100
    total, count = graph(tensor(tokens), tensor(labels), given.tensors(), sums.tensors())
    assert count.item() == 12
    loss = theirs(torch.from_numpy(tokens), labels=torch.from_numpy(labels)).loss
    loss.backward()
    assert total.item() / 12 == pytest.approx(loss.item(), rel=1e-5)
    gradients = {name: parameter.grad.numpy() for name, parameter in theirs.named_parameters()}
    assert set(gradients) == set(sums.arrays)
    for name, found in sums.arrays.items():
        wanted = gradients[name].T if name.endswith(hugging_face.CONV1D) else gradients[name]
        size = float(np.abs(wanted).max())
        assert size > 0, name
        equal(found / 12, wanted, what=name, tolerance=1e-4 * size)  # the key bias has none: it is the middle of one
