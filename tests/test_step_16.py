"""Step 16, the loss: what is claimed.

Hugging Face's loss was recorded with some labels ignored, and with it the gradient that autograd gives. What
explains the numbers is claimed besides, on numbers of this file's own.
"""

import functools
import math

import numpy as np
import pytest
from max.dtype import DType
from max.experimental import functional as F
from max.experimental.nn import Module
from max.experimental.tensor import Tensor

from checker.claims import about, equal, error_of, for_each, keeps_nothing, require
from checker.claims.modules import compiled, run
from checker.numeric.tolerance import TOLERANCE

IGNORED = -100
LAST_ID = 50256
CASES = ("", "full_", "short_")
LOGITS = ("batch", "token", "logit")
PLACES = ("batch", "token")
VOCAB = 5
NEAR = 2e-3  # there are no float32 numbers between 10000 and 10000.001
DRAWN = np.random.RandomState(16)
SOME_LOGITS = DRAWN.standard_normal((2, 4, VOCAB)).astype(np.float32)
SOME_LABELS = np.array([[3, 0, IGNORED, 4], [1, 1, 2, IGNORED]])  # token 0 counts, and so does the last of all
NOT_PREDICTING = np.array([[False, True, False, True], [False, False, True, True]])


def formula(logits, labels):
    """The loss in float64, from the definition of each number."""
    total, count = 0.0, 0
    for row, ids in zip(logits.astype(np.float64), labels, strict=True):
        for guess, label in zip(row[:-1], ids[1:], strict=True):
            if label != IGNORED:
                total += guess.max() + np.log(np.exp(guess - guess.max()).sum()) - guess[label]
                count += 1
    return total / count


def small(expected):
    """The tolerance for numbers that are all smaller than one."""
    return TOLERANCE * float(np.abs(expected).max())


@about("log_softmax")
def test_log_softmax(subject, reference):
    """It is the logarithm of the softmax over the vocabulary, as PyTorch computes it."""
    logits, right = reference["logits"], reference["log_probabilities"]
    result = run(subject.log_softmax, logits)
    equal(result, right, LOGITS, what="log_softmax(logits)", whose="PyTorch's")


@about("log_softmax")
def test_a_constant_changes_nothing(subject):
    """Adding a constant to all logits of a position changes nothing: 3 or 10000, different at each position."""
    logits = np.round(SOME_LOGITS * 64) / 64  # so that adding a constant loses no digit
    constants = np.array([[-1e4, -200, 0, 1e4], [200, 1e4, -1e4, 3]], np.float32)[..., None]
    exact = logits.astype(np.float64)
    right = (exact - np.log(np.exp(exact).sum(axis=-1, keepdims=True))).astype(np.float32)
    result = run(subject.log_softmax, logits + constants)
    equal(result, right, LOGITS, what="log_softmax(logits + c)", tolerance=NEAR, whose="it must be")


@about("log_softmax")
def test_large_logits(subject):
    """Logits of 10000 and more, of either sign, give the right finite numbers: near 0 for a likely token."""
    logits = np.array([[[1e4, 0, -1e4], [-3e4, -2e4, -2e4]]], np.float32)
    right = np.array([[[0, -1e4, -2e4], [-1e4 - math.log(2), -math.log(2), -math.log(2)]]], np.float32)
    result = run(subject.log_softmax, logits)
    equal(result, right, LOGITS, what="log_softmax of large logits", whose="it must be")
    likely = np.where(right > -1, np.from_dlpack(result), 0)  # off by 1e-3 if the largest is added back; ln 2 if wrong
    right = np.where(right > -1, right, 0)
    equal(likely, right, LOGITS, what="log_softmax of the likely tokens", tolerance=NEAR, whose="it must be")


@about("token_losses")
def test_token_losses(subject, reference):
    """Each position costs -ln p of its target, and nothing where the target is -100: [batch, seq]."""
    logits, targets, right = (reference[name] for name in ("logits", "targets", "losses"))
    result = keeps_nothing(lambda *given: run(subject.token_losses, *given), logits, targets, right=lambda *_: right)
    equal(result, right, PLACES, what="token_losses(logits, targets)", whose="PyTorch's")


