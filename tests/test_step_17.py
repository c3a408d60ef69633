"""Step 17, the parts backward: what is claimed.

PyTorch's autograd was recorded for each part. Besides, each part of the course is asked directly, by finite
differences: MAX's Linear and GELU, the layer norm of step 03, and looking up rows of a table.
"""

import functools

import numpy as np
import pytest
from max.dtype import DType
from max.experimental import functional as F
from max.experimental.nn import Linear, Module
from max.experimental.tensor import Tensor

from checker.claims import about, equal, for_each, keeps_nothing, require
from checker.claims.modules import build, compiled, run, unwanted
from checker.claims.vocabulary import article
from checker.max_adapter.runtime import lazily, tensor
from checker.numeric.tolerance import TOLERANCE
from solutions.solution_03 import LayerNorm

OF_THREE = ("x", "weight", "bias")
ROWS, ENTRY, TABLE = ("batch", "token", "channel"), ("out", "in"), ("row", "channel")
PYTORCHS, SLOPES, SOLUTIONS = "PyTorch's", "the finite difference", "the solution's"
CHANGE, THREE_DIGITS = 1 / 128, 1e-3  # of a finite difference in float32: how far it moves, how exact it is
DRAWN = np.random.RandomState(17)


def some(*shape):
    """Return numbers of this file's own."""
    return DRAWN.standard_normal(shape).astype(np.float32)


TO_SUM = [some(*shape) for shape in ((2, 7, 5), (3, 1, 5), (7, 4), (1, 4), (2, 3, 4, 6))]
GRAD, X, WEIGHT, BIAS = some(2, 5, 3), some(2, 5, 4), some(3, 4), some(3)
NORM_GRAD, NORM_X, GAIN, OFFSET = some(2, 3, 6), some(2, 3, 6), some(6), some(6)
IDS = np.array([[3, 0, 3], [4, 3, 0]])  # token 3 three times, token 0 twice, token 4 once; 1, 2 and 5 never
IDS_GRAD, SOME_TABLE = some(2, 3, 4), some(6, 4)
OTHER_GRAD, OTHER_NORM_GRAD, OTHER_IDS_GRAD = some(*GRAD.shape), some(*NORM_GRAD.shape), some(*IDS_GRAD.shape)


def slopes(part, grad, given, at):
    """Return how fast the sum of grad * part(*given) grows with each number of given[at]: finite differences.

    All that is tried goes through MAX as one graph; what comes first may have one more axis in front.
    """
    array, others = given[at], [value for place, value in enumerate(given) if place != at]
    moves = CHANGE * np.eye(array.size, dtype=np.float32).reshape(-1, *array.shape)
    tried = np.concatenate([array + moves, array - moves])

    def results(tried, *others):
        if at == 0:
            return part(tried, *others)
        return F.stack([part(*others[:at], tried[place], *others[at:]) for place in range(2 * array.size)])

    up, down = np.split(np.from_dlpack(run(results, tried, *others)).astype(np.float64), 2)
    slope = ((up - down) * grad).reshape(array.size, -1).sum(axis=-1) / (2 * CHANGE)
    return slope.reshape(array.shape).astype(np.float32)


def agree(gradients, part, grad, given):
    """Refuse unless gradients, by name, are what finite differences of a part say."""
    for at, (name, gradient) in enumerate(gradients.items()):
        right = slopes(part, grad, given, at)
        equal(gradient, right, what=f"The gradient of {name}", tolerance=THREE_DIGITS, whose=SLOPES)


def as_large(gradient):
    """Return the numbers of a gradient of NORM_X; refuse if it has another shape."""
    array = np.from_dlpack(gradient)
    sentence = (
        f"The gradient of x has the shape {list(array.shape)}, and must have the same shape as x, {list(NORM_X.shape)}."
    )
    require(array.shape == NORM_X.shape, sentence, array)
    return array


def add_up(name, both, one, other):
    """Refuse unless the gradient for 2 * grad + other is twice the one and the other."""
    right = 2 * np.from_dlpack(one) + np.from_dlpack(other)
    equal(both, right, what=f"The gradient of {name} for 2 grad + other", whose="twice the one plus the other")


