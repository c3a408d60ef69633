"""Warm-up 08, attention backward: what is claimed. No MAX is needed.

Three witnesses who share no line of code agree on every gradient: loops over the derivative of every number by every
other, slopes of the forward pass, and PyTorch's autograd, which is recorded.
"""

from functools import cache

import numpy as np
import pytest

from checker.claims import about, keeps_nothing, require
from tests.references import gradients, naive
from tests.references.naive import BATCH, HEAD_DIM, HEADS, LENGTH, WEIGHTS, drawn, equal, equal_to_four_decimals

ROWS, CLASSES = 5, 11
VALUE_DIM = 4  # narrower than the keys, so that one is not taken for the other
NAMES = ("query", "key", "value")
CLASS_AXES = ("batch", "token", "class")
CALL = "causal_attention_backward(...)"

# Three logits, the label 0, and p - y.
WORKED_LOGITS, WORKED = (2.0, 1.0, 0.0), (-0.3348, 0.2447, 0.0900)


# ---------------------------------------------------------------- finite_difference


def writable(*shape):
    """Return numbers that may be changed: moving x itself is right if x is put back to the last bit."""
    return np.array(drawn("x", *shape))


@about("finite_difference")
def test_squares(subject):
    """For the sum of squares, the gradient is twice the array."""
    x = drawn("x", 3, 4)
    gradient = subject.finite_difference(lambda some: float((some**2).sum()), writable(*x.shape))
    equal(gradient, 2 * x, ("row", "column"), what="finite_difference(sum of squares, x)")
    keeps_nothing(
        lambda x: subject.finite_difference(lambda some: float((some**2).sum()), np.array(x)), x, right=lambda x: 2 * x
    )


@about("finite_difference")
def test_every_number_by_itself(subject):
    """Every number has a slope of its own."""
    x, factors = drawn("x", 3, 4), drawn("factors", 3, 4)
    expected = factors * np.cos(x)
    expected[0, 1] += x[2, 3]
    expected[2, 3] += x[0, 1]

    def f(some):
        return float((factors * np.sin(some)).sum() + some[0, 1] * some[2, 3])

    gradient = subject.finite_difference(f, writable(3, 4))
    equal(gradient, expected, ("row", "column"), what="finite_difference(f, x)")


@about("finite_difference")
def test_to_both_sides(subject):
    """It moves each number up by h and down by h: for cubes, that gives 3 x² + h²."""
    x = drawn("x", 5)
    for h in (0.5, 0.1):
        gradient = subject.finite_difference(lambda some: float((some**3).sum()), writable(5), h)
        equal(gradient, 3 * x**2 + h**2, what=f"finite_difference(sum of cubes, x, {h})")
    gradient = subject.finite_difference(lambda some: float((some**3).sum()), writable(5))
    equal(gradient, 3 * x**2, what="finite_difference(sum of cubes, x), with the small h that is given,")


@about("finite_difference")
def test_any_shape(subject):
    """The gradient has the shape of x, whatever that is; x may be transposed, too."""
    for x in (writable(2, 1, 3), writable(6), writable(), writable(4, 3).T):
        right, order = 2 * x, "" if x.flags.c_contiguous else "transposed "
        gradient = subject.finite_difference(lambda some: float((some**2).sum()), x)
        equal(gradient, right, what=f"finite_difference(f, x) of a {order}x of the shape {list(x.shape)}")


@about("finite_difference")
def test_x_is_left_alone(subject):
    """The x passed in is left unchanged."""
    x = writable(3, 4)
    subject.finite_difference(lambda some: float((some**2).sum()), x)
    require(
        bool(np.array_equal(x, drawn("x", 3, 4))),
        "x is not what it was before finite_difference(f, x), to the last bit: x + h - h is rounded.",
    )


# ---------------------------------------------------------------- softmax_cross_entropy_backward


def logits_and_labels(*rows):
    """Return logits, and labels of every kind: the first class, the last, one twice."""
    logits, labels = 2 * drawn("logits", *rows, CLASSES), np.resize([0, CLASSES - 1, 3, 7, 3, 9, 1], rows)
    for part in (logits, labels):
        part.setflags(write=False)
    return logits, labels


