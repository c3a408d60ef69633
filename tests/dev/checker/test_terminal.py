"""What a command prints."""

from unittest.mock import Mock

import pytest

from checker.terminal import Terminal


def test_a_short_compilation_inside_a_long_one_ends_no_moving_line(capsys):
    terminal = Terminal()
    terminal.show_compiling("the outer", seconds=2.0)
    terminal.end_compiling("the inner", 0.1)
    assert terminal.moving_line
    terminal.end_compiling("the outer", 3.0)
    assert capsys.readouterr().out.endswith("  compiling the outer\n  compiling the outer took 3 s\n")


@pytest.mark.parametrize("width", [50, 25], ids=["beside the label", "below"])
def test_no_option_is_cut_at_its_hyphens(capsys, width):
    terminal = Terminal()
    terminal.console.width = width
    terminal.row("todo", "f", "then run it with --no-compile now")
    assert "--no-compile" in capsys.readouterr().out


def test_ctrl_c_as_the_moving_line_begins_leaves_a_terminal_that_prints(monkeypatch, capsys):
    terminal = Terminal()
    monkeypatch.setattr(terminal.console, "show_cursor", Mock(side_effect=[KeyboardInterrupt, None]))
    with pytest.raises(KeyboardInterrupt):
        terminal.show_compiling("a thing", seconds=2.0)
    terminal.close()
    terminal.line("kept")
    assert capsys.readouterr().out.endswith("kept\n")
