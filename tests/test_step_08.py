"""Step 08, the residual connection: what is claimed.

Recorded from the second half of one of Hugging Face's blocks; the same numbers must come out whatever
is normalized by what, so plain functions are tried too.
"""

import pytest
from max.experimental.nn import Module

from checker.claims import about, equal, is_value, keeps_nothing
from checker.claims.modules import build, compiled, run, shapes_of
from checker.max_adapter.runtime import tensor
from solutions.solution_01 import GPT2Config
from solutions.solution_03 import LayerNorm
from solutions.solution_04 import GPT2MLP

WIDTH = 15


class Half(Module):
    """The second half of a block, with the function that is graded in its middle."""

    def __init__(self, subject, config):
        self.subject = subject
        self.ln_2 = LayerNorm(config.n_embd, eps=config.layer_norm_epsilon)
        self.mlp = GPT2MLP(config)

    def forward(self, x):
        return self.subject.pre_norm_residual(x, self.ln_2, self.mlp)


@pytest.fixture
def half(subject, reference):
    return build(Half, subject, GPT2Config(**reference.config), weights=reference.weights)


@about("pre_norm_residual")
def test_half_a_block(half, reference):
    """Around a norm and a feed-forward network, the output matches Hugging Face's block."""
    equal(run(half, reference["input"]), reference["output"], what="pre_norm_residual(x, ln_2, mlp)")
    keeps_nothing(lambda x: run(half, x), reference["input"], right=lambda x: reference["output"])


@about("pre_norm_residual")
def test_plain_functions(subject, reference):
    """It works with any two functions, and with x of any rank."""
    for x in (reference["input"], reference["input"][0, 0]):
        result = run(lambda x: subject.pre_norm_residual(x, lambda y: y * 0.25 + 2, lambda y: y * y), x)
        axes = ("batch", "token", "channel")[3 - x.ndim :]
        equal(result, x + (0.25 * x + 2) ** 2, axes, what="x + (x / 4 + 2) ** 2", whose="the right number")


@about("pre_norm_residual")
def test_tokens_look_at_their_own_text(subject, reference):
    """Both receive [batch, seq, embd], so attention stays within each text of the batch."""

    def looks(y):  # every token at the first one of its text
        return y * y[..., :1, :]

    x = reference["input"]
    result = run(lambda x: subject.pre_norm_residual(x, lambda y: y, looks), x)
    equal(result, x + looks(x), what="x + x * the first token", whose="the right number")


@about("pre_norm_residual")
def test_each_is_called_once(subject, reference):
    """norm and sublayer are each called exactly once: they do most of the model's work."""
    calls: list[str] = []

    def counting(name):
        return lambda y: calls.append(name) or y

    subject.pre_norm_residual(tensor(reference["input"]), counting("norm"), counting("sublayer"))
    is_value("the list of calls", sorted(calls), ["norm", "sublayer"])


@pytest.mark.drawn
@about("pre_norm_residual")
def test_other_numbers(subject, solution, draw):
    """A new random configuration, weights and input work as well."""
    config = GPT2Config(**draw.settings())
    width = config.n_embd
    x = draw.array(draw.whole("batch", 1, 4), draw.whole("seq", 1, 9), width)
    halves = [build(Half, module, config, weights={}) for module in (subject, solution)]
    weights = draw.weights(shapes_of(halves[1]))
    result, right = (run(build(lambda: half, weights=weights), x) for half in halves)  # noqa: B023
    equal(result, right, what="pre_norm_residual(x, ln_2, mlp)", whose="the solution's")


@pytest.mark.compiled
@about("compiled")
def test_compiled(half, reference, device):
    """Compiled into one graph, it returns the same numbers."""
    graph = compiled(half, ["batch", "seq", WIDTH], device=device)
    equal(graph(reference["input"]), reference["output"], what=f"the compiled half block on {device}")
    equal(graph(reference["input"][:1, :3]), reference["output"][:1, :3], what=f"the compiled half block on {device}")
