"""The references of warm-up 08 and of step 19's drawn models are what PyTorch's autograd computes."""

import numpy as np
import pytest

from tests.references import gradients, naive
from tests.references.backward import GPT2
from tests.references.naive import drawn

pytestmark = pytest.mark.slow
torch = pytest.importorskip("torch", reason="torch is not installed")

SHAPES = [(1, 1, 1, 1), (1, 2, 3, 2), (2, 1, 5, 4)]  # batch, head, seq, d
EXACT, NEARLY = 1e-12, 1e-6  # of sums in another order; of slopes, and of Hugging Face's loss, which is in float32


def leaf(array):
    return torch.from_numpy(np.array(array)).requires_grad_()


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_attention(shape):
    arrays = [drawn(name, *shape) for name in ("query", "key", "value")]
    grad, (query, key, value) = drawn("grad", *shape), map(leaf, arrays)
    out = torch.nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True)
    out.backward(torch.from_numpy(np.array(grad)))
    weights = naive.weights(*arrays[:2], scale=shape[-1] ** -0.5, mask=naive.looks_back(shape[-2]))
    loops = gradients.attention_backward(grad, *arrays, weights)
    slopes = gradients.attention_slopes(grad, *arrays)
    for by_loops, by_slopes, by in zip(loops, slopes, (query, key, value), strict=True):
        np.testing.assert_allclose(by_loops, by.grad, rtol=0, atol=EXACT)
        np.testing.assert_allclose(by_slopes, by.grad, rtol=0, atol=NEARLY)


@pytest.mark.parametrize(
    "sizes",
    [
        {"n_layer": 1, "n_head": 1, "n_embd": 2, "n_inner": 3},
        {"n_layer": 3, "n_head": 4, "n_embd": 20, "n_inner": 11, "layer_norm_epsilon": 0.1},
    ],
    ids=str,
)
def test_a_model(sizes):
    from tools.hugging_face import CONV1D, hugging_face_config, seeded_model

    ids = np.array([[4, 0, 7, 4, 1], [9, 9, 2, 3, 4]])
    labels = np.where(ids == 4, -100, ids)
    model, weights = seeded_model(hugging_face_config(vocab_size=10, n_positions=8, **sizes))
    loss = model.double()(torch.from_numpy(ids), labels=torch.from_numpy(labels)).loss
    loss.backward()
    found = GPT2(weights, model.config.n_head, model.config.layer_norm_epsilon)
    assert found.loss(ids, labels, -100) == pytest.approx(loss.item(), abs=NEARLY)
    for name, parameter in model.named_parameters():
        right = parameter.grad.T if name.endswith(CONV1D) else parameter.grad
        np.testing.assert_allclose(found.gradients[name], right, rtol=0, atol=NEARLY, err_msg=name)
