"""Which editor is opened."""

import pytest

from checker.errors import UserError
from cli.watching.editor import command_of

#: The environment -> what starts the editor.
EDITORS = {
    "nothing": ({}, ["code"]),
    "one of the two": ({"EDITOR": "vim"}, ["vim"]),
    "both": ({"VISUAL": "subl -n --wait", "EDITOR": "vim"}, ["subl", "-n"]),
    "a blank": ({"VISUAL": " ", "EDITOR": "vim"}, ["vim"]),
    "blanks": ({"VISUAL": " ", "EDITOR": "''"}, ["code"]),
    "only that it waits": ({"VISUAL": "--wait"}, ["code"]),
    "a path with a space": ({"EDITOR": "'/my editors/vim' -p"}, ["/my editors/vim", "-p"]),
}


@pytest.mark.parametrize(("environment", "command"), EDITORS.values(), ids=EDITORS)
def test_the_editor_is_the_one_that_is_set(environment, command):
    assert command_of(environment) == command


def test_a_variable_in_which_a_quote_is_not_closed_is_named():
    with pytest.raises(UserError, match=r"EDITOR is it's, which no shell can read \(No closing quotation\); set it to"):
        command_of({"VISUAL": "", "EDITOR": "it's"})