def gradients_of(function, *arguments):
    """Return the gradients of x, weight and bias that a function of the learner's returns, by name."""
    with lazily():
        results = function(*(value if isinstance(value, float) else tensor(value) for value in arguments))
    several = isinstance(results, tuple | list)
    if not several or len(results) != 3:
        wanted = "3 tensors, for x, weight and bias"
        raise unwanted(function, results, wanted, f"{len(results)} values" if several else "")
    named = dict(zip(OF_THREE, results, strict=True))
    for name, result in named.items():
        if not isinstance(result, Tensor):
            raise unwanted(function, result, "a Tensor", f"{article(type(result).__name__)} for {name}")
    _, x, weight, *_ = arguments
    shapes, wanted = [tuple(map(int, result.shape)) for result in results], [x.shape, weight.shape, weight.shape[:1]]
    sentence = (
        f"The shapes of the gradients are {', '.join(map(str, map(list, shapes)))}: the order is x, weight, bias."
    )
    require(shapes == wanted or sorted(shapes) != sorted(wanted), sentence)
    return named


@about("sum_over_rows")
def test_sum(subject):
    """It adds up each channel over all tokens of all sequences: the shape is [channels]."""

    def right(x):
        wanted = x.reshape(-1, x.shape[-1]).sum(axis=0)
        equal(run(subject.sum_over_rows, x), wanted, what=f"sum_over_rows of {list(x.shape)}", whose="the sum")

    first, *others = TO_SUM
    for_each((first, 3 * first, first, *others), right)  # the same shape again: nothing is kept of another call


def linear(subject, grad, x, weight):
    return gradients_of(subject.linear_backward, grad, x, weight)


@pytest.fixture(scope="module")
def recorded_linear(subject, reference):
    """What gives the gradients of the recorded linear layer; computed once for all claims."""
    given = [reference[f"linear/{name}"] for name in ("grad", "x", "weight")]
    return functools.cache(lambda: linear(subject, *given))


@about("linear_backward")
def test_linear_input(subject, reference):
    """The gradient of x matches PyTorch's: each token's grad times the weight."""
    grad, x, weight, right = (reference[f"linear/{name}"] for name in ("grad", "x", "weight", "x_gradient"))
    gradient = keeps_nothing(lambda grad, x: linear(subject, grad, x, weight)["x"], grad, x, right=lambda *_: right)
    equal(gradient, right, ROWS, what="The gradient of x", whose=PYTORCHS)


@about("linear_backward")
def test_linear_weight(recorded_linear, reference):
    """The gradient of weight matches PyTorch's: a sum over all tokens, in the weight's layout, [out, in]."""
    right = reference["linear/weight_gradient"]
    equal(recorded_linear()["weight"], right, ENTRY, what="The gradient of weight", whose=PYTORCHS)


@about("linear_backward")
def test_linear_bias(recorded_linear, reference):
    """The gradient of bias matches PyTorch's: grad, added up over batch and sequence."""
    right = reference["linear/bias_gradient"]
    equal(recorded_linear()["bias"], right, what="The gradient of bias", whose=PYTORCHS)


@pytest.fixture(scope="module")
def some_linear(subject):
    """What gives the gradients of the linear layer of this file; computed once for all claims."""
    return functools.cache(lambda: linear(subject, GRAD, X, WEIGHT))


@about("linear_backward")
def test_linear_slopes(some_linear):
    """They say how fast the loss grows with each number: finite differences of MAX's Linear agree."""

    layer = build(Linear, 4, 3)

    def part(x, weight, bias):
        layer.weight, layer.bias = weight, bias
        return layer(x)

    agree(some_linear(), part, GRAD, (X, WEIGHT, BIAS))


