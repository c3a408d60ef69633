"""Step 18, attention backward: what is claimed.

Recorded on the awkward configuration (batch 2, length 7, width 15, 3 heads of 5): what PyTorch's autograd sends back
through Hugging Face's ``GPT2Attention``, stage by stage. The attention that is gone back through is step 07's solution.
"""

import functools

import numpy as np
import pytest
from max.experimental.nn import Module
from max.experimental.tensor import Tensor

from checker.claims import about, equal, keeps_nothing, require
from checker.claims.modules import build, compiled, run, shapes_of
from checker.claims.vocabulary import article
from checker.max_adapter.runtime import lazily, tensor
from checker.numeric.references import seeded_weights
from checker.numeric.tolerance import TOLERANCE
from solutions.solution_01 import GPT2Config
from solutions.solution_07 import GPT2MultiHeadAttention

HEADS, HEAD_DIM, WIDTH, LENGTH = 3, 5, 15, 7
TOKENS = ("batch", "token", "channel")
SCORES = ("batch", "head", "query", "key")
ROWS = ("batch", "query", "key")
WEIGHT = ("output", "input")
BIAS = ("output",)
NAMES = ("c_attn.weight", "c_attn.bias", "c_proj.weight", "c_proj.bias")
AXES = dict(zip(NAMES, (WEIGHT, BIAS) * 2, strict=True))
OF_HEADS = ("output.gradient", "query", "key", "value", "attention_weights")
BEFORE = "what it was before"

DRAWN = np.random.RandomState(18)
GRAD, LOGITS = DRAWN.standard_normal((2, 2, 4, LENGTH)).astype(np.float32)
LOGITS[:, 0, 3:] = -np.inf  # more keys than queries, and some of them are hidden