@about("token_losses")
def test_certain(subject):
    """A confident guess costs 0 if right, and the gap between the logits if wrong, for tokens up to 50256."""
    logits = np.zeros((1, 3, LAST_ID + 1), np.float32)
    logits[..., LAST_ID] = 1000
    result = run(subject.token_losses, logits, np.array([[LAST_ID, 0, 4]]))
    equal(result, np.array([[0, 1000, 1000]], np.float32), PLACES, what="token_losses(…)", whose="it must be")


@about("token_losses")
def test_what_is_looked_up(subject):
    """-100 is never used as an index: MAX does not check indices, and would read whatever memory is there."""
    looked_up = []

    def noting(pick):
        def call(logits, indices, *options, **named):
            looked_up.append(indices)
            return pick(logits, indices, *options, **named)

        return call

    with pytest.MonkeyPatch.context() as patch:
        for name in ("gather_nd", "gather"):
            patch.setattr(F, name, noting(getattr(F, name)))
        run(subject.token_losses, SOME_LOGITS, SOME_LABELS)
    least = min((int(np.from_dlpack(indices).min()) for indices in looked_up), default=0)
    require(least >= 0, f"MAX is asked for index {least}. Put 0 in the place of -100 first.", least)


@about("cross_entropy")
def test_loss(subject, reference):
    """The loss matches Hugging Face's, with and without ignored labels: one number, of shape []."""

    def right(case):
        logits, labels = reference[f"{case}logits"], reference[f"{case}labels"]
        what = f"cross_entropy of {list(labels.shape)} labels"
        equal(run(subject.cross_entropy, logits, labels), reference[f"{case}loss"], what=what)

    for_each(CASES, right)


@about("cross_entropy")
def test_uniform(subject):
    """If all tokens are equally likely, the loss is ln V, for any vocabulary size V and any labels."""

    def right(case):
        vocab, logit = case
        logits, labels = np.full((2, 4, vocab), logit, np.float32), np.where(SOME_LABELS == 4, vocab - 1, SOME_LABELS)
        loss = np.array(math.log(vocab), np.float32)
        equal(run(subject.cross_entropy, logits, labels), loss, what=f"the loss for V = {vocab}", whose="ln V =")

    for_each(((VOCAB, 0.0), (37, -2.5), (1000, 4.0)), right)


@about("cross_entropy")
def test_what_is_not_predicted(subject):
    """Logits at the last position, or before a label of -100, do not matter; nor does the first label of a row."""
    logits, labels = SOME_LOGITS.copy(), SOME_LABELS.copy()
    logits[NOT_PREDICTING] = 9 * logits[NOT_PREDICTING][:, ::-1] + 3
    labels[:, 0] = [4, IGNORED]
    right = np.array(formula(SOME_LOGITS, SOME_LABELS), np.float32)
    equal(run(subject.cross_entropy, logits, labels), right, what="the loss with those changed", whose="the formula's")


@about("cross_entropy")
def test_large_losses(subject):
    """With logits of 10000, the loss is finite and right: a confident wrong guess is expensive, not infinite."""
    logits = np.round(SOME_LOGITS) * 1e4
    right = np.array(formula(logits, SOME_LABELS), np.float32)
    equal(
        run(subject.cross_entropy, logits, SOME_LABELS), right, what="the loss of large logits", whose="the formula's"
    )


@about("cross_entropy")
def test_nothing_to_predict(subject, reference):
    """If no label is valid, the loss is NaN, like Hugging Face's: a mean over nothing. 0 would mean perfect."""
    result = run(subject.cross_entropy, reference["nothing_logits"], reference["nothing_labels"])
    equal(result, reference["nothing_loss"], what="the loss without a valid label")


@about("cross_entropy_backward")
def test_gradient(subject, reference):
    """The gradient matches autograd's for Hugging Face's loss, with and without ignored labels."""

    def right(case):
        logits, labels, gradient = (reference[f"{case}{name}"] for name in ("logits", "labels", "gradient"))
        what = f"cross_entropy_backward of {list(labels.shape)} labels"
        equal(
            run(subject.cross_entropy_backward, logits, labels), gradient, LOGITS, what=what, tolerance=small(gradient)
        )

    for_each(CASES, right)


@pytest.fixture(scope="module")
def some_gradient(subject):
    """What gives the gradient for this file's own logits and labels; computed once for all claims."""
    return functools.cache(lambda: run(subject.cross_entropy_backward, SOME_LOGITS, SOME_LABELS))