@about("linear_backward")
def test_linear_rows(subject):
    """A matrix of tokens, [tokens, in], gives the same gradients as a batch of sequences."""
    grad, x = GRAD.reshape(-1, 3), X.reshape(-1, 4)
    gradients = linear(subject, grad, x, WEIGHT)
    for name, right in zip(OF_THREE, (grad @ WEIGHT, grad.T @ x, grad.sum(axis=0)), strict=True):
        equal(gradients[name], right, what=f"The gradient of {name} for a matrix", whose="that of a batch")


@about("linear_backward")
def test_linear_adds_up(subject, some_linear):
    """Doubling grad doubles the gradients, and adding two grads adds their gradients."""
    one, (both, rest) = (
        some_linear(),
        (linear(subject, grad, X, WEIGHT) for grad in (2 * GRAD + OTHER_GRAD, OTHER_GRAD)),
    )
    for name in OF_THREE:
        add_up(name, both[name], one[name], rest[name])


@about("gelu_backward")
def test_gelu(subject, reference):
    """The gradient matches PyTorch's for the tanh GELU."""
    grad, x, right = (reference[f"gelu/{name}"] for name in ("grad", "x", "x_gradient"))
    result = keeps_nothing(lambda *given: run(subject.gelu_backward, *given), grad, x, right=lambda *_: right)
    equal(result, right, ROWS, what="gelu_backward(grad, x)", whose=PYTORCHS)


@about("gelu_backward")
def test_gelu_at_its_ends(subject):
    """The slope is 1/2 at 0, 1 far to the right, and 0 far to the left, even where x cubed is huge."""
    x = np.array([0, 9, -9, 1e4, -1e4], np.float32)
    right = np.array([0.5, 1, 0, 1, 0], np.float32)
    result = run(subject.gelu_backward, np.ones_like(x), x)
    equal(result, right, what="The slope at 0, 9, -9, 10000 and -10000", whose="it must be")


@pytest.fixture(scope="module")
def some_gelu(subject):
    """What gives the gradient of the GELU of this file; computed once for all claims."""
    return functools.cache(lambda: run(subject.gelu_backward, NORM_GRAD, NORM_X))


@about("gelu_backward")
def test_gelu_slopes(some_gelu):
    """It says how fast the loss grows with each number: finite differences of MAX's GELU agree."""
    agree({"x": some_gelu()}, lambda x: F.gelu(x, approximate="tanh"), NORM_GRAD, (NORM_X,))


@about("gelu_backward")
def test_gelu_any_axes(subject, some_gelu):
    """Any shape works: each number is treated on its own."""
    whole = as_large(some_gelu())
    for shape in ((6, 6), (36,)):
        result = run(subject.gelu_backward, NORM_GRAD.reshape(shape), NORM_X.reshape(shape))
        equal(result, whole.reshape(shape), what=f"gelu_backward of {list(shape)}", whose="the right number")


@about("gelu_backward")
def test_gelu_adds_up(subject, some_gelu):
    """Doubling grad doubles the gradient, and adding two grads adds their gradients."""
    given = (2 * NORM_GRAD + OTHER_NORM_GRAD, OTHER_NORM_GRAD)
    both, rest = (run(subject.gelu_backward, grad, NORM_X) for grad in given)
    add_up("x", both, some_gelu(), rest)


def norm(subject, grad, x, weight, eps=1e-5):
    return gradients_of(subject.layer_norm_backward, grad, x, weight, eps)


@pytest.fixture(scope="module")
def recorded_norm(subject, reference):
    """What gives the gradients of the recorded norm; computed once for all claims."""
    given = [reference[f"norm/{name}"] for name in ("grad", "x", "weight")]
    return functools.cache(lambda: norm(subject, *given, reference.config["layer_norm_epsilon"]))


@pytest.fixture(scope="module")
def some_norm(subject):
    """What gives the gradients of the norm of this file; computed once for all claims."""
    return functools.cache(lambda: norm(subject, NORM_GRAD, NORM_X, GAIN))