@about("softmax_cross_entropy_backward")
def test_worked_logits(subject):
    """Logits 2, 1, 0 with the label 0 give -0.3348, 0.2447 and 0.0900."""
    gradient = subject.softmax_cross_entropy_backward(np.array([WORKED_LOGITS]), np.array([0]))
    equal_to_four_decimals(gradient, np.array([WORKED]), ("row", "class"), what="the gradient of one row")


@about("softmax_cross_entropy_backward")
def test_p_minus_y(subject):
    """Every row is p - y, divided by the number of rows."""
    logits, labels = logits_and_labels(ROWS)
    expected = gradients.cross_entropy_backward(logits, labels)
    gradient = subject.softmax_cross_entropy_backward(logits, labels)
    equal(gradient, expected, ("row", "class"), what="softmax_cross_entropy_backward(logits, labels)")
    logits, labels = drawn("logits", 2, 130), np.array([129, 128])
    gradient, expected = (
        subject.softmax_cross_entropy_backward(logits, labels),
        gradients.cross_entropy_backward(logits, labels),
    )
    equal(gradient, expected, ("row", "class"), what="softmax_cross_entropy_backward of 130 classes")


@about("softmax_cross_entropy_backward")
def test_batch_and_seq(subject):
    """With [batch, seq] in front, every token of every sequence is a row."""
    logits, labels = logits_and_labels(BATCH, LENGTH)
    expected = gradients.cross_entropy_backward(logits, labels)
    gradient = subject.softmax_cross_entropy_backward(logits, labels)
    equal(gradient, expected, CLASS_AXES, what="softmax_cross_entropy_backward of [batch, seq, classes]")
    keeps_nothing(subject.softmax_cross_entropy_backward, logits, labels, right=gradients.cross_entropy_backward)


@about("softmax_cross_entropy_backward")
def test_slopes_of_the_loss(subject):
    """It matches the slopes of the mean loss, by finite differences."""
    logits, labels = logits_and_labels(ROWS)
    expected = gradients.slopes(lambda other: gradients.cross_entropy(other, labels), logits)
    gradient = subject.softmax_cross_entropy_backward(logits, labels)
    equal(
        gradient, expected, ("row", "class"), what="softmax_cross_entropy_backward(logits, labels)", whose="the slope"
    )


@about("softmax_cross_entropy_backward")
def test_loss_of_pytorch(subject, reference):
    """It matches PyTorch's autograd."""
    gradient = subject.softmax_cross_entropy_backward(reference["logits"], reference["labels"])
    equal(gradient, reference["grad_logits"], CLASS_AXES, what="the gradient of the logits", whose="PyTorch's")


@about("softmax_cross_entropy_backward")
def test_loss_rows_sum_to_zero(subject):
    """Every row sums to zero: what the label gains, the others lose."""
    sums = np.asarray(subject.softmax_cross_entropy_backward(*logits_and_labels(BATCH, LENGTH))).sum(axis=-1)
    equal(sums, np.zeros(sums.shape), ("batch", "token"), what="the sum of a row of the gradient")


@about("softmax_cross_entropy_backward")
def test_shift(subject):
    """Adding the same number to all logits of a row changes nothing, even if it is 1000."""
    logits, labels = logits_and_labels(3)
    expected = gradients.cross_entropy_backward(logits, labels)
    shifted = logits + np.array([[1000.0], [0.0], [-1000.0]])
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        gradient = subject.softmax_cross_entropy_backward(shifted, labels)
    equal(gradient, expected, ("row", "class"), what="the gradient of logits near 1000, 0 and -1000")


@about("softmax_cross_entropy_backward")
def test_logits_are_left_alone(subject):
    """The logits and labels passed in are left unchanged."""
    logits, labels = logits_and_labels(ROWS)
    copies = logits.copy(), labels.copy()
    subject.softmax_cross_entropy_backward(*copies)
    equal(copies[0], logits, ("row", "class"), what="logits, after softmax_cross_entropy_backward(logits, labels),")
    require(bool(np.array_equal(copies[1], labels)), "The labels are not what they were before.")


