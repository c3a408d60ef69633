"""Habits of English that ./run check finds, in pages, docstrings, comments and messages."""

import pytest

from tools.prose import PHRASES, sentences, strays_in, without_code

EXAMPLES = [
    "Whoever has can begin",
    "the report says whence it came",
    "that output belongs into the report",
    "it is the same mistake in small",
    "What comes of it?",
    "it holds also when it comes alone",
    "0/0 is not-a-number",
    "a stack of equal blocks",
    "the coloured tokens",
    "it has read *Moby-Dick*",
    "23 % of all",
    "two numbers a token",
    "the reason is said in a sentence",
    "how well it would come next",
    "nothing depends on it",
    "the guide says otherwise",
]


@pytest.mark.parametrize("text", EXAMPLES)
def test_a_habit_is_found(text):
    assert [*strays_in(iter([(1, text)]), "a page")]


def test_every_phrase_has_an_example():
    found = {stray.instead for text in EXAMPLES for stray in strays_in(iter([(1, text)]), "a page")}
    assert found == set(PHRASES.values())


def test_code_is_not_read():
    assert without_code("`number % 3` and {{= bits a byte }} and [here](the guide.md)").split() == [
        "and",
        "and",
        "[here",
    ]
    source = 'x = 5 % 3\nsay("two rows a token")  # two bits a byte\n'
    assert [line for line, text in sentences(source) if [*strays_in(iter([(line, text)]), "")]] == [2, 2]