@about("layer_norm_backward")
def test_norm_input(subject, reference):
    """The gradient of x matches PyTorch's, even for a token that hardly varies, where eps decides."""
    grad, x, weight, right = (reference[f"norm/{name}"] for name in ("grad", "x", "weight", "x_gradient"))
    eps = reference.config["layer_norm_epsilon"]
    gradient = keeps_nothing(lambda grad, x: norm(subject, grad, x, weight, eps)["x"], grad, x, right=lambda *_: right)
    equal(gradient, right, ROWS, what="The gradient of x", whose=PYTORCHS)


@about("layer_norm_backward")
def test_norm_weight(recorded_norm, reference):
    """The gradient of weight matches PyTorch's: grad times the normalized tokens, added up over all of them."""
    right = reference["norm/weight_gradient"]
    equal(recorded_norm()["weight"], right, what="The gradient of weight", whose=PYTORCHS)


@about("layer_norm_backward")
def test_norm_bias(recorded_norm, reference):
    """The gradient of bias matches PyTorch's: grad, added up over batch and sequence."""
    right = reference["norm/bias_gradient"]
    equal(recorded_norm()["bias"], right, what="The gradient of bias", whose=PYTORCHS)


@about("layer_norm_backward")
def test_norm_slopes(subject):
    """They say how fast the loss grows with each number: finite differences of step 03's LayerNorm agree."""

    layer = build(lambda: LayerNorm(6, eps=0.1))

    def part(x, weight, bias):
        layer.weight, layer.bias = weight, bias
        return layer(x)

    gradients = norm(subject, NORM_GRAD, NORM_X, GAIN, 0.1)
    agree(gradients, part, NORM_GRAD, (NORM_X, GAIN, OFFSET))


@about("layer_norm_backward")
def test_norm_without_ones(some_norm):
    """Each token's gradient of x adds up to 0: adding a number to all its channels doesn't change the output."""
    gradient = as_large(some_norm()["x"])
    sums = gradient.sum(axis=-1)
    largest = float(np.abs(sums).max())
    require(largest < TOLERANCE, f"Over one token the gradient of x adds up to {largest:.3g}.", gradient)


@about("layer_norm_backward")
def test_norm_without_its_row(subject):
    """Its dot product with the token is 0, if eps is tiny: scaling a token doesn't change the output."""
    gradient = as_large(norm(subject, NORM_GRAD, NORM_X, GAIN, 1e-12)["x"])
    products = (gradient * NORM_X).sum(axis=-1)
    largest = float(np.abs(products).max())
    require(largest < TOLERANCE, f"Multiplied by one token, the gradient of x adds up to {largest:.3g}.", gradient)


@about("layer_norm_backward")
def test_norm_of_equal_channels(subject):
    """For a token whose channels are all equal, the gradient is finite: it is divided by the root of eps."""
    x, eps = np.full((1, 1, 6), 0.75, np.float32), 0.04
    weighted = NORM_GRAD[:1, :1] * GAIN
    right = (weighted - weighted.mean()) / np.float32(0.2)
    result = norm(subject, NORM_GRAD[:1, :1], x, GAIN, eps)["x"]
    equal(result, right, ROWS, what="The gradient of x", whose="it must be")


@about("layer_norm_backward")
def test_norm_far_from_zero(subject):
    """Hidden states around 1000, as in some of GPT-2's channels, get the same gradients as around 0."""
    x = np.round(NORM_X * 1024) / 1024  # so that adding 1000 loses no digit
    near, far = (norm(subject, NORM_GRAD, x + np.float32(offset), GAIN) for offset in (0, 1000))
    for name in OF_THREE:
        # Of 1,000 draws, right answers are off by at most 2.2e-4, and a variance in one pass by at least 4.9e-3.
        equal(far[name], near[name], what=f"The gradient of {name}", tolerance=1e-3, whose="that around 0")


@about("layer_norm_backward")
def test_norm_rows(subject, some_norm):
    """A matrix of tokens, [tokens, dim], gives the same gradients as a batch of sequences."""
    batch, flat = some_norm(), norm(subject, NORM_GRAD.reshape(6, 6), NORM_X.reshape(6, 6), GAIN)
    for name in OF_THREE:
        right = as_large(batch[name]).reshape(6, 6) if name == "x" else batch[name]
        equal(flat[name], right, what=f"The gradient of {name} for a matrix", whose="that of a batch")


