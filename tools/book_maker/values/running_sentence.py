"""The sentence that runs through the book, and what the small model's heads make of it."""

from functools import cache

from checker.course.steps import SMALL_MODEL
from checker.max_adapter.runtime import prepare
from play.attention_weights import Attention, read_attention

SENTENCE = "The whale struck the ship, and it sank."
IT = 7  # the place of ``it`` among the tokens


@cache
def attention() -> Attention:
    """Return the tokens, and the scores and weights of every head: ``weights[layer, head, query, key]``."""
    prepare()
    return read_attention(SENTENCE, SMALL_MODEL, "cpu")