# ---------------------------------------------------------------- matmul_backward


def factors():
    lead = BATCH, HEADS
    return drawn("grad", *lead, 7, 4), drawn("left", *lead, 7, 5), drawn("right", *lead, 5, 4)


@cache
def expected_factors():
    return gradients.product_backward(*factors())


def two(result):
    require(
        isinstance(result, tuple | list) and len(result) == 2,
        "matmul_backward(grad, left, right) must return two arrays: the gradients of left and of right.",
    )
    return result


@about("matmul_backward")
def test_left(subject):
    """The gradient of left is grad times right, with right's axes swapped."""
    gradient, _ = two(subject.matmul_backward(*factors()))
    equal(gradient, expected_factors()[0], ("batch", "head", "row", "column"), what="the gradient of left")
    keeps_nothing(subject.matmul_backward, *factors(), right=lambda *factors: expected_factors())


@about("matmul_backward")
def test_right(subject):
    """The gradient of right is left times grad, with left's axes swapped."""
    _, gradient = two(subject.matmul_backward(*factors()))
    equal(gradient, expected_factors()[1], ("batch", "head", "row", "column"), what="the gradient of right")


@about("matmul_backward")
def test_slopes_of_a_product(subject):
    """Both match the slopes of left @ right, by finite differences, with square matrices, whose shapes always fit."""
    grad, left, right = (drawn(name, 4, 4, 4) for name in ("grad", "left", "right"))
    by_left = gradients.slopes(lambda other: gradients.total(naive.product(other, right), grad), left)
    by_right = gradients.slopes(lambda other: gradients.total(naive.product(left, other), grad), right)
    for name, gradient, slope in zip(
        ("left", "right"), two(subject.matmul_backward(grad, left, right)), (by_left, by_right), strict=True
    ):
        equal(gradient, slope, ("batch", "row", "column"), what=f"the gradient of {name}", whose="the slope")


# ---------------------------------------------------------------- softmax_backward


def grad_and_weights():
    """More keys than queries, so that one axis is not taken for the other."""
    scores = drawn("scores", BATCH, 4, LENGTH).copy()
    scores[..., 0, 3:] = -np.inf
    weights = naive.softmax(scores)
    weights.setflags(write=False)
    return drawn("grad", BATCH, 4, LENGTH), weights


@about("softmax_backward")
def test_softmax_backward(subject):
    """It sums the effect of each score on every weight of its row."""
    expected = gradients.softmax_backward(*grad_and_weights())
    equal(subject.softmax_backward(*grad_and_weights()), expected, WEIGHTS, what="softmax_backward(grad, weights)")
    keeps_nothing(subject.softmax_backward, *grad_and_weights(), right=gradients.softmax_backward)


@about("softmax_backward")
def test_slopes_of_the_softmax(subject):
    """It matches the slopes of the softmax, by finite differences."""
    scores, grad = drawn("scores", 4, LENGTH), drawn("grad", 4, LENGTH)
    expected = gradients.slopes(lambda other: gradients.total(naive.softmax(other), grad), scores)
    gradient = subject.softmax_backward(grad, naive.softmax(scores))
    equal(gradient, expected, ("query", "key"), what="softmax_backward(grad, weights)", whose="the slope")


@about("softmax_backward")
def test_rows_sum_to_zero(subject):
    """Every row sums to zero: a weight grows only at the others' expense."""
    sums = np.asarray(subject.softmax_backward(*grad_and_weights())).sum(axis=-1)
    equal(sums, np.zeros(sums.shape), ("batch", "query"), what="the sum of a row of softmax_backward(grad, weights)")


@about("softmax_backward")
def test_even_grad(subject):
    """Adding a number to a whole row of grad changes nothing."""
    grad, weights = grad_and_weights()
    expected = gradients.softmax_backward(grad, weights)
    shifted = grad + np.array([[[3.0], [-20.0], [0.0], [100.0]]])
    equal(subject.softmax_backward(shifted, weights), expected, WEIGHTS, what="softmax_backward of a shifted grad")