@about("layer_norm_backward")
def test_norm_adds_up(subject, some_norm):
    """Doubling grad doubles the gradients, and adding two grads adds their gradients."""
    given = (2 * NORM_GRAD + OTHER_NORM_GRAD, OTHER_NORM_GRAD)
    one, (both, rest) = some_norm(), (norm(subject, grad, NORM_X, GAIN) for grad in given)
    for name in OF_THREE:
        add_up(name, both[name], one[name], rest[name])


@about("embedding_backward")
def test_embedding(subject, reference):
    """The gradient of the table matches PyTorch's, a row for each token of the vocabulary."""
    vocab_size = reference.config["vocab_size"]
    result = run(subject.embedding_backward, reference["embedding/grad"], reference["embedding/input_ids"], vocab_size)
    right = reference["embedding/table_gradient"]
    equal(result, right, TABLE, what="embedding_backward(…)", whose=PYTORCHS)


@about("embedding_backward")
def test_twice(subject):
    """A token that occurs twice, in one sequence or in two, gets the sum of both gradients in its row."""

    def right(ids):
        wanted = np.zeros((6, 4), np.float32)
        np.add.at(wanted, ids, IDS_GRAD)
        result = run(subject.embedding_backward, IDS_GRAD, ids, 6)
        equal(result, wanted, TABLE, what="embedding_backward(…)", whose="the sum")

    for_each((IDS, 5 - IDS, IDS), right)  # the same shape again: nothing is kept of another call


@about("embedding_backward")
def test_never(subject):
    """The table has num_embeddings rows, and the row of a token that does not occur is exactly 0."""
    for vocab_size in (6, 5, 40):
        table = np.from_dlpack(run(subject.embedding_backward, IDS_GRAD, IDS, vocab_size))
        shape = [vocab_size, 4]
        require(list(table.shape) == shape, f"The gradient is {list(table.shape)}, and must be {shape}.", table)
        never = np.setdiff1d(np.arange(vocab_size), IDS)
        wrong = int((table[never] != 0).any(axis=-1).sum())
        require(not wrong, f"{wrong} of {len(never)} rows that nobody looked up are not 0.", table)


@about("embedding_backward")
def test_last_id(subject):
    """GPT-2's last token, 50256, gets the last of 50,257 rows: no id is too large for the ids' type."""
    table = np.from_dlpack(run(subject.embedding_backward, IDS_GRAD[:1, :1], np.array([[50256]]), 50257))
    require(table.shape == (50257, 4), f"The gradient is {list(table.shape)}, and must be [50257, 4].")
    equal(table[-1], IDS_GRAD[0, 0], what="the row of token 50256", whose="its gradient")


@pytest.fixture(scope="module")
def some_table(subject):
    """What gives the gradient of the table of this file; computed once for all claims."""
    return functools.cache(lambda: run(subject.embedding_backward, IDS_GRAD, IDS, 6))


@about("embedding_backward")
def test_embedding_slopes(some_table):
    """It says how fast the loss grows with each number of the table: finite differences of a lookup agree."""

    def part(table):
        return F.gather(table, Tensor.from_dlpack(IDS.copy()), axis=-2)

    agree({"the table": some_table()}, part, IDS_GRAD, (SOME_TABLE,))


@about("embedding_backward")
def test_embedding_adds_up(subject, some_table):
    """Doubling grad doubles the gradient, and adding two grads adds their gradients."""
    both, rest = (
        run(subject.embedding_backward, grad, IDS, 6) for grad in (2 * IDS_GRAD + OTHER_IDS_GRAD, OTHER_IDS_GRAD)
    )
    add_up("the table", both, some_table(), rest)