@about("cross_entropy_backward")
def test_finite_differences(some_gradient):
    """Each number in it says how fast the loss changes with that logit: finite differences agree."""
    change, slopes = 1e-4, np.zeros(SOME_LOGITS.shape)
    for place in np.ndindex(*SOME_LOGITS.shape):
        more, less = SOME_LOGITS.astype(np.float64), SOME_LOGITS.astype(np.float64)
        more[place] += change
        less[place] -= change
        slopes[place] = (formula(more, SOME_LABELS) - formula(less, SOME_LABELS)) / (2 * change)
    right = slopes.astype(np.float32)
    equal(some_gradient(), right, LOGITS, what="the gradient", tolerance=small(right), whose="finite differences'")


@about("cross_entropy_backward")
def test_where_it_is_zero(some_gradient):
    """It adds up to 0 over the vocabulary, and is 0 wherever nothing is predicted, as at the last position."""
    gradient = np.from_dlpack(some_gradient())
    require(gradient.shape == SOME_LOGITS.shape, f"The gradient has the shape {list(gradient.shape)}.", gradient)
    wrong = np.abs(gradient[NOT_PREDICTING]).max(axis=-1) > 0
    sentence = f"{int(wrong.sum())} of {len(wrong)} positions that predict nothing have a gradient."
    require(not wrong.any(), sentence, gradient)
    largest = float(np.abs(gradient.astype(np.float64).sum(axis=-1)).max())
    require(largest < 1e-6, f"At one position the gradient adds up to {largest:.3g} over the vocabulary.", gradient)
    require(bool((gradient[~NOT_PREDICTING] != 0).all()), "Where there is something to predict, it is 0.", gradient)


@about("cross_entropy_backward")
def test_gradient_of_the_last_token(subject):
    """GPT-2's last token, 50256, is a target like any other: its logit gets its probability minus 1."""
    logits, labels = np.zeros((1, 2, LAST_ID + 1), np.float32), np.array([[3, LAST_ID]])
    logits[..., LAST_ID] = 20
    right, total = np.zeros_like(logits), LAST_ID + math.exp(20)
    right[0, 0] = 1 / total
    right[0, 0, LAST_ID] = math.exp(20) / total - 1
    gradient = run(subject.cross_entropy_backward, logits, labels)
    equal(gradient, right, LOGITS, what="the gradient of 50,257 logits", whose="it must be")


@about("cross_entropy_backward")
def test_gradient_of_nothing(subject, reference):
    """If no label is valid, the gradient is 0 everywhere, not NaN: there is nothing to learn."""
    result = run(subject.cross_entropy_backward, reference["nothing_logits"], reference["nothing_labels"])
    equal(result, reference["nothing_gradient"], LOGITS, what="the gradient without a valid label")


@about("cross_entropy_backward")
def test_gradient_of_large_logits(subject):
    """With logits of 10000 and 20000, the gradient is right: the largest takes all the probability."""
    logits = np.round(SOME_LOGITS) * 1e4
    likely = (logits == logits.max(axis=-1, keepdims=True)).astype(np.float32)
    targets = np.roll(SOME_LABELS, -1, axis=1)[..., None] == np.arange(VOCAB)
    right = (likely / likely.sum(axis=-1, keepdims=True) - targets) / np.float32(4)
    right[NOT_PREDICTING] = 0
    gradient = run(subject.cross_entropy_backward, logits, SOME_LABELS)
    # Right answers are off by 3e-8; with logits that are clipped, a probability is 1/2 in the place of 0 or 1.
    equal(gradient, right, LOGITS, what="the gradient of large logits", tolerance=small(right), whose="it must be")


@about("perplexity")
def test_perplexity(subject):
    """It is e to the loss: V for uniform guesses, 1 if every token is known; a loss of 1000 raises OverflowError."""
    cases = (math.log(50257), 50257), (math.log(2), 2), (0.0, 1), (3.25, 25.790339917193062), (700.0, math.exp(700))
    for_each(cases, lambda case: number(f"perplexity({case[0]:.4g})", subject.perplexity(case[0]), case[1]))
    error_of("perplexity(1000.0)", lambda: subject.perplexity(1000.0), OverflowError)


