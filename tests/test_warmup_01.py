"""Warm-up 01, attention without weights: what is claimed. No MAX is needed."""

import numpy as np
import pytest

from checker.claims import about, keeps_nothing, require
from tests.references import naive
from tests.references.naive import BATCH, LENGTH, WEIGHTS, WIDTH, drawn, equal, equal_to_four_decimals

# "Your journey starts with one step", three numbers per word, and what "journey" makes of it; after Raschka, chapter 3.
SIX_WORDS = (
    (0.43, 0.15, 0.89),
    (0.55, 0.87, 0.66),
    (0.57, 0.85, 0.64),
    (0.22, 0.58, 0.33),
    (0.77, 0.25, 0.10),
    (0.05, 0.80, 0.55),
)
JOURNEY = 1
JOURNEY_SCORES = (0.9544, 1.4950, 1.4754, 0.8434, 0.7070, 1.0865)
JOURNEY_WEIGHTS = (0.1385, 0.2379, 0.2333, 0.1240, 0.1082, 0.1581)
JOURNEY_CONTEXT = (0.4419, 0.6515, 0.5683)


def six_words():
    return np.array(SIX_WORDS)


def worked(actual, expected, axes, what):
    """Compare with the row of worked numbers for the one query "journey"."""
    equal_to_four_decimals(actual, np.array([expected]), axes, what=what)


@about("attention_scores")
def test_scores_of_journey(subject):
    """The word "journey" scores 0.9544, 1.4950, 1.4754, 0.8434, 0.7070 and 1.0865 with the six words."""
    query = six_words()[JOURNEY : JOURNEY + 1]
    scores = subject.attention_scores(query, six_words())
    worked(scores, JOURNEY_SCORES, ("query", "key"), 'attention_scores(x[1:2], x), the scores of "journey"')


@about("attention_scores")
def test_scores(subject):
    """Every query is scored against every key, in each sequence of a batch, and with more keys than queries."""
    query, key = drawn("query", BATCH, 4, WIDTH), drawn("key", BATCH, LENGTH, WIDTH)
    expected = np.array([naive.product(query[at], key[at].T) for at in range(BATCH)])
    equal(subject.attention_scores(query, key), expected, WEIGHTS, what="attention_scores(query, key)")
    keeps_nothing(subject.attention_scores, query, key, right=lambda query, key: expected)


@about("softmax")
def test_weights_of_journey(subject):
    """The scores of "journey" become the weights 0.1385, 0.2379, 0.2333, 0.1240, 0.1082 and 0.1581."""
    weights = subject.softmax(np.array([JOURNEY_SCORES]))
    worked(weights, JOURNEY_WEIGHTS, ("query", "key"), 'softmax(scores), the weights of "journey"')


@about("softmax")
def test_softmax(subject):
    """Each row along the last axis becomes weights that sum to 1."""
    scores = 2 * drawn("scores", BATCH, LENGTH, LENGTH)
    expected = naive.softmax(scores)
    equal(subject.softmax(scores), expected, WEIGHTS, what="softmax(scores)")
    keeps_nothing(subject.softmax, scores, right=naive.softmax)


@about("softmax")
def test_large_scores(subject):
    """Rows with scores near 1000 and near -1000 work, beside a row near 0."""
    scores = drawn("scores", 3, LENGTH)
    expected = naive.softmax(scores)
    away = np.array([[1000.0], [0.0], [-1000.0]])
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        equal(subject.softmax(scores + away), expected, ("query", "key"), what="softmax of rows near 1000, 0 and -1000")
        apart = np.array([[0.0, 1000, -1000], [-1000, -3000, -1000], [-9000, -9000, -12000]])
        expected = np.array([[0.0, 1, 0], [0.5, 0, 0.5], [0.5, 0.5, 0]])
        equal(subject.softmax(apart), expected, ("query", "key"), what="softmax of scores a thousand apart")


