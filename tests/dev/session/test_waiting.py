"""What a command says while MAX compiles for it."""

import time

import pytest

from checker.session import printer
from checker.session.printer import telling_of, telling_of_compiling


def test_it_is_said_within_two_seconds_and_how_long_it_took(capsys):
    listeners = []
    with telling_of_compiling(listeners):
        (listen,) = listeners
        listen("a thing", None)
        time.sleep(2)
        assert "MAX compiles what it has not run on this machine before" in capsys.readouterr().err
        listen("a thing", 2.0)
        assert capsys.readouterr().err == "  compiled a thing in 2 s\n"
    assert listeners == []


def test_what_comes_from_the_cache_is_not_worth_a_word(capsys):
    with telling_of_compiling(listeners := []):
        listeners[0]("a thing", None)
        time.sleep(0.3)
        listeners[0]("a thing", 0.3)
    assert capsys.readouterr().err == ""


def test_what_others_compile_is_said_too(monkeypatch, capsys):
    monkeypatch.setattr(printer, "SHOW_COMPILING_AFTER", 0.0)
    with telling_of("a library"):
        time.sleep(0.3)
    assert capsys.readouterr().err.endswith("\n  compiled a library in 0 s\n")
    with pytest.raises(OSError, match="no compiler"), telling_of("a library"):
        raise OSError("no compiler")
