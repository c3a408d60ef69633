"""What the solutions give a learner ready-made refuses what is impossible, and does not depend on a default."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from max.driver import CPU
from max.dtype import DType
from max.experimental.tensor import default_dtype
from max.graph import SymbolicDim

from checker.course.steps import SMALL_MODEL
from solutions.checkpoint import OPENAI
from solutions.llama_config import LlamaConfig
from solutions.solution_01 import PUBLISHED, GPT2Config
from solutions.solution_06 import check_length
from solutions.solution_11 import compile_model
from solutions.solution_12 import Sampling, generate_tokens
from solutions.solution_13 import load_pretrained
from solutions.warmup_04 import head_dim
from solutions.warmup_06 import decode
from solutions.warmup_07 import empty_cache, next_positions

TEXT = np.zeros((1, 1), np.int64)
TINY = GPT2Config(vocab_size=37, n_positions=13, n_embd=4, n_head=2)


def compiled(input_ids):
    """Run what compile_model makes of a model that is not there."""
    model = SimpleNamespace(config=TINY, to=lambda device: None, compile=lambda ids: None)
    return compile_model(model, CPU())(input_ids)


IMPOSSIBLE = {
    "temperature = -0.5": lambda: Sampling(-0.5),
    "temperature = nan": lambda: Sampling(math.nan),
    "temperature = inf": lambda: Sampling(math.inf),
    "top_k = 0": lambda: Sampling(top_k=0),
    "the prompt is empty": lambda: generate_tokens(
        np.eye(3).take, np.zeros((1, 0), np.int64), 1, Sampling(), n_positions=4
    ),
    "n_positions = 0 lets": lambda: generate_tokens(np.eye(3).take, TEXT, 1, Sampling(), n_positions=0),
    "n_positions = -1 lets": lambda: generate_tokens(np.eye(3).take, TEXT, 1, Sampling(), n_positions=-1),
    "id -1 is not .* 0 to 255$": lambda: decode([0, -1], {}),
    "id 256 is not .* 0 to 255$": lambda: decode([0, 256], {}),
    "n_embd = 768 .* n_head = 7 heads": lambda: head_dim(768, 7),
    "n_embd = 20 .* n_head = 0 heads": lambda: head_dim(20, 0),
    "num_attention_heads = 0 cannot share": lambda: LlamaConfig(num_attention_heads=0),
    "12 tokens .* 11 slots": lambda: next_positions(empty_cache(1, 1, 11, 2), 12),
    "a sequence of 14 tokens .* n_positions = 13$": lambda: check_length(14, TINY),
    "a sequence of 15 tokens .* n_positions = 13$": lambda: compiled(np.zeros((1, 15), np.int64)),
    "token id 37 is not .* vocab_size = 37 ": lambda: compiled(np.full((1, 2), 37)),
}


@pytest.mark.parametrize("message", IMPOSSIBLE)
def test_what_is_impossible_is_refused_by_name(message):
    with pytest.raises(ValueError, match=f"^{message}"):
        IMPOSSIBLE[message]()


def test_the_published_sizes_have_the_same_names_on_the_hub():
    assert (*PUBLISHED,) == OPENAI


def test_a_tiny_temperature_and_no_rows_at_all():
    check_length(SymbolicDim("past") + SymbolicDim("seq"), TINY)
    np.testing.assert_array_equal(Sampling(1e-308).probabilities(np.eye(3)), np.eye(3))
    assert Sampling().choose(np.eye(3)[:0], np.random.default_rng()).dtype == np.int64


def test_the_weights_are_float32_whatever_the_default_is_as_on_a_gpu():
    with default_dtype(DType.bfloat16):
        model = load_pretrained(SMALL_MODEL)
    assert {weight.dtype for _, weight in model.parameters} == {DType.float32}
