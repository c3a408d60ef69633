"""Stops, as https://platform.openai.com/docs/api-reference/completions/create describes them.

"The API will stop generating further tokens. The returned text will not contain the stop sequence." So does vLLM, which
holds back of a stream what could begin a stop: https://docs.vllm.ai/en/latest/api/vllm/sampling_params/.
"""

from itertools import combinations

import pytest

from play.generation.stops import Stops


def ways_to_cut(text):
    """Every way in which a text can come in pieces."""
    places = range(1, len(text))
    for count in range(len(text)):
        for cuts in combinations(places, count):
            yield [text[start:end] for start, end in zip((0, *cuts), (*cuts, len(text)), strict=True)]


@pytest.mark.parametrize(
    ("text", "stops", "shown"),
    [
        ("the whale", [], "the whale"),
        ("the whale", ["x"], "the whale"),
        ("the whale", ["w"], "the "),  # MAX misses a short stop that a longer piece of text follows
        ("the whale", ["t"], ""),
        ("the whale", ["le"], "the wha"),
        ("the whale", ["e w"], "th"),
        ("the whale", ["e"], "th"),  # the first of two
        ("the whale", ["ale", "wh"], "the "),  # the other is complete first
        ("abcd", ["abcd", "bc"], "a"),  # so is this one, which begins later
        ("abcd", ["bc", "abc"], ""),  # both are complete at once
        ("aab", ["ab"], "a"),
        ("the whale", ["whales"], "the whale"),  # what could have become a stop
    ],
)
def test_a_text_ends_before_its_first_stop_in_whichever_pieces_it_comes(text, stops, shown):
    for pieces in ways_to_cut(text):
        finder, seen = Stops(stops), ""
        for number, piece in enumerate(pieces, 1):
            part, stopped = finder.feed(piece, last=number == len(pieces))
            seen += part
            assert shown.startswith(seen)
            if stopped:
                break
        assert (seen, stopped) == (shown, shown != text)


def test_nothing_is_held_back_that_cannot_begin_a_stop():
    assert Stops([]).feed("whale", last=False) == ("whale", False)
    assert Stops(["."]).feed("whale", last=False) == ("whale", False)
    assert Stops(["...", "?"]).feed("whale", last=False) == ("wha", False)
