"""What a check says of the errors that expressions raise, and whether each piece of advice is given."""

import linecache
import math

import numpy as np
import pytest
from max.experimental import functional as F
from tokenizers import Tokenizer
from tokenizers.models import BPE

from checker.diagnosis.exceptions import error_in_words


def error_of(source, names):
    """Return what is said of the error that a file raises, of which ``names`` are known before."""
    path = f"attempt: {source}"
    linecache.cache[path] = (len(source), None, source.splitlines(keepends=True), path)
    with pytest.raises(Exception) as caught, F.lazy():  # noqa: PT011 # each has its own
        exec(compile(source, path, "exec"), dict(names))
    return error_in_words(caught.value, path)


def words_of(expressions, names):
    """Return what is said of the error that each expression raises, as the only line of a file."""
    names = {"math": math, "np": np, "ENCODING": Tokenizer(BPE()).encode(""), **names}
    return {expression: error_of(expression, names) for expression in expressions}


def assert_advice_is_given(words, advice):
    """Of what is said of some expressions, each has advice, and each advice is given."""
    choices = [[each] if isinstance(each, str) else [*each.values()] for each in advice.values()]
    flat = [each for several in choices for each in several]
    assert [text for text, answer in words.items() if not any(each in answer for each in flat)] == []
    assert [each for each in flat if each not in " ".join(words.values())] == []