@about("bits_per_byte")
def test_bits_per_byte(subject):
    """It divides the bits of all predicted tokens by the bytes of their text: 6 tokens of 7 bits in 24 bytes: 1.75."""

    def right(case):
        loss, tokens, size, bits = case
        number(f"bits_per_byte({loss:.4g}, {tokens}, {size})", subject.bits_per_byte(loss, tokens, size), bits)

    two = math.log(2)
    for_each(((7 * two, 6, 24, 1.75), (4 * two, 12, 24, 2.0), (math.log(256), 9, 9, 8.0), (0.0, 3, 10, 0.0)), right)


def number(what, actual, right):
    """Refuse unless a plain number is what it must be."""
    require(not isinstance(actual, Tensor), f"{what} is a Tensor; it must be a number, as loss is.")
    require(isinstance(actual, float | int | np.floating), f"{what} is {actual!r}, and must be {right:.6g}.")
    close = math.isclose(actual, right, rel_tol=1e-9, abs_tol=1e-12)
    require(close, f"{what} is {actual:.6g}, and must be {right:.6g}.", float(actual))


def drawn_batch(draw):
    """Random logits and labels: in every row, some labels are ignored, but never all."""
    batch, seq, vocab = draw.whole("batch", 1, 4), draw.whole("seq", 2, 9), draw.whole("vocab", 3, 60)
    labels = np.where(draw.coins(batch, seq), IGNORED, draw.ids(vocab, batch, seq))
    labels[:, -1] = draw.ids(vocab, batch)
    return 5 * draw.array(batch, seq, vocab), labels


@pytest.mark.drawn
@about("log_softmax")
def test_other_shapes(subject, solution, draw):
    """Random logits with one axis, or with several, work, too."""
    vocab = draw.whole("vocab", 3, 60)
    for shape in ((vocab,), (3, vocab), (2, 1, 4, vocab)):
        logits = 5 * draw.array(*shape)
        result, right = (run(module.log_softmax, logits) for module in (subject, solution))
        equal(result, right, what=f"log_softmax of {list(shape)} logits", whose="the solution's")


@pytest.mark.drawn
@about("token_losses")
def test_other_targets(subject, solution, draw):
    """Random logits and targets work, too."""
    logits, targets = drawn_batch(draw)
    result, right = (run(module.token_losses, logits, targets) for module in (subject, solution))
    equal(result, right, PLACES, what="token_losses(logits, targets)", whose="the solution's")


@pytest.mark.drawn
@about("cross_entropy")
def test_other_losses(subject, solution, draw):
    """The loss of random logits and labels is right, too."""
    batch = drawn_batch(draw)
    result, right = (run(module.cross_entropy, *batch) for module in (subject, solution))
    equal(result, right, what="cross_entropy(logits, labels)", whose="the solution's")


@pytest.mark.drawn
@about("cross_entropy_backward")
def test_other_gradients(subject, solution, draw):
    """The gradient for random logits and labels is right, too."""
    batch = drawn_batch(draw)
    result, right = (run(module.cross_entropy_backward, *batch) for module in (subject, solution))
    close = small(np.from_dlpack(right))
    equal(result, right, LOGITS, what="cross_entropy_backward(…)", tolerance=close, whose="the solution's")


class LossAndGradient(Module):
    """What is trained with, as one graph."""

    def __init__(self, subject):
        self.subject = subject

    def forward(self, logits, labels):
        return self.subject.cross_entropy(logits, labels), self.subject.cross_entropy_backward(logits, labels)


@pytest.mark.compiled
@about("compiled")
def test_compiled(subject, reference, device):
    """One graph with symbolic batch and length returns the same loss, and the same gradient."""
    vocab = reference["logits"].shape[-1]
    shapes, dtypes = (["batch", "seq", vocab], ["batch", "seq"]), (DType.float32, DType.int64)
    graph = compiled(LossAndGradient(subject), *shapes, device=device, dtype=dtypes)
    for case in CASES:
        loss, gradient = graph(reference[f"{case}logits"], reference[f"{case}labels"])
        equal(loss, reference[f"{case}loss"], what=f"the compiled loss on {device}")
        close = small(reference[f"{case}gradient"])
        equal(
            gradient, reference[f"{case}gradient"], LOGITS, what=f"the compiled gradient on {device}", tolerance=close
        )
