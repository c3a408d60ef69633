"""What is given in step 14: the cache and its slots, and what a graph is given, one that keeps ids, not keys."""

import ctypes

import numpy as np
import pytest
from max.driver import CPU
from max.experimental.nn import Module

from checker.claims.modules import compiled
from checker.device import DeviceKind
from checker.max_adapter.runtime import tensor
from solutions.caching import PADDING, empty_cache, run_on_arrays
from solutions.solution_01 import GPT2Config
from solutions.solution_14 import CachedModel, cache_mask

TEXT = np.array([[3, 1, 4, 1, 5, 9, 2, 6], [2, 7, 1, 8, 2, 8, 1, 8]])
OTHER = np.where(np.arange(8) == [[3], [4]], 0, TEXT)  # a token of each row is another
PADDED = np.array([[PADDING, PADDING, 3, 1, 2], [4, 1, 5, 9, 6]])


def test_only_new_tokens_run_and_the_answer_is_that_of_all_whatever_was_asked_before():
    slots, new_tokens, is_broken = {}, [], False

    def compiled(*tensors, cache):
        ids, positions, mask = map(np.from_dlpack, tensors)
        (batch, new), total = ids.shape, mask.shape[1]
        new_tokens.append(new)
        held = slots.setdefault(id(cache), np.zeros((batch, 8), int))[:, :total]
        held[:, total - new :] = 100 * ids + positions
        if is_broken:
            raise KeyboardInterrupt
        return tensor(np.where(mask == 0, held, -1))

    def ask(ids):
        is_token, ids = ids != PADDING, ids.copy()
        right = np.where(is_token, 100 * ids + is_token.cumsum(axis=-1) - 1, -1)
        np.testing.assert_array_equal(model(ids), right)
        ids[:] = 0  # it is the caller's array

    graph = run_on_arrays(lambda *inputs: compiled(*inputs[:-1], cache=inputs[-1]), CPU())
    model = CachedModel(graph, GPT2Config(n_positions=8, n_embd=4, n_head=1, n_layer=1), CPU())
    prompts = TEXT[:, :5], TEXT[:, :6], TEXT[:, :6], OTHER, OTHER[:, :3], TEXT[:1], PADDED[:, :4], PADDED, abs(PADDED)
    for ids in prompts:
        ask(ids)
    assert new_tokens == [5, 1, 1, 5, 1, 8, 4, 1, 5]
    is_broken = True
    with pytest.raises(KeyboardInterrupt):
        model(OTHER)
    is_broken = False
    ask(TEXT)
    padding, outside = "padding only before it", "token id -2 is not"
    refused = ([[0] * 9], "9 tokens is longer"), ([[3, -1]], padding), ([[5, -1, 7]], padding), ([[-1]], padding)
    refused += ([[]], padding), ([[-2, 7]], outside)
    for ids, why in refused:
        with pytest.raises(ValueError, match=why):
            model(np.array(ids))


def test_a_cache_stays_as_it_is_written():
    """MAX fills memory with zeros in the background."""
    ((_, values),) = empty_cache(GPT2Config(n_positions=50_000, n_embd=256, n_head=1, n_layer=1), 1, device=CPU())
    ctypes.memset(values.driver_tensor._data_ptr(), 1, 4 * 50_000 * 256)
    CPU().synchronize()
    assert np.from_dlpack(values).all()


class Masked(Module):
    """What attention does to its scores."""

    def forward(self, scores, padding):
        return scores + cache_mask(scores.shape[-2], padding)


@pytest.mark.nightly
def test_the_mask_survives_fusion_with_the_scores():
    # MAX 26.7 loses a mask of rank 2 that is added to padding of rank 4: on a GPU, and here if it has one reader.
    graph = compiled(Masked(), ["batch", 3, "seq", "total"], ["batch", "total"], device=DeviceKind.CPU)
    masked = graph(np.ones((2, 3, 2, 5), np.float32), np.zeros((2, 5), np.float32)).to_numpy()
    np.testing.assert_array_equal(masked == 1, np.broadcast_to(np.tri(2, 5, 3) > 0, masked.shape))