def softmax(scores):
    powers = np.exp(scores.astype(np.float64) - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


WEIGHTS = softmax(LOGITS).astype(np.float32)


def causal_weights(query, key):
    scores = query @ key.swapaxes(-2, -1) / np.sqrt(query.shape[-1])
    return softmax(np.where(np.tri(query.shape[-2], dtype=bool), scores, -np.inf)).astype(np.float32)


@pytest.fixture(scope="module")
def config(reference):
    return GPT2Config(**reference.config)


@pytest.fixture(scope="module")
def attention(config, reference):
    """Step 07's module with Hugging Face's weights."""
    return build(GPT2MultiHeadAttention, config, weights=reference.weights)


@pytest.fixture(scope="module")
def slopes(attention, reference):
    """How fast the sum of grad times output grows with each number of the first sequence: moved up, and down."""
    moved, size = 2.0**-6, LENGTH * WIDTH
    up = reference["hidden_states"][:1] + moved * np.eye(size, dtype=np.float32).reshape(size, LENGTH, WIDTH)
    down = reference["hidden_states"][:1] - moved * np.eye(size, dtype=np.float32).reshape(size, LENGTH, WIDTH)
    output = array(run(attention, np.concatenate([up, down]))).astype(np.float64)
    losses = (output * reference["grad"][0]).sum(axis=(1, 2)).reshape(2, LENGTH, WIDTH)
    return ((losses[0] - losses[1]) / (2 * moved)).astype(np.float32)


def array(value):
    return np.from_dlpack(value).copy()


def twice(changed, *same):
    """Both of what is changed in one batch, and the rest two times over: one call instead of two."""
    return [np.concatenate(changed), *(np.concatenate([array, array]) for array in same)]


def called(function, *arrays):
    """What the learner's function returns for tensors, as one graph."""
    with lazily():
        return function(*map(tensor, arrays))


def attn_backward(subject, *inputs):
    """The gradients of query, key and value, by name."""
    result = called(subject.attn_backward, *inputs)
    require(
        isinstance(result, tuple | list) and len(result) == 3,
        f"attn_backward returns {in_words(result)}, and must return three tensors: "
        "the gradients of query, key and value.",
    )
    return dict(zip(("query", "key", "value"), result, strict=True))


def attention_backward(subject, attention, grad, hidden_states):
    """The gradient of the input, and those of the weights by name; they have the right shapes."""
    result = called(lambda *tensors: subject.attention_backward(attention, *tensors), grad, hidden_states)
    require(
        isinstance(result, tuple | list) and len(result) == 2,
        f"attention_backward returns {in_words(result)}, and must return two values: "
        "the gradient of hidden_states, and a dictionary of gradients.",
    )
    grad_input, gradients = result
    require(
        isinstance(grad_input, Tensor),
        f"attention_backward returns {in_words(grad_input)} first; it must be the gradient of hidden_states.",
    )
    require(
        isinstance(gradients, dict),
        f"attention_backward returns {in_words(gradients)} second; it must be a dictionary of gradients.",
    )
    require(
        {*gradients} == {*NAMES},
        f"The dictionary has {', '.join(map(str, gradients)) or 'nothing'}; it must have {', '.join(NAMES)}.",
    )
    require_shape("hidden_states", grad_input, hidden_states.shape)
    for name, shape in shapes_of(attention).items():
        gradient = gradients[name]
        require(isinstance(gradient, Tensor), f"The gradient of {name} is {in_words(gradient)}, and must be a tensor.")
        require_shape(name, gradient, shape)
    return grad_input, gradients


def require_shape(name, gradient, shape):
    """Refuse a gradient that has not the shape of what it is the gradient of."""
    sizes = [int(size) for size in gradient.shape]
    sentence = f"The gradient of {name} has the shape {sizes}, and must have the same shape as {name}, {list(shape)}."
    require(sizes == list(shape), sentence, array(gradient))


def in_words(result):
    if result is None:
        return "nothing (is there a `return`?)"
    if isinstance(result, tuple | list):
        return f"{len(result)} values"
    return article(type(result).__name__)


def in_proportion(expected):
    """The tolerance for gradients that may all be small: in proportion to the largest, below one as above it."""
    return TOLERANCE * min(1.0, float(np.abs(np.asarray(expected)).max()) + TOLERANCE)


@about("softmax_backward")
def test_softmax(subject, reference):
    """Given the gradient of the weights, it returns PyTorch's gradient of the scores."""
    given, right = (reference[f"attention_weights{end}"] for end in (".gradient", "")), reference["scores.gradient"]
    gradient = keeps_nothing(lambda *both: run(subject.softmax_backward, *both), *given, right=lambda *_: right)
    equal(gradient, right, SCORES, what="softmax_backward(grad, weights)", whose="PyTorch's")


@about("softmax_backward")
def test_slopes_of_the_softmax(subject):
    """Each number in it is a slope: finite differences of the softmax agree, even with more keys than queries."""
    moved, right = 1e-4, np.zeros(LOGITS.shape)
    for place in np.ndindex(*LOGITS.shape):
        up, down = LOGITS.astype(np.float64), LOGITS.astype(np.float64)
        up[place] += moved
        down[place] -= moved
        right[place] = ((softmax(up) - softmax(down)) * GRAD).sum() / (2 * moved)
    gradient = run(subject.softmax_backward, GRAD, WEIGHTS)
    equal(gradient, right.astype(np.float32), ROWS, what="softmax_backward(grad, weights)", whose="the slope")


@about("softmax_backward")
def test_a_constant_changes_nothing(subject):
    """Every row of it sums to zero, and adding a number to a whole row of grad changes nothing."""
    shift = np.array([[3, -20, 0, 100]], np.float32)[..., None]
    before, after = np.split(array(run(subject.softmax_backward, *twice((GRAD, GRAD + shift), WEIGHTS))), 2)
    equal(after, before, ROWS, what="softmax_backward(grad + c, weights)", whose=BEFORE)
    sums = after.sum(axis=-1)
    equal(sums, np.zeros_like(sums), ROWS[:-1], what="the sum of a row of it", whose="it must be")


@about("softmax_backward")
def test_hidden_scores(subject):
    """A weight of 0 lets nothing through, however large its gradient is."""
    large = np.where(WEIGHTS == 0, np.float32(1e4), GRAD)
    before, after = np.split(array(run(subject.softmax_backward, *twice((GRAD, large), WEIGHTS))), 2)
    equal(after, before, ROWS, what="softmax_backward with a large grad there", whose=BEFORE)
    hidden = np.where(WEIGHTS == 0, after, 0)
    equal(hidden, np.zeros_like(hidden), ROWS, what="the gradient of the hidden scores", whose="it must be")


@pytest.fixture(scope="module")
def recorded_heads(subject, reference):
    """What gives the gradients of the recorded heads; computed once for all claims."""
    return functools.cache(lambda: attn_backward(subject, *(reference[name] for name in OF_HEADS)))


@about("attn_backward")
def test_value(subject, reference):
    """The gradient of value matches PyTorch's: a value gets some from every query that attended to it."""
    right = [reference[f"{name}.gradient"] for name in ("query", "key", "value")]
    inputs = [reference[name] for name in OF_HEADS]
    *_, gradient = keeps_nothing(
        lambda *given: [*attn_backward(subject, *given).values()], *inputs, right=lambda *_: right
    )
    equal(gradient, reference["value.gradient"], what="the gradient of value", whose="PyTorch's")


@about("attn_backward")
def test_query(recorded_heads, reference):
    """The gradient of query matches PyTorch's: a query gets some from every key, through their score."""
    gradient = recorded_heads()["query"]
    equal(gradient, reference["query.gradient"], what="the gradient of query", whose="PyTorch's")


@about("attn_backward")
def test_key(recorded_heads, reference):
    """The gradient of key matches PyTorch's: a key gets some from every query, through their score."""
    gradient = recorded_heads()["key"]
    equal(gradient, reference["key.gradient"], what="the gradient of key", whose="PyTorch's")


@about("attn_backward")
def test_the_first_query(recorded_heads):
    """The first query gets no gradient: its only weight is always 1."""
    first = array(recorded_heads()["query"])[:, :, 0]
    axes = ("batch", "head", "channel")
    equal(first, np.zeros_like(first), axes, what="the gradient of the first query", whose="it must be")


@about("attn_backward")
def test_each_head_alone(subject, reference):
    """A gradient that arrives at one head stays there: the gradients of the other heads do not change."""
    inputs = [reference[name] for name in OF_HEADS]
    changed = [np.concatenate([part[:, :-1], -2 * part[:, -1:]], axis=1) for part in inputs]
    gradients = attn_backward(subject, *map(np.concatenate, zip(inputs, changed, strict=True)))
    for name, gradient in gradients.items():
        before, after = np.split(array(gradient)[:, :-1], 2)
        equal(after, before, what=f"the gradient of {name} in the other heads", whose=BEFORE)


@pytest.fixture(scope="module")
def recorded_attention(subject, attention, reference):
    """What gives the gradients of the recorded attention; computed once for all claims."""
    return functools.cache(
        lambda: attention_backward(subject, attention, reference["grad"], reference["hidden_states"])
    )


@about("attention_backward")
def test_names_and_shapes(recorded_attention):
    """It returns the gradient of hidden_states, and four by name, each with the shape of its parameter."""
    gradient, _ = recorded_attention()
    require(bool(np.isfinite(array(gradient)).all()), "The gradient of hidden_states is not finite.", array(gradient))


@about("attention_backward")
def test_input(subject, attention, reference):
    """The gradient of hidden_states matches PyTorch's."""
    grad, hidden_states, right = (reference[name] for name in ("grad", "hidden_states", "hidden_states.gradient"))
    gradient = keeps_nothing(
        lambda *given: attention_backward(subject, attention, *given)[0], grad, hidden_states, right=lambda *_: right
    )
    equal(gradient, right, TOKENS, what="the gradient of hidden_states", whose="PyTorch's")


@about("attention_backward")
def test_projections(recorded_attention, reference):
    """The gradients of all four parameters match PyTorch's: [out, in], summed over all tokens."""
    _, gradients = recorded_attention()
    for name in reversed(NAMES):
        of = f"the gradient of {name}"
        equal(gradients[name], reference[f"{name}.gradient"], AXES[name], what=of, whose="PyTorch's")


@about("attention_backward")
def test_the_bias_of_the_keys(recorded_attention):
    """The keys' part of c_attn.bias gets no gradient: it shifts all scores of a query, which softmax ignores."""
    _, gradients = recorded_attention()
    by_query, by_key, by_value = np.abs(array(gradients["c_attn.bias"])).reshape(3, WIDTH).max(axis=-1)
    largest = max(by_query, by_value)
    sentence = (
        f"The keys' part of it goes up to {by_key:.3g}, where that of the queries and values goes up to {largest:.3g}."
    )
    require(bool(by_key <= TOLERANCE * largest), sentence, array(gradients["c_attn.bias"]))


@about("attention_backward")
def test_finite_differences(subject, attention, reference, slopes):
    """Each number in it is a slope of step 07's own forward pass: finite differences agree."""
    grad, hidden_states = (reference[name][:1] for name in ("grad", "hidden_states"))
    gradient, _ = attention_backward(subject, attention, grad, hidden_states)
    coarse = 1e-3  # float32 has no digits left for less
    equal(gradient, slopes[None], TOKENS, what="the gradient of hidden_states", tolerance=coarse, whose="the slope")


@about("attention_backward")
def test_no_gradient_reaches_a_later_token(subject, attention, reference):
    """Changing grad at one token changes the gradients of that token and of earlier ones, but of no later one."""
    tokens = (0, 3)
    grads, hidden_states = (
        np.repeat(reference[name][:1], 1 + len(tokens), axis=0) for name in ("grad", "hidden_states")
    )
    for row, token in enumerate(tokens, start=1):
        grads[row, token] += 1
    before, *others = array(attention_backward(subject, attention, grads, hidden_states)[0])
    for token, after in zip(tokens, others, strict=True):
        later = np.where(np.arange(LENGTH)[:, None] > token, after, before)
        of = f"the gradient of tokens after token {token}, where grad has changed,"
        equal(later, before, TOKENS[1:], what=of, whose=BEFORE, tolerance=1e-7)
        missed = np.flatnonzero(np.abs(after - before)[: token + 1].max(axis=-1) < 1e-3)
        sentence = f"Another grad at token {token} does not change the gradient of token {missed[:1].sum()}."
        require(not len(missed), sentence, after)


@about("attention_backward")
def test_each_head_moves_its_own_rows(subject, config, reference):
    """A gradient in the last head's channels changes only the rows of c_attn that make its query, key and value."""
    weights = reference.weights | {"c_proj.weight": np.eye(WIDTH, dtype=np.float32)}
    grad = np.where(np.arange(WIDTH) < WIDTH - HEAD_DIM, 0, reference["grad"]).astype(np.float32)
    attention = build(GPT2MultiHeadAttention, config, weights=weights)
    _, gradients = attention_backward(subject, attention, grad, reference["hidden_states"])
    rows = array(gradients["c_attn.weight"]).reshape(3, HEADS, HEAD_DIM, WIDTH)
    axes, others = ("part", "head", "row", "column"), rows[:, :-1]
    equal(others, np.zeros_like(others), axes, what="the gradient of the other heads' rows", whose="it must be")
    require(bool((np.abs(rows[:, -1]).max(axis=(1, 2)) > 1e-3).all()), "The last head's rows get no gradient.", rows)


@about("attention_backward")
def test_linear_in_grad(subject, attention, reference):
    """Tripling grad triples the gradients."""
    grads, hidden_states = twice((reference["grad"], 3 * reference["grad"]), reference["hidden_states"])
    once, thrice = np.split(array(attention_backward(subject, attention, grads, hidden_states)[0]), 2)
    equal(thrice, 3 * once, TOKENS, what="the gradient of hidden_states for 3 * grad", whose="three times the other is")


@about("attention_backward")
def test_any_batch_and_length(subject, attention, reference):
    """Other batch sizes and lengths work, and so does a single token."""
    for case in ("long_", "single_"):
        grad, hidden_states = reference[f"{case}grad"], reference[f"{case}hidden_states"]
        gradient, gradients = attention_backward(subject, attention, grad, hidden_states)
        of = f"the gradient of hidden_states {list(grad.shape)}"
        equal(gradient, reference[f"{case}hidden_states.gradient"], TOKENS, what=of, whose="PyTorch's")
        for name in NAMES:
            of = f"the gradient of {name} for {list(grad.shape)}"
            equal(gradients[name], reference[f"{case}{name}.gradient"], AXES[name], what=of, whose="PyTorch's")


@about("attention_backward")
def test_gpt2_small_size(subject, reference):
    """It works at GPT-2 small's size, 12 heads of width 64."""
    shapes = {"c_attn.weight": (2304, 768), "c_attn.bias": (2304,), "c_proj.weight": (768, 768), "c_proj.bias": (768,)}
    attention = build(GPT2MultiHeadAttention, GPT2Config(), weights=seeded_weights(shapes))
    grad, hidden_states = reference["small_grad"], reference["small_hidden_states"]
    gradient, gradients = attention_backward(subject, attention, grad, hidden_states)
    of = "the gradient of hidden_states, 768 wide"
    equal(gradient, reference["small_hidden_states.gradient"], TOKENS, what=of, whose="PyTorch's")
    for name in ("c_proj.bias", "c_attn.bias"):
        of = f"the gradient of {name}, 768 wide"
        equal(gradients[name], reference[f"small_{name}.gradient"], BIAS, what=of, whose="PyTorch's")


@pytest.mark.drawn
@about("attn_backward")
def test_other_heads(subject, solution, draw):
    """Random sizes, queries, keys and values work, too."""
    shape = [draw.whole(name, low, high) for name, low, high in (("batch", 1, 3), ("head", 1, 4), ("seq", 2, 9))]
    shape.append(draw.whole("head_dim", 2, 8))
    grad, query, key, value = (draw.array(*shape) for _ in range(4))
    weights = causal_weights(query, key)
    gradients, right = (attn_backward(module, grad, query, key, value, weights) for module in (subject, solution))
    for name, expected in right.items():
        close = in_proportion(array(expected))
        equal(gradients[name], expected, what=f"the gradient of {name}", tolerance=close, whose="the solution's")


@pytest.mark.drawn
@about("attention_backward")
def test_other_numbers(subject, solution, draw):
    """A random configuration, weights and input work, too."""
    config = GPT2Config(**draw.settings())
    weights = draw.weights(shapes_of(build(GPT2MultiHeadAttention, config, weights={})))
    attention = build(GPT2MultiHeadAttention, config, weights=weights)
    shape = draw.whole("batch", 1, 4), draw.whole("seq", 2, 9), config.n_embd
    inputs = draw.array(*shape), draw.array(*shape)
    (gradient, gradients), (right, others) = (
        attention_backward(module, attention, *inputs) for module in (subject, solution)
    )
    of, close = "the gradient of hidden_states", in_proportion(array(right))
    equal(gradient, right, TOKENS, what=of, tolerance=close, whose="the solution's")
    for name in NAMES:
        of, close = f"the gradient of {name}", in_proportion(array(others[name]))
        equal(gradients[name], others[name], AXES[name], what=of, tolerance=close, whose="the solution's")


class Backward(Module):
    """Attention, and the way back through it, as one graph."""

    def __init__(self, subject, attention):
        self.subject, self.attention = subject, attention

    def forward(self, grad, hidden_states):
        grad_input, gradients = self.subject.attention_backward(self.attention, grad, hidden_states)
        return grad_input, *(gradients[name] for name in NAMES)


@pytest.mark.compiled
@about("compiled")
def test_compiled(subject, config, reference, device):
    """One graph with symbolic batch and length returns the same gradients."""
    attention = build(GPT2MultiHeadAttention, config, weights=reference.weights)
    graph = compiled(Backward(subject, attention), *[["batch", "seq", WIDTH]] * 2, device=device)
    for case in ("", "long_", "single_"):
        gradient, *gradients = graph(reference[f"{case}grad"], reference[f"{case}hidden_states"])
        of = f"the compiled gradient of hidden_states on {device}"
        equal(gradient, reference[f"{case}hidden_states.gradient"], TOKENS, what=of, whose="PyTorch's")
        for name, weights_gradient in zip(NAMES, gradients, strict=True):
            of = f"the compiled gradient of {name} on {device}"
            equal(weights_gradient, reference[f"{case}{name}.gradient"], AXES[name], what=of, whose="PyTorch's")