@about("softmax")
def test_blocked_scores(subject):
    """A score of -inf, the kind that warm-up 03's mask produces, gets no weight, even beside -1,000,000."""
    scores = drawn("scores", 2, LENGTH).copy()
    scores[0, 2:] = scores[1, 3] = -np.inf
    scores[1] -= 1e6
    equal(subject.softmax(scores), naive.softmax(scores), ("query", "key"), what="softmax of scores with -inf")


@about("softmax")
def test_whole_numbers(subject):
    """Integer scores, such as those of one-hot vectors, get fractional weights."""
    scores = np.eye(3, dtype=np.int64)
    equal(subject.softmax(scores), naive.softmax(scores), ("query", "key"), what="softmax of whole numbers")


@about("softmax")
def test_scores_are_left_alone(subject):
    """The scores passed in are left unchanged."""
    scores = drawn("scores", BATCH, LENGTH, LENGTH)
    subject.softmax(scores)
    equal(scores, drawn("scores", BATCH, LENGTH, LENGTH), WEIGHTS, what="scores, after softmax(scores),")


@about("context_vectors")
def test_context_of_journey(subject):
    """The weights of "journey" average the six words to 0.4419, 0.6515 and 0.5683."""
    context = subject.context_vectors(np.array([JOURNEY_WEIGHTS]), six_words())
    worked(context, JOURNEY_CONTEXT, ("query", "channel"), 'context_vectors(weights, x), for "journey"')


@about("context_vectors")
def test_context(subject):
    """Every query averages the values of its own sequence with its own weights."""
    weights, value = naive.softmax(drawn("scores", BATCH, 7, LENGTH)), drawn("value", BATCH, LENGTH, WIDTH)
    expected = np.array([naive.product(weights[at], value[at]) for at in range(BATCH)])
    equal(subject.context_vectors(weights, value), expected, what="context_vectors(weights, value)")
    keeps_nothing(subject.context_vectors, weights, value, right=lambda weights, value: expected)


@about("simple_self_attention")
def test_journey_from_start_to_end(subject):
    """From the six words alone, it computes the context vector of "journey"."""
    context = subject.simple_self_attention(six_words())
    require(hasattr(context, "shape"), "simple_self_attention(x) is no array: is there a `return`?")
    worked(context[JOURNEY : JOURNEY + 1], JOURNEY_CONTEXT, ("query", "channel"), 'row 1, "journey",')


@about("simple_self_attention")
def test_simple_self_attention(subject):
    """The output matches loops over every sequence, token and channel."""
    x = drawn("x", BATCH, LENGTH, WIDTH) / 2
    expected = naive.product(naive.weights(x, x), x)
    equal(subject.simple_self_attention(x), expected, what="simple_self_attention(x)")
    keeps_nothing(subject.simple_self_attention, x, right=lambda x: expected)


@about("simple_self_attention")
def test_long_vectors(subject):
    """Vectors as long as untrained embeddings can be, with scores of 900 here, do not overflow."""
    x = np.array([[30.0, 0], [-30, 1], [0, 1]])
    expected = naive.product(naive.weights(x, x), x)
    with np.errstate(all="ignore"):
        equal(subject.simple_self_attention(x), expected, ("word", "channel"), what="simple_self_attention(x)")


@pytest.mark.drawn
@about("simple_self_attention")
def test_other_numbers(subject, solution, draw):
    """Random sizes and numbers work as well."""
    batch, length, width = draw.whole("batch", 1, 4), draw.whole("seq", 1, 9), draw.whole("width", 1, 9)
    query, key = (draw.array(batch, size, width, dtype=np.float64) for size in (length, length + 2))
    scores, right = subject.attention_scores(query, key), solution.attention_scores(query, key)
    equal(scores, right, WEIGHTS, what="attention_scores(query, key)", whose="the solution's")
    result = subject.context_vectors(solution.softmax(right), key)
    equal(
        result, solution.context_vectors(solution.softmax(right), key), what="context_vectors", whose="the solution's"
    )
    result, right = (module.simple_self_attention(key) for module in (subject, solution))
    equal(result, right, what="simple_self_attention(x)", whose="the solution's")