@about("softmax_backward")
def test_hidden_scores(subject):
    """A weight of 0, as under a mask, sends its score no gradient."""
    grad, weights = grad_and_weights()
    expected = gradients.softmax_backward(grad, weights)
    large = np.where(weights == 0, 1e6, grad)
    gradient = subject.softmax_backward(large, weights)
    equal(gradient, expected, WEIGHTS, what="softmax_backward of a large grad behind the mask")


@about("softmax_backward")
def test_weights_are_left_alone(subject):
    """The grad and weights passed in are left unchanged."""
    copies = [part.copy() for part in grad_and_weights()]
    subject.softmax_backward(*copies)
    for name, copy, before in zip(("grad", "weights"), copies, grad_and_weights(), strict=True):
        equal(copy, before, WEIGHTS, what=f"{name}, after softmax_backward(grad, weights),")


# ---------------------------------------------------------------- causal_attention_backward


def forward(*lead, length=LENGTH):
    """Return grad, query, key, value and the weights of causal attention."""
    query, key = (drawn(name, *lead, length, HEAD_DIM) for name in ("query", "key"))
    grad, value = (drawn(name, *lead, length, VALUE_DIM) for name in ("grad", "value"))
    return grad, query, key, value, recorded_weights(query, key)


def recorded_weights(query, key):
    weights = naive.weights(query, key, scale=key.shape[-1] ** -0.5, mask=naive.looks_back(query.shape[-2]))
    weights.setflags(write=False)
    return weights


@cache
def at_full_size():
    """Return the arguments, and the gradients by loops."""
    arguments = forward(BATCH, HEADS)
    return arguments, gradients.attention_backward(*arguments)


def three(result):
    require(
        isinstance(result, tuple | list) and len(result) == 3,
        f"{CALL} must return three arrays: the gradients of query, key and value.",
    )
    return result


@about("causal_attention_backward")
def test_shapes(subject):
    """It returns three gradients, each with the shape of its array."""
    arguments, _ = at_full_size()
    for name, gradient, of in zip(
        NAMES, three(subject.causal_attention_backward(*arguments)), arguments[1:], strict=False
    ):
        shape = getattr(gradient, "shape", None)
        require(
            shape == of.shape,
            f"The gradient of {name} has the shape {shape and list(shape)}, and must have the same shape as {name}, "
            f"{list(of.shape)}.",
        )


@about("causal_attention_backward")
def test_value(subject):
    """The gradient of value is the weights, transposed, times grad."""
    arguments, expected = at_full_size()
    equal(three(subject.causal_attention_backward(*arguments))[2], expected[2], what="the gradient of value")
    keeps_nothing(subject.causal_attention_backward, *arguments, right=lambda *arguments: expected)


@about("causal_attention_backward")
def test_query(subject):
    """The gradient of query equals loops over all queries and keys."""
    arguments, expected = at_full_size()
    equal(three(subject.causal_attention_backward(*arguments))[0], expected[0], what="the gradient of query")


@about("causal_attention_backward")
def test_key(subject):
    """The gradient of key equals loops over all queries and keys."""
    arguments, expected = at_full_size()
    equal(three(subject.causal_attention_backward(*arguments))[1], expected[1], what="the gradient of key")


@about("causal_attention_backward")
def test_slopes_of_attention(subject):
    """Without a batch, they match the slopes of attention, by finite differences."""
    arguments = forward(length=4)
    expected = gradients.attention_slopes(*arguments[:4])
    for name, gradient, slope in zip(
        NAMES, three(subject.causal_attention_backward(*arguments)), expected, strict=True
    ):
        equal(gradient, slope, ("token", "channel"), what=f"the gradient of {name}", whose="the slope")


@about("causal_attention_backward")
def test_attention_of_pytorch(subject, reference):
    """All three match PyTorch's autograd."""
    query, key, value, grad = (reference[name] for name in (*NAMES, "grad"))
    result = subject.causal_attention_backward(grad, query, key, value, recorded_weights(query, key))
    for name, gradient in zip(NAMES, three(result), strict=True):
        equal(gradient, reference[f"grad_{name}"], what=f"the gradient of {name}", whose="PyTorch's")