@pytest.mark.drawn
@about("linear_backward")
def test_other_linear(subject, solution, draw):
    """Random sizes and numbers work, too."""
    batch, seq, wide, narrow = (draw.whole(name, 1, 9) for name in ("batch", "seq", "in", "out"))
    given = draw.array(batch, seq, narrow), draw.array(batch, seq, wide), draw.array(narrow, wide)
    result, right = (linear(module, *given) for module in (subject, solution))
    for name in OF_THREE:
        equal(result[name], right[name], what=f"The gradient of {name}", whose=SOLUTIONS)


@pytest.mark.drawn
@about("gelu_backward")
def test_other_gelu(subject, solution, draw):
    """Random numbers work, too."""
    shape = [draw.whole(name, 1, 9) for name in ("batch", "seq", "inner")]
    given = draw.array(*shape), 2 * draw.array(*shape)
    result, right = (run(module.gelu_backward, *given) for module in (subject, solution))
    equal(result, right, ROWS, what="gelu_backward(grad, x)", whose=SOLUTIONS)


@pytest.mark.drawn
@about("layer_norm_backward")
def test_other_norms(subject, solution, draw):
    """A random width, epsilon and numbers work, too."""
    batch, seq, dim = draw.whole("batch", 1, 4), draw.whole("seq", 1, 9), draw.whole("dim", 3, 30)
    given = draw.array(batch, seq, dim), draw.array(batch, seq, dim), draw.array(dim), draw.number("eps", 1e-5, 1e-1)
    result, right = (norm(module, *given) for module in (subject, solution))
    for name in OF_THREE:
        equal(result[name], right[name], what=f"The gradient of {name}", whose=SOLUTIONS)


@pytest.mark.drawn
@about("embedding_backward")
def test_other_tables(subject, solution, draw):
    """Random token ids, vocabulary and numbers work, too."""
    batch, seq, dim, vocab_size = (draw.whole(name, 1, 12) for name in ("batch", "seq", "embd", "vocab_size"))
    given = draw.array(batch, seq, dim), draw.ids(vocab_size, batch, seq), vocab_size
    result, right = (run(module.embedding_backward, *given) for module in (subject, solution))
    equal(result, right, TABLE, what="embedding_backward(…)", whose=SOLUTIONS)


class PartsBackward(Module):
    """The parts as one graph, as step 19 uses them."""

    def __init__(self, subject, vocab_size, eps):
        self.subject, self.vocab_size, self.eps = subject, vocab_size, eps

    def forward(self, linear_grad, x, weight, gelu_grad, wide, norm_grad, hidden, gain, table_grad, input_ids):
        return (
            *self.subject.linear_backward(linear_grad, x, weight),
            self.subject.gelu_backward(gelu_grad, wide),
            *self.subject.layer_norm_backward(norm_grad, hidden, gain, self.eps),
            self.subject.embedding_backward(table_grad, input_ids, self.vocab_size),
        )


@pytest.mark.compiled
@about("compiled")
def test_compiled(subject, reference, device):
    """One graph with symbolic batch and length returns the same gradients."""
    tokens = ("batch", "seq")
    shapes = {
        "linear/grad": (*tokens, 22),
        "linear/x": (*tokens, 15),
        "linear/weight": (22, 15),
        "gelu/grad": (*tokens, 22),
        "gelu/x": (*tokens, 22),
        "norm/grad": (*tokens, 15),
        "norm/x": (*tokens, 15),
        "norm/weight": (15,),
        "embedding/grad": (*tokens, 15),
        "embedding/input_ids": tokens,
    }
    dtypes = [DType.int64 if name.endswith("ids") else DType.float32 for name in shapes]
    parts = PartsBackward(subject, reference.config["vocab_size"], reference.config["layer_norm_epsilon"])
    graph = compiled(parts, *shapes.values(), device=device, dtype=dtypes)
    names = [f"linear/{name}" for name in OF_THREE] + ["gelu/x"] + [f"norm/{name}" for name in OF_THREE]
    results = graph(*(reference[name] for name in shapes))
    for name, result in zip([*names, "embedding/table"], results, strict=True):
        part, of = name.split("/")
        what = f"The compiled gradient of {of} ({part}) on {device}"
        equal(result, reference[f"{name}_gradient"], what=what, whose=PYTORCHS)
