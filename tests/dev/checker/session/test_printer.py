"""What a terminal shows of a check."""

import contextlib
import time
from unittest.mock import Mock

import pytest

from checker.compiling import listeners
from checker.session.printer import Printer, telling_of_compiling


@pytest.mark.slow
def test_it_is_said_within_two_seconds_and_how_long_it_took_but_not_what_comes_from_the_cache(capsys):
    with telling_of_compiling():
        (listen,) = listeners
        listen("a thing", None)
        listen("a thing", 0.0)
        assert capsys.readouterr().err == ""
        listen("a thing", None)
        time.sleep(2)
        assert "MAX compiles what it has not run on this machine before" in capsys.readouterr().err
        listen("a thing", 2.0)
        assert capsys.readouterr().err == "  compiling a thing took 2 s\n"
        listen("another, 2 of 2", None)
        time.sleep(2)
        with contextlib.suppress(KeyboardInterrupt):
            try:
                raise KeyboardInterrupt
            finally:
                listen("another, 2 of 2", 2.0)
        assert capsys.readouterr().err == "  compiling another, 2 of 2\n", "it is not compiled"
    assert listeners == []


def test_ctrl_c_as_the_moving_line_begins_leaves_a_terminal_that_prints(monkeypatch, capsys):
    printer = Printer()
    monkeypatch.setattr(printer.console, "show_cursor", Mock(side_effect=[KeyboardInterrupt, None]))
    with pytest.raises(KeyboardInterrupt):
        printer.show_compiling("a thing", since=0)
    printer.close()
    printer.line("kept")
    assert capsys.readouterr().out.endswith("kept\n")
