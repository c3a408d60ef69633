"""What is offered next, wherever a check is shown."""

from dataclasses import asdict

import pytest

from checker.parent.offers import IN_TERMINAL
from cli.hunt import offers_in_hunt
from cli.page.offers import ON_PAGE
from cli.watching.offers import AT_SAVE, BY_KEYS

PLACES = {"terminal": IN_TERMINAL, "save": AT_SAVE, "keys": BY_KEYS, "page": ON_PAGE, "hunt": offers_in_hunt("hunt 07")}
#: What a sentence may have in braces.
NAMES = {
    "of_old_file": {"task": "s07"},
    "draws_again": {"task": "s07", "seed": 1},
    "draws_again_unshown": {"task": "s07", "seed": 1},
    "shows_numbers": {"task": "s07", "about": "_attn", "drawn": ""},
    "passed": {"seconds": 1.25, "solution": "solutions/solution_07.py"},
    "passed_uncompiled": {"seconds": 1.25, "solution": "solutions/solution_07.py", "left_out_by": "--show"},
}


@pytest.mark.parametrize("place", PLACES)
def test_every_sentence_can_be_filled_in(place):
    for name, sentence in asdict(PLACES[place]).items():
        assert "{" not in sentence.format(**NAMES.get(name, {}))


def test_no_option_is_named_where_a_key_does_the_same():
    assert not [sentence for sentence in asdict(BY_KEYS).values() if "--" in sentence]


def test_the_page_names_no_command_and_no_key_of_a_terminal():
    assert not [sentence for sentence in asdict(ON_PAGE).values() if "./run" in sentence or "Ctrl-C" in sentence]