@about("causal_attention_backward")
def test_no_gradient_reaches_a_later_token(subject):
    """No gradient reaches a later token than the one it comes from."""
    grad, *others = forward(BATCH, HEADS)
    for token in (0, 3, LENGTH - 2):
        alone = np.zeros(grad.shape)
        alone[..., token, :] = grad[..., token, :]
        by_query, by_key, by_value = map(np.asarray, three(subject.causal_attention_backward(alone, *others)))
        for name, gradient in zip(NAMES, (by_query, by_key, by_value), strict=True):
            later = gradient[..., token + 1 :, :]
            equal(later, np.zeros(later.shape), what=f"what reaches {name} after token {token}, from its grad alone,")
        earlier = by_query[..., :token, :]
        equal(earlier, np.zeros(earlier.shape), what=f"what reaches query before token {token}, from its grad alone,")
        require(
            bool((np.abs(by_value[..., : token + 1, :]).max(axis=(0, 1, 3)) > 1e-3).all()),
            f"A grad at token {token} does not reach all values up to its own.",
        )


@about("causal_attention_backward")
def test_the_first_query(subject):
    """The first query gets no gradient: its only weight is always 1."""
    arguments, _ = at_full_size()
    first = np.asarray(three(subject.causal_attention_backward(*arguments))[0])[..., 0, :]
    equal(first, np.zeros(first.shape), ("batch", "head", "channel"), what="the gradient of the first query")


@about("causal_attention_backward")
def test_in_proportion(subject):
    """Tripling grad triples the gradients."""
    (grad, *others), expected = at_full_size()
    for name, gradient, right in zip(
        NAMES, three(subject.causal_attention_backward(3 * grad, *others)), expected, strict=True
    ):
        equal(gradient, 3 * right, what=f"the gradient of {name} for 3 * grad")


@about("causal_attention_backward")
def test_arguments_are_left_alone(subject):
    """Its arguments, the recorded weights included, are left unchanged."""
    arguments, _ = at_full_size()
    copies = [part.copy() for part in arguments]
    subject.causal_attention_backward(*copies)
    for name, copy, before in zip(("grad", *NAMES, "weights"), copies, arguments, strict=True):
        equal(copy, before, what=f"{name}, after {CALL[:-5]},")


# ---------------------------------------------------------------- drawn anew


@pytest.mark.drawn
@about("softmax_cross_entropy_backward")
def test_other_logits(subject, solution, draw):
    """Random sizes, logits and labels work as well."""
    batch, length, classes = draw.whole("batch", 1, 4), draw.whole("seq", 1, 9), draw.whole("classes", 2, 30)
    logits, labels = draw.array(batch, length, classes, dtype=np.float64), draw.ids(classes, batch, length)
    result, right = (module.softmax_cross_entropy_backward(logits, labels) for module in (subject, solution))
    equal(result, right, CLASS_AXES, what="softmax_cross_entropy_backward(logits, labels)", whose="the solution's")


@pytest.mark.drawn
@about("causal_attention_backward")
def test_other_numbers(subject, solution, draw):
    """Random sizes, queries, keys and values work as well."""
    lead = draw.whole("batch", 1, 3), draw.whole("head", 1, 4)
    length, d_k, d_v = draw.whole("seq", 2, 9), draw.whole("d_k", 1, 9), draw.whole("d_v", 1, 9)
    query, key = (draw.array(*lead, length, d_k, dtype=np.float64) for _ in range(2))
    grad, value = (draw.array(*lead, length, d_v, dtype=np.float64) for _ in range(2))
    weights = recorded_weights(query, key)
    arguments = grad, query, key, value, weights
    result, right = (three(module.causal_attention_backward(*arguments)) for module in (subject, solution))
    for name, gradient, expected in zip(NAMES, result, right, strict=True):
        equal(gradient, expected, what=f"the gradient of {name}", whose="the solution's")
